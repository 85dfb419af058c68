// Times the hard-margin solver on tokens from a file and prints one JSON object:
//
//   hard_margin_timing X.npy [CHOICE.npy|first [THREADS [REPEATS]]]
//
// X is [n][T][d], float64 and row-major as np.save writes it; CHOICE holds the n chosen tokens
// ("first": token 0 of every input); THREADS 0 means all cores. seconds is the best of REPEATS
// solutions, without reading. X is read straight into place, so memory is the data plus what the
// solver needs (read_npy would hold the data twice for a moment).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "attractor/solve/margin_status.hpp"
#include "bench/timing.hpp"

namespace attractor {
namespace {

struct Keys {
  std::size_t inputs = 0, tokens = 0, dim = 0;
  std::vector<double> values;
};

Keys read_keys(const std::string& file) {
  constexpr std::size_t kPreamble = 10;  // signature, version, length of the header
  std::ifstream in(file, std::ios::binary);
  std::string start(kPreamble, '\0'), header;
  in.read(start.data(), kPreamble);
  if (in && start.starts_with("\x93NUMPY\x01")) {
    header.resize(static_cast<unsigned char>(start[8]) +
                  256u * static_cast<unsigned char>(start[9]));
    in.read(header.data(), static_cast<std::streamsize>(header.size()));
  }
  Keys keys;
  constexpr const char* kHeader =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, %zu, %zu), }";
  if (std::sscanf(header.c_str(), kHeader, &keys.inputs, &keys.tokens, &keys.dim) != 3)
    throw Error(fmt::format("{} must be a row-major float64 array [n][T][d] in .npy format", file));
  keys.values.resize(keys.inputs * keys.tokens * keys.dim);
  const auto bytes = std::as_writable_bytes(std::span(keys.values));
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) throw Error(fmt::format("{} ends before its {} numbers", file, keys.values.size()));
  return keys;
}

solve::TokenChoice read_choice(std::string_view rule, std::size_t inputs) {
  if (rule == "first") return {.chosen = std::vector<std::size_t>(inputs, 0)};
  solve::TokenChoice choice;
  for (const double token : read_npy(rule).data) {
    if (!(token >= 0 && token < 1e9 && token == std::floor(token)))
      throw Error(fmt::format("{}: {} is not the number of a token", rule, token));
    choice.chosen.push_back(static_cast<std::size_t>(token));
  }
  return choice;
}

std::size_t count(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Error(fmt::format("\"{}\" is not a number of threads or repeats", text));
  return value;
}

void run(std::span<const std::string> arguments) {
  const auto argument = [&](std::size_t k, const char* otherwise) {
    return k < arguments.size() ? arguments[k] : std::string(otherwise);
  };
  if (arguments.empty() || arguments.size() > 4)
    throw Error("usage: hard_margin_timing X.npy [CHOICE.npy|first [THREADS [REPEATS]]]");
  set_threads(count(argument(2, "1")));
  const std::size_t repeats = count(argument(3, "3"));
  const Keys keys = read_keys(arguments[0]);
  const solve::TokenDifferences rows(keys.values, keys.tokens, keys.dim,
                                     read_choice(argument(1, "first"), keys.inputs));
  double best = std::numeric_limits<double>::infinity();
  solve::HardMargin found;
  for (std::size_t k = 0; k < std::max<std::size_t>(repeats, 1); ++k) {
    const auto begin = std::chrono::steady_clock::now();
    found = solve::hard_margin(rows);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count());
  }
  const nlohmann::ordered_json json{{"inputs", keys.inputs},
                                    {"tokens", keys.tokens},
                                    {"dim", keys.dim},
                                    {"threads", threads()},
                                    {"seconds", best},
                                    {"status", solve::name(found.status)},
                                    {"relative_gap", found.relative_gap},
                                    {"upper_is_proved", found.upper_is_proved},
                                    {"norm", found.norm},
                                    {"support", found.support.size()},
                                    {"rounds", found.rounds},
                                    {"iterations", found.iterations},
                                    {"data_bytes", keys.values.size() * sizeof(double)},
                                    {"peak_bytes", peak_bytes()},
                                    {"p", found.p}};
  fmt::print("{}\n", json.dump());
}

}  // namespace
}  // namespace attractor

int main(int count, char** values) {
  return attractor::timing_program("hard_margin_timing", count, values, attractor::run);
}
