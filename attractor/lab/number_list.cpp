#include "attractor/lab/number_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "attractor/base/error.hpp"

namespace attractor::lab {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

constexpr double kMostNumbers = 1e6;

using Parse = bool (*)(std::string_view, double&);

/// "from:to:count"; false for anything else.
bool spaced(std::string_view item, double least, double most, Parse parse,
            std::vector<double>& numbers) {
  const std::size_t first = item.find(':'), second = item.find(':', first + 1);
  double from = 0, to = 0, count = 0;
  if (second == item.npos || !parse(item.substr(0, first), from) ||
      !parse(item.substr(first + 1, second - first - 1), to) ||
      !parse_count(item.substr(second + 1), count))
    return false;
  if (!(std::min(from, to) >= least && std::max(from, to) <= most && std::isfinite(to - from) &&
        count >= 2 && count <= kMostNumbers && count == std::floor(count)))
    return false;
  for (double k = 0; k < count; ++k)
    numbers.push_back(k == count - 1 ? to : from + (to - from) * k / (count - 1));
  return true;
}

}  // namespace

bool parse_real(std::string_view text, double& value) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool has_count_letter(std::string_view text) {
  if (text.size() < 2 || std::string_view("kKMG").find(text.back()) == std::string_view::npos)
    return false;
  const char before = text[text.size() - 2];
  return (before >= '0' && before <= '9') || before == '.';
}

bool parse_count(std::string_view text, double& value) {
  if (!has_count_letter(text)) return parse_real(text, value);
  const double unit = text.back() == 'M' ? 0x1p20 : text.back() == 'G' ? 0x1p30 : 0x1p10;
  if (!parse_real(text.substr(0, text.size() - 1), value)) return false;
  value *= unit;  // a power of two: exact
  return true;
}

std::string spelled(double x) {
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return fmt::format("{}", x);
}

std::string allowed_numbers(double least, double most) {
  if (std::isinf(least) && std::isinf(most))
    return "comma-separated finite numbers, or from:to:count";
  return fmt::format("comma-separated numbers from {} to {}, or from:to:count", least, most);
}

std::vector<double> number_list(std::string_view name, std::string_view text, double least,
                                double most, bool counts) {
  const Parse parse = counts ? parse_count : parse_real;
  std::vector<double> numbers;
  if (trimmed(text).empty()) return numbers;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view item = trimmed(text.substr(0, comma));
    double value = 0;
    if (parse(item, value) && std::isfinite(value) && value >= least && value <= most)
      numbers.push_back(value);
    else if (!spaced(item, least, most, parse, numbers))
      throw Error(fmt::format("{} holds '{}', which is not allowed; allowed: {}", name, item,
                              allowed_numbers(least, most)));
    if (comma == std::string_view::npos) return numbers;
    text.remove_prefix(comma + 1);
  }
}

Numbers spaced_numbers(double from, double to, std::size_t count) {
  Numbers numbers;
  numbers.spelled = fmt::format("{}:{}:{}", from, to, count);
  numbers.values = number_list("", numbers.spelled, std::min(from, to), std::max(from, to));
  return numbers;
}

}  // namespace attractor::lab
