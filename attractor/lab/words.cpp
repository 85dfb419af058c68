#include "attractor/lab/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace attractor::lab {

std::string plain_words(const flow::Time& time) {
  const double log10 = time.log() / std::numbers::ln10;
  if (std::isinf(log10)) return "0";
  if (std::abs(log10) < 5) return fmt::format("{:.6g}", time.value());
  const double exponent = std::floor(log10);
  return fmt::format("{:.4f}e{:+.0f}", std::pow(10, log10 - exponent), exponent);
}

std::string power_text(double log10) {
  if (std::isnan(log10)) return "unknown";
  if (std::isinf(log10)) return log10 < 0 ? "0" : "infinity";
  if (log10 >= -3 && log10 < 4) {
    const double value = std::pow(10, log10);
    return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
  }
  double exponent = std::floor(log10);
  std::string mantissa = fmt::format("{:.1f}", std::pow(10, log10 - exponent));
  if (mantissa == "10.0") mantissa = "1.0", exponent += 1;
  return fmt::format("{}10^{{{}{:.0f}}}", mantissa == "1.0" ? "" : mantissa + "·",
                     exponent < 0 ? "−" : "", std::abs(exponent));
}

std::string time_text(const flow::Time& time) {
  return power_text(time.log() / std::numbers::ln10);
}

std::string with_powers_of_ten(std::string_view text) {
  const auto digits = [&](std::size_t from) {
    while (from < text.size() && text[from] >= '0' && text[from] <= '9') ++from;
    return from;
  };
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t whole = digits(at);
    if (whole == at) {
      result += text[at++];
      continue;
    }
    const bool point = whole < text.size() && text[whole] == '.';
    const std::size_t mantissa = point && digits(whole + 1) > whole + 1 ? digits(whole + 1) : whole;
    const bool power = mantissa + 1 < text.size() && text[mantissa] == 'e' &&
                       (text[mantissa + 1] == '+' || text[mantissa + 1] == '-');
    const std::size_t end = power ? digits(mantissa + 2) : mantissa;
    const std::string_view number = text.substr(at, mantissa - at);
    at = end;
    if (!power || end == mantissa + 2) {
      result += text.substr(at - (end - mantissa) - number.size(), end - mantissa + number.size());
      continue;
    }
    const int exponent = std::stoi(std::string(text.substr(mantissa + 2, end - mantissa - 2)));
    if (number.find_first_not_of("0.") == number.npos || exponent == 0)
      result += number.find_first_not_of("0.") == number.npos ? "0" : number;
    else
      result += fmt::format("{}10^{{{}{}}}", number == "1" ? "" : fmt::format("{}·", number),
                            text[mantissa + 1] == '-' ? "−" : "", exponent);
  }
  return result;
}

std::string superscript(std::size_t number) {
  static constexpr std::string_view digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string result;
  for (const char digit : std::to_string(number)) result += digits[digit - '0'];
  return result;
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, "\u202f");
  return text;
}

std::string rounded(double value) {
  if (!std::isfinite(value)) return "–";
  if (value == 0) return "0";
  const bool plain = std::abs(value) >= 1e-3 && std::abs(value) < 1e4;
  std::string text =
      plain ? fmt::format("{:.4g}", std::abs(value)) : power_text(std::log10(std::abs(value)));
  return (value < 0 ? "−" : "") + text;
}

std::string close_to_one(double value, double missing) {
  if (!std::isfinite(missing) || missing < 0 || missing >= 1e-4) return rounded(value);
  if (missing < 1e-12) return "1";  // for the eye; result.h5 has the digits
  return "1 − " + power_text(std::log10(missing));
}

std::string status_words(flow::Status status) { return status_words(flow::name(status)); }

std::string status_words(std::string_view name) {
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

}  // namespace attractor::lab
