#include "attractor/experiment/number_list.hpp"

#include <fmt/format.h>

#include "attractor/base/error.hpp"
#include "attractor/experiment/parameter.hpp"

namespace attractor::experiment {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::vector<double> number_list(std::string_view name, std::string_view text, double least,
                                double most) {
  std::vector<double> numbers;
  if (trimmed(text).empty()) return numbers;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    double value = 0;
    if (!parse_real(item, value) || !(value >= least && value <= most))
      throw Error(fmt::format(
          "{} holds '{}', which is not allowed; allowed: comma-separated numbers from {} to {}",
          name, item, least, most));
    numbers.push_back(value);
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace attractor::experiment
