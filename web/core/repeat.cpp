// A line of standard input is a request, the line that answers it goes to standard output: the same
// calls natively, to compare with (tests/web/golden.mjs). After a call of the live flow, a second
// line has its positions as 16 hexadecimal digits each.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

#include "web/core/calls.hpp"

int main() {
  attractor::web::Core core;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << core.call(line) << '\n';
    std::string digits;
    char word[20];
    for (const double x : core.positions()) {
      std::snprintf(word, sizeof word, "%016llx",
                    static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(x)));
      digits += word;
    }
    std::cout << digits << std::endl;
  }
}
