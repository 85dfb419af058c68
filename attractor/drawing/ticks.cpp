#include "attractor/drawing/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace attractor::report {
namespace {

// ---- Ranges.

// A map fills its panel: half a cell beyond the outer centres.
Range heat_range(const std::vector<double>& at, const Axis& axis) {
  const double low = at.front(), high = at.back(), cells = static_cast<double>(at.size()) - 1;
  const bool log = axis.scale == Scale::log;
  if (cells == 0) return log ? Range{low / 2, low * 2} : Range{low - 0.5, low + 0.5};
  if (!log) return {low - (high - low) / cells / 2, high + (high - low) / cells / 2};
  const double half = std::pow(high / low, 0.5 / cells);
  return {low / half, high * half};
}

Range data_range(const Panel& panel, const Axis& axis, std::vector<double> Series::*values) {
  double low = kInfinity, high = -low;
  for (const Series& series : panel.series) {
    for (const double value : series.*values)
      if (drawable(value, axis)) low = std::min(low, value), high = std::max(high, value);
    if (series.mark == Mark::boxes && values == &Series::y && axis.scale != Scale::log)
      low = std::min(low, 0.0), high = std::max(high, 0.0);
  }
  return {low, high};
}

// ---- Labels.

constexpr double kLongest = 1e5, kShortest = 1e-4;  // beyond, powers of ten

std::string signed_text(double value, const std::string& digits) {
  return (value < 0 ? "−" : "") + digits;
}

std::string power_label(double exponent) {
  return fmt::format("10^{{{}{:.0f}}}", exponent < 0 ? "−" : "", std::abs(exponent));
}

/// Multiples of a step: all with the same number of decimals, or as powers of ten.
std::string step_label(double value, double step, double largest) {
  if (std::abs(value) < 1e-9 * step) return "0";
  if (largest >= kLongest || largest < kShortest * 10) {
    const double exponent = std::floor(std::log10(std::abs(value)) + 1e-9);
    // As many digits as tell neighbours apart.
    const double places = exponent - std::floor(std::log10(step) + 1e-9);
    const double mantissa = std::abs(value) / std::pow(10, exponent);
    const std::string digits =
        fmt::format("{:.{}g}", mantissa, 1 + static_cast<int>(std::clamp(places, 0.0, 14.0)));
    return signed_text(
        value, digits == "1" ? power_label(exponent) : digits + "·" + power_label(exponent));
  }
  int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  const double shifted = step * std::pow(10, decimals);
  if (std::abs(shifted - std::round(shifted)) > 1e-6) ++decimals;
  return signed_text(value, fmt::format("{:.{}f}", std::abs(value), decimals));
}

/// A power of ten in words that suit its neighbours.
std::string decade_label(double digit, double exponent, bool plain) {
  if (plain) return fmt::format("{:.6g}", digit * std::pow(10, exponent));
  return digit == 1 ? power_label(exponent)
                    : fmt::format("{:.0f}·{}", digit, power_label(exponent));
}

// ---- Candidates, the finest first.

std::vector<Tick> multiples(const Range& r, double step) {
  std::vector<Tick> all;
  const double slack = 1e-9 * (r.high - r.low),
               largest = std::max(std::abs(r.low), std::abs(r.high));
  for (double k = std::ceil((r.low - slack) / step); k * step <= r.high + slack; ++k)
    all.push_back({k * step, step_label(k * step, step, largest)});
  return all;
}

std::vector<std::vector<Tick>> linear_candidates(const Range& r, bool whole) {
  std::vector<std::vector<Tick>> all;
  const double finest = (r.high - r.low) / 12;
  const double decade = std::pow(10, std::floor(std::log10(finest)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0}) {
    const double step = factor * decade;
    if (step < finest || (whole && step < 1)) continue;
    all.push_back(multiples(r, step));
  }
  if (all.empty()) all.push_back(multiples(r, 1));
  return all;
}

/// Ticks of exponents: `digits` in every decade, then every so many decades. at: where digit * 10^e
/// stands on the axis.
std::vector<std::vector<Tick>> decade_candidates(const Range& exponents,
                                                 const std::function<double(double, double)>& at) {
  const double slack = 1e-9 * (exponents.high - exponents.low);
  const double first = std::floor(exponents.low), last = std::floor(exponents.high + slack);
  const bool plain = exponents.low > -3.01 && exponents.high < 4.01;
  std::vector<std::vector<Tick>> all;
  constexpr double kMostTicks = 1000;  // more never fit, and exponents may reach 10^300
  const auto add = [&](const std::vector<double>& digits, double every) {
    if (last - first > kMostTicks * every) return;
    std::vector<Tick> found;
    for (double e = std::ceil(first / every) * every; e <= last; e += every)
      for (const double digit : digits) {
        const double place = e + std::log10(digit);
        if (place >= exponents.low - slack && place <= exponents.high + slack)
          found.push_back({at(digit, e), decade_label(digit, e, plain)});
      }
    if (!found.empty()) all.push_back(std::move(found));
  };
  if (exponents.high - exponents.low < 3) add({1, 2, 5}, 1);
  for (const double every : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0})
    add({1}, every);
  for (double every = 2000; every < exponents.high - exponents.low; every *= 2) add({1}, every);
  return all;
}

std::vector<std::vector<Tick>> candidates(const Axis& axis, const Range& r) {
  if (!axis.names.empty()) {
    std::vector<Tick> named;
    for (std::size_t k = 0; k < axis.names.size(); ++k)
      named.push_back({static_cast<double>(k), axis.names[k]});
    std::vector<std::vector<Tick>> all = {named};
    for (const std::size_t every : {2U, 5U, 10U, 20U, 50U, 100U}) {
      std::vector<Tick> some;
      for (std::size_t k = 0; k < named.size(); k += every) some.push_back(named[k]);
      all.push_back(std::move(some));
    }
    return all;
  }
  if (axis.scale == Scale::linear) return linear_candidates(r, axis.whole);
  const bool power = axis.scale == Scale::power;
  const Range exponents = power ? r : Range{std::log10(r.low), std::log10(r.high)};
  const auto at = [power](double digit, double exponent) {
    return power ? exponent + std::log10(digit) : digit * std::pow(10, exponent);
  };
  // Less than a decade: as on a linear axis, or hardly any tick would stand.
  if (exponents.high - exponents.low < 0.7) {
    const Range values = {std::pow(10, exponents.low), std::pow(10, exponents.high)};
    if (values.low > 0 && std::isfinite(values.high)) {
      std::vector<std::vector<Tick>> all = linear_candidates(values, false);
      if (power)
        for (std::vector<Tick>& some : all)
          for (Tick& tick : some) tick.at = std::log10(tick.at);
      return all;
    }
  }
  return decade_candidates(exponents, at);
}

}  // namespace

bool drawable(double value, const Axis& axis) {
  constexpr double kMost = 1e300;  // leaves room for margins
  return std::abs(value) <= kMost && (axis.scale != Scale::log || value > 1 / kMost);
}

Range axis_range(const Panel& panel, const Axis& axis, std::vector<double> Series::*values) {
  if (!axis.names.empty()) return {-0.5, static_cast<double>(axis.names.size()) - 0.5};
  if (panel.heat) return heat_range(values == &Series::x ? panel.heat->x : panel.heat->y, axis);
  auto [low, high] = data_range(panel, axis, values);
  const bool log = axis.scale == Scale::log;
  if (low > high) low = high = log ? 1 : 0;
  const double share = 0.04;
  const double margin = log ? std::pow(high / low, share) : (high - low) * share;
  if (!std::isnan(axis.low))
    low = axis.low;
  else if (low != 0)
    low = log ? low / margin : low - margin;
  if (!std::isnan(axis.high))
    high = axis.high;
  else
    high = log ? high * margin : high + margin;
  constexpr double kResolved = 1e-9;  // narrower is one point
  if (log) return high / low > 1 + kResolved ? Range{low, high} : Range{low / 2, low * 2};
  if (high - low > 1e-290 + kResolved * std::max(std::abs(low), std::abs(high))) return {low, high};
  const double half = std::max(0.5, 1e-6 * std::abs(low));
  return {low - half, low + half};
}

double share_of(double value, const Axis& axis, const Range& range) {
  if (axis.scale == Scale::log)
    return (std::log(value) - std::log(range.low)) / (std::log(range.high) - std::log(range.low));
  return (value - range.low) / (range.high - range.low);
}

std::vector<Tick> ticks(const Axis& axis, const Range& range,
                        const std::function<bool(const std::vector<Tick>&)>& fits) {
  if (!axis.ticks) return {};
  std::vector<std::vector<Tick>> all = candidates(axis, range);
  for (std::vector<Tick>& some : all)
    if (!some.empty() && fits(some)) return std::move(some);
  // Too narrow for any: the last that has something to show, thinned to its ends.
  for (std::size_t k = all.size(); k-- > 0;)
    if (!all[k].empty()) {
      std::vector<Tick> ends = {all[k].front()};
      if (all[k].size() > 1) ends.push_back(all[k].back());
      return fits(ends) ? ends : std::vector<Tick>{ends.front()};
    }
  return {};
}

}  // namespace attractor::report
