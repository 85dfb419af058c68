#include "attractor/commands/reduce/regular_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/commands/reduce/pair_experiment.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/reductions/regular_clusters.hpp"

namespace attractor::lab {
namespace {

using meanfield::GrowthSpectrum;
using meanfield::PairAngle;
using meanfield::RegularClusters;

constexpr const char* kSimplexModes[] = {"neutral", "opening", "parting", "pairing"};

RegularClusters clusters_of(const RegularSetup& p) {
  return {.rule = p.dynamics, .beta = p.beta, .count = p.count};
}

std::uint64_t dimension(const RegularSetup& p) {
  return p.dim > 0 ? p.dim : std::max<std::uint64_t>(2, p.count);
}

/// A ring has one symmetric mode: off the equator.
GrowthSpectrum spectrum_of(const RegularSetup& p, const RegularClusters& clusters) {
  if (p.shape == Shape::polygon) return polygon_spectrum(clusters);
  if (p.shape == Shape::simplex) return simplex_spectrum(clusters, dimension(p));
  return {.log_unit = log_ring_escape_rate(clusters), .rate = {1}, .multiplicity = {1}};
}

PairAngle neighbour_angle(const RegularSetup& p) {
  if (p.shape == Shape::polygon) return meanfield::polygon_angle(p.count);
  if (p.shape == Shape::simplex) return meanfield::simplex_angle(p.count);
  return meanfield::ring_angle(p.count, p.polar);
}

std::string mode_name(const RegularSetup& p, std::size_t mode) {
  if (p.shape == Shape::simplex) return kSimplexModes[mode];
  return p.shape == Shape::ring ? "off the equator" : fmt::format("{}", mode);
}

// ---- Values.

void fill_growth(const RegularSetup& p, const GrowthSpectrum& spectrum, Result& answer) {
  Json rates = Json::array(), logs = Json::array();
  Table table{.name = "modes",
              .title = "Growth of small deviations",
              .columns = {"growth_rate", "log_growth_rate", "multiplicity"},
              .label_column = "mode"};
  for (std::size_t j = 0; j < spectrum.rate.size(); ++j) {
    const double log = spectrum.log_growth(j), rate = spectrum.growth(j);
    const Json shown = rate == 0 && spectrum.rate[j] != 0 ? Json() : number(rate);
    rates.push_back(shown);
    logs.push_back(number(log));
    table.labels.push_back(mode_name(p, j));
    table.rows.push_back(
        {shown.is_null() ? kNan : rate, log, static_cast<double>(spectrum.multiplicity[j])});
  }
  const std::size_t fastest = spectrum.fastest();
  answer.values["growth_rates"] = rates;
  answer.values["log_growth_rates"] = logs;
  if (p.shape == Shape::polygon)
    answer.values["fastest_mode"] = fastest;
  else
    answer.values["fastest_mode"] = mode_name(p, fastest);
  answer.values["efolding_time"] = number_of_log(spectrum.log_efolding());
  answer.values["log_efolding_time"] = number(spectrum.log_efolding());
  answer.tables.push_back(std::move(table));
}

void fill_lifetime(const RegularSetup& p, const RegularClusters& clusters, Json& values) {
  const meanfield::ClusterPair pair = neighbours(clusters);
  const PairAngle angle = neighbour_angle(p), merged = PairAngle::of_cosine(p.merge_cosine);
  const double log_time = log_merge_time(pair, angle, merged);
  values["neighbour_angle"] = number(angle.angle());
  values["lifetime"] = number_of_log(log_time);
  values["log_lifetime"] = number(log_time);
  values["log10_lifetime"] = number(log_time / std::numbers::ln10);
  values["asymptotic_log_lifetime"] = number(log_asymptotic_time(pair, angle));
  values["lifetime_exponent"] = number(lifetime_exponent(pair, angle));
}

void fill_way(const RegularSetup& p, const RegularClusters& clusters, Json& values) {
  double log_time = kNan;
  if (p.shape == Shape::ring)
    log_time = ring_time(clusters, p.polar, p.to_polar).log();
  else if (p.cosine)
    log_time = equiangular_time(clusters, *p.cosine, p.merge_cosine).log();
  else
    return;
  values["time"] = number_of_log(log_time);
  values["log_time"] = number(log_time);
  values["log10_time"] = number(log_time / std::numbers::ln10);
}

std::vector<Tile> regular_tiles(const RegularSetup& p, const GrowthSpectrum& spectrum,
                                const Json& values) {
  const auto power = [&](const char* name) {
    return values[name].is_number() ? power_text(values[name].get<double>()) : std::string("–");
  };
  std::vector<Tile> all;
  if (const double fold = spectrum.log_efolding(); std::isfinite(fold)) {
    add_tile(
        all, "fastest deviation", mode_name(p, spectrum.fastest()),
        p.shape == Shape::polygon ? "mode of the polygon" : "of the " + std::string(name(p.shape)));
    add_tile(all, "e-folding time", power_text(fold / std::numbers::ln10), "of that deviation");
  } else {
    add_tile(all, "fastest deviation", "none", "all small ones decay");
  }
  add_tile(all, "two neighbours alone", power("log10_lifetime"), "time until they merge");
  add_tile(all, "neighbours",
           fmt::format("{:.4g}°", neighbour_angle(p).angle() * 180 / std::numbers::pi),
           "apart at the start");
  if (values.contains("log10_time"))
    add_tile(all, p.shape == Shape::ring ? "way to the pole" : "time to merge", power("log10_time"),
             p.shape == Shape::ring ? fmt::format("until polar angle {:.4g}", p.to_polar)
                                    : fmt::format("from the common cosine {:.4g}", *p.cosine));
  return all;
}

void check(const RegularSetup& p) {
  check_setup(p);
  if (p.cosine && dimension(p) < p.count)
    throw Error(fmt::format("dim = {} is not allowed; {} equiangular clusters need at least {}",
                            p.dim, p.count, p.count));
}

// ---- Figures.

PageFigure growth_figure(const RegularSetup& p) {
  const GrowthSpectrum spectrum = spectrum_of(p, clusters_of(p));
  double most = spectrum.rate[spectrum.fastest()];  // or, where nothing grows, the fastest decay
  for (const double rate : spectrum.rate)
    if (spectrum.rate[spectrum.fastest()] <= 0) most = std::max(most, -rate);
  Series dots{.mark = report::Mark::points, .colour = report::kBlue, .size = 4.4};
  Series line = curve(report::kBlue, 1.4);
  for (std::size_t j = 0; j < spectrum.rate.size(); ++j) {
    if (spectrum.multiplicity[j] == 0) continue;
    add_point(dots, static_cast<double>(j), most > 0 ? spectrum.rate[j] / most : 0);
    add_point(line, static_cast<double>(j), most > 0 ? spectrum.rate[j] / most : 0);
  }
  const bool polygon = p.shape == Shape::polygon;
  std::vector<Series> series = {dots};
  if (polygon) series.push_back(line);
  return plot(
      "growth", "Which deviation grows fastest",
      {.x = polygon ? Axis{.label = "mode j",
                           .low = -0.5,
                           .high = static_cast<double>(spectrum.rate.size()) - 0.5,
                           .whole = true}
                    : Axis{.names = {std::begin(kSimplexModes), std::end(kSimplexModes)}},
       .y = {.label = "growth rate / fastest", .high = 1.08},
       .series = std::move(series)},
      std::isfinite(spectrum.log_efolding())
          ? fmt::format("Growth rates in units of the fastest, e^{{{:.6g}}} per unit of time.",
                        -spectrum.log_efolding())
          : "Nothing grows: rates in units of the fastest decay.");
}

PageFigure lifetime_figure(const RegularSetup& p) {
  const bool ring = p.shape == Shape::ring;
  Series folding = curve(report::kGreen, 2.4), pair = curve(report::kVermillion, 2.4),
         formula = curve(report::kInk, 1.4);
  folding.title =
      ring ? "e-folding time off the equator" : "e-folding time of the fastest deviation";
  pair.title = "two neighbours alone, exact";
  formula.title = "two neighbours alone, large-β formula";
  formula.dashed = true;
  const double most = std::clamp(2 * p.beta, 10.0, 1e6), least = p.beta < 0 ? -20 : 0;
  const PairAngle angle = neighbour_angle(p), merged = PairAngle::of_cosine(p.merge_cosine);
  const int points = p.count > 200 ? 12 : 60;  // a spectrum costs count^2
  for (int k = 1; k <= points; ++k) {
    RegularClusters clusters = clusters_of(p);
    clusters.beta = least + (most - least) * k / points;
    const meanfield::ClusterPair two = neighbours(clusters);
    const double fold = spectrum_of(p, clusters).log_efolding();
    if (std::isfinite(fold)) add_point(folding, clusters.beta, fold / std::numbers::ln10);
    add_point(pair, clusters.beta, log_merge_time(two, angle, merged) / std::numbers::ln10);
    if (clusters.beta > 0)
      add_point(formula, clusters.beta, log_asymptotic_time(two, angle) / std::numbers::ln10);
  }
  return plot("lifetime", "How long the clusters stay apart",
              {.x = {.label = "inverse temperature β", .low = least, .high = most},
               .y = {.label = "time", .scale = Scale::power},
               .series = {std::move(pair), std::move(formula), std::move(folding)}},
              fmt::format("{} clusters at other β; {}.", p.count,
                          ring ? "neighbours as at the start of this ring"
                               : "all rises like the lifetime of a pair of neighbours"));
}

PageFigure ring_figure(const RegularSetup& p) {
  Series polar = curve(report::kBlue, 2.4);
  const RegularClusters clusters = clusters_of(p);
  for (int k = 1; k <= 200; ++k) {
    // Quadratic: most of the time is spent close to the start.
    const double to = p.polar - (p.polar - p.to_polar) * k * k / 4e4;
    add_point(polar, ring_time(clusters, p.polar, to).log() / std::numbers::ln10, to);
  }
  return plot("ring", "The ring slides to the pole",
              {.x = {.label = "time t", .scale = Scale::power},
               .y = {.label = "polar angle, radians", .low = 0},
               .series = {std::move(polar)}},
              "Polar angle of the ring on a logarithmic clock.");
}

std::string headline(const RegularSetup& p, const GrowthSpectrum& spectrum) {
  const std::string where = p.shape == Shape::polygon   ? "on a regular polygon"
                            : p.shape == Shape::simplex ? "on a regular simplex"
                                                        : "on a ring";
  const std::string who = fmt::format(
      "{} equal clusters {}, {} at β = {:.6g}", p.count, where,
      p.dynamics == Rule::softmax ? "softmax attention" : "unnormalised attention", p.beta);
  if (!std::isfinite(spectrum.log_efolding())) return who + ": stable, no small deviation grows.";
  const std::string fold = power_text(spectrum.log_efolding() / std::numbers::ln10);
  if (p.shape == Shape::ring)
    return fmt::format("{}: it leaves the equator e-fold in {}.", who, fold);
  return fmt::format("{}: mode {} grows fastest, e-fold in {}.", who,
                     mode_name(p, spectrum.fastest()), fold);
}

}  // namespace

std::span<const std::string_view> names(Shape) {
  static constexpr std::string_view kNames[] = {"polygon", "simplex", "ring"};
  return kNames;
}

ParameterList list(RegularSetup& p) {
  ParameterList l;
  l.group("Clusters");
  l.add("dynamics", p.dynamics, "sa: softmax attention; usa: unnormalised")
      .among({Rule::softmax, Rule::unnormalised});
  l.add("beta", p.beta, "inverse temperature").within(-20, 1e6);
  l.add("count", p.count, "number k of clusters, each of mass 1/k").within(2, 4096);
  l.add("shape", p.shape,
        "polygon: on the circle; simplex: all cosines -1/(k-1); ring: on a latitude of the sphere");
  l.group("Shape");
  l.add("dim", p.dim, "simplex: dimension d, from count - 1; 0: count")
      .within(0, 65536)
      .used_by("shape", {"simplex"});
  l.add("cosine", p.cosine, "simplex: also the time from this common cosine to the merge cosine")
      .within(-1, std::nextafter(1.0, 0.0))
      .otherwise("")
      .allow("-1/(count-1) to below 1")
      .used_by("shape", {"simplex"});
  l.add("merge-cosine", p.merge_cosine, "merged means this cosine").above(-1, 1 - 1e-15);
  l.add("polar", p.polar, "ring: polar angle at the start, radians; pi/2 is the equator")
      .above(0, std::numbers::pi / 2)
      .used_by("shape", {"ring"});
  l.add("to-polar", p.to_polar, "ring: polar angle at the end, radians")
      .above(0, std::numbers::pi / 2)
      .used_by("shape", {"ring"});
  return l;
}

Result ask(const RegularSetup& p, const Context&) {
  check(p);
  const RegularClusters clusters = clusters_of(p);
  const GrowthSpectrum spectrum = spectrum_of(p, clusters);
  Result answer{.title = "Regular clusters", .headline = headline(p, spectrum)};
  fill_growth(p, spectrum, answer);
  fill_lifetime(p, clusters, answer.values);
  fill_way(p, clusters, answer.values);
  answer.tiles = regular_tiles(p, spectrum, answer.values);
  if (p.shape == Shape::ring)
    answer.remarks.push_back(
        "Times are those of a perfect ring; neighbours that are not evenly spaced merge first.");
  if (p.shape == Shape::ring && p.polar <= p.to_polar)
    answer.remarks.push_back("The ring starts beyond the polar angle it is to reach.");
  if (p.shape == Shape::ring && p.polar == std::numbers::pi / 2)
    answer.remarks.push_back("A ring on the equator rests; it leaves at the escape rate.");
  if (neighbour_angle(p).antipodal())
    answer.remarks.push_back("Neighbours are antipodal: alone they would never merge.");
  // Lifetimes of isolated pairs mean something only if clusters hardly feel each other.
  else if (p.beta * neighbour_angle(p).gap() < 3)
    answer.remarks.push_back(
        "Clusters overlap at this beta: the lifetime of an isolated pair says little.");
  const bool slides =
      p.shape == Shape::ring && p.polar > p.to_polar && p.polar < std::numbers::pi / 2;
  answer.draw = [p, slides] {
    std::vector<PageFigure> figures;
    if (p.shape != Shape::ring) figures.push_back(growth_figure(p));
    if (slides) figures.push_back(ring_figure(p));
    figures.push_back(lifetime_figure(p));
    return figures;
  };
  return answer;
}

Command regular_command() {
  return {.name = "reduce clusters",
          .about = "k equal clusters on a regular polygon, a simplex or a ring",
          .examples =
              "  attractor reduce clusters --shape polygon --count 7 --beta 25\n"
              "  attractor reduce clusters --shape polygon --count 5 --beta -3\n"
              "  attractor reduce clusters --shape simplex --count 4 --beta 9 --out simplex\n"
              "Theory: docs/theory/reductions.md.",
          .make = ask_request<RegularSetup>};
}

}  // namespace attractor::lab
