#include "attractor/commands/density/meanfield_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/commands/density/density_scene.hpp"
#include "attractor/commands/page.hpp"

namespace attractor::lab {
namespace {

/// A number of any size, by its logarithm.
std::string size_words(double log) {
  const double decimal = log / std::log(10.0);
  return std::abs(decimal) < 300 ? fmt::format("{:.3g}", std::exp(log))
                                 : fmt::format("10^{:.0f}", decimal);
}

/// Unnormalised attention moves in times of e^-beta, which a reader of plain times may not expect.
std::string reached_words(const MeanfieldSetup& p, const MeanfieldRecord& r) {
  if (p.dynamics == Rule::softmax || p.beta < 1) return fmt::format("t = {:.6g}", r.reached);
  return fmt::format("t = {:.6g} ({:.4g} natural units e^-beta; time = {:.6g} is {} of them)",
                     r.reached, r.reached_natural, p.time, size_words(std::log(p.time) + p.beta));
}

std::string more_words(const MeanfieldKind& kind) {
  if (kind.geometry == Geometry::general)
    return "more modes (at most 100 heights), symmetry zonal where there is an axis, or "
           "start "
           "tokens";
  if (!kind.spectral) return "more modes";
  const char* more = kind.geometry == Geometry::zonal ? "more modes (at most 1024)" : "more modes";
  return fmt::format("{} or form labels", more);
}

std::string unresolved_words(const MeanfieldSetup& p, const MeanfieldKind& kind,
                             const MeanfieldRecord& r) {
  const std::string size = fmt::format("{} {}", r.modes,
                                       kind.spectral                        ? "modes"
                                       : kind.geometry == Geometry::general ? "grid points"
                                                                            : "labels");
  if (!(r.start_lost <= most_error(p)))
    return fmt::format("the start is too sharp for {} (they miss {:.1e} of it); take {}", size,
                       r.start_lost, more_words(kind));
  const std::string at = reached_words(p, r);
  // Missing modes are far smaller than the error where short steps would have been the remedy.
  if (kind.spectral && r.modes_lost < 1e-3 * most_error(p))
    return fmt::format(
        "beyond {} the error would be {:.1e}, above {:.0e}: the flow makes small errors grow; "
        "shorten time, tighten tolerance or take {}",
        at, r.worst_error, most_error(p), more_words(kind));
  return fmt::format(
      "beyond {} the density is too sharp for {}: errors would be above {:.0e}; "
      "shorten time or take {}",
      at, size, most_error(p), more_words(kind));
}

constexpr const char* kCounts[] = {"no",   "one", "two",   "three", "four",
                                   "five", "six", "seven", "eight", "nine"};

/// "three crowds"; of a density with an axis, crowds are rings around it or caps at its poles.
std::string crowd_words(const MeanfieldKind& kind, std::size_t count) {
  const std::string number = count < 10 ? kCounts[count] : grouped(count);
  return number + (count == 1 ? " crowd" : " crowds") +
         (kind.geometry == Geometry::zonal ? " around the axis" : "");
}

/// 0 where it is smaller than its error.
std::string order_words(const MeanfieldRecord& r, const MeanfieldMoment& m) {
  return m.order <= r.errors.order || m.order < 1e-12 ? "0" : rounded(m.order);
}

}  // namespace

std::string meanfield_headline(const MeanfieldSetup& p, const MeanfieldKind& kind,
                               const MeanfieldRecord& r) {
  const std::string where =
      p.dim == 2 ? "on the circle" : "on the sphere S" + superscript(p.dim - 1);
  if (!r.complete())
    return fmt::format("The density {} could be followed to t = {:.4g} only.", where, r.reached);
  const std::string who = fmt::format("Infinitely many tokens {} at β = {:.4g}", where, p.beta);
  if (r.density.empty())
    return fmt::format("{}: from t = 0 to {:.4g} their order parameter went from {} to {}.", who,
                       p.time, order_words(r, r.history.front()), order_words(r, r.history.back()));
  const std::vector<double>&first = r.density.front(), &last = r.density.back();
  const double before = *std::max_element(first.begin(), first.end()),
               after = *std::max_element(last.begin(), last.end());
  const std::size_t count = crowds(last, kind.geometry == Geometry::circle);
  if (count == 0)
    return fmt::format(
        "{} are uniform within 5 % at t = {:.4g}; at the start the densest place held "
        "{} times the uniform density.",
        who, p.time, rounded(before));
  return fmt::format(
      "{} form {} by t = {:.4g}: the densest place holds {} times the uniform "
      "density, at the start {}.",
      who, crowd_words(kind, count), p.time, rounded(after), rounded(before));
}

std::string what_failed(const MeanfieldSetup& p, const MeanfieldKind& kind,
                        const MeanfieldRecord& r) {
  if (r.complete()) return "";
  const std::string at = reached_words(p, r);
  const char* shorter = p.noise > 0 ? "shorten time or lower noise" : "shorten time";
  if (r.resolved && r.steps_missing > 0)
    return fmt::format("the run was given up at {}: its end is more than {:.0e} steps away; {}", at,
                       std::min(r.steps_missing, 1e300), shorter);
  if (r.resolved && r.status == flow::Status::too_many_steps)
    return fmt::format("the steps were used up at {}; {}", at, shorter);
  if (r.resolved && r.twin_failed)
    return fmt::format(
        "the error is not known: a run with more {} and shorter steps did not reach the end; {} or "
        "loosen tolerance",
        kind.spectral ? "modes" : "labels", shorter);
  if (r.resolved)
    return fmt::format("the run ended early at {} ({}); {}", at, flow::name(r.status),
                       flow::remedy(r.status));
  return unresolved_words(p, kind, r);
}

std::vector<std::string> meanfield_remarks(const MeanfieldSetup& p, const MeanfieldKind& kind,
                                           const MeanfieldRecord& record) {
  std::vector<std::string> remarks;
  if (p.dynamics == Rule::softmax && p.noise > 0)
    remarks.push_back(
        "Softmax attention with noise descends no free energy in the Wasserstein metric: none is "
        "given.");
  if (!record.complete()) return remarks;
  if (kind.spectral && std::isnan(record.history.back().smallest))
    remarks.push_back(fmt::format(
        "{} modes do not tell the density near the poles, where hardly any token is in dimension "
        "{}: the smallest density is not known.",
        record.modes, p.dim));
  if (kind.spectral && record.history.back().smallest < 0)
    remarks.push_back(
        fmt::format("The density dips to {:.1e} below zero between crowded places, which is within "
                    "its error.",
                    -record.history.back().smallest));
  return remarks;
}

}  // namespace attractor::lab
