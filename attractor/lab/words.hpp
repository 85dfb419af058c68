// Numbers and times as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attractor/flow/status.hpp"
#include "attractor/flow/time.hpp"

namespace attractor::lab {

/// On a terminal: "0", "12.5", "1.6180e+30"; also for times that no double holds.
std::string plain_words(const flow::Time& time);

/// Markup of figures: a positive number from its logarithm, and a time: "0", "0.125",
/// "1.6·10^{30}".
std::string power_text(double log10);
std::string time_text(const flow::Time& time);

/// "1.8e-15" in a text becomes "1.8·10^{−15}", markup that does not break at a hyphen.
std::string with_powers_of_ten(std::string_view text);

std::string superscript(std::size_t number);  // "¹²"
std::string grouped(std::uint64_t number);    // "12 345"
/// Four digits, powers of ten beyond 10^{4} and below 10^{-3}; "–" if not finite.
std::string rounded(double value);
/// A number whose distance from 1, `missing`, is what matters: "1 − 10^{−9}".
std::string close_to_one(double value, double missing);
std::string status_words(flow::Status status);
std::string status_words(std::string_view name);  // "not_finite": not finite

inline std::string yes(bool value) { return value ? "yes" : "no"; }

}  // namespace attractor::lab
