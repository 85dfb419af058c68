#include "attractor/commands/flow/flow_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/flow/flow_viewer.hpp"
#include "attractor/commands/flow/load_flow_py.hpp"

namespace attractor::lab {
namespace {

double last_finite(const FlowRecord& record, double observe::Observation::*column) {
  return record.series.empty() ? kNan : record.series.back().*column;
}

std::vector<Tile> tiles(const FlowRecord& record) {
  using observe::Observation;
  const auto end = [&](double Observation::*column) { return last_finite(record, column); };
  const double energy = end(&Observation::energy_ratio);
  const double largest = end(&Observation::largest_cluster);
  const bool bounded = std::isfinite(energy) || record.setup.space == depth::Geometry::sphere;
  return {{"final time", time_text(record.time)},
          {"clusters", rounded(end(&Observation::clusters)),
           std::isfinite(largest)
               ? "largest: " + rounded(largest) + (largest == 1 ? " token" : " tokens")
               : ""},
          {"mean cosine",
           close_to_one(end(&Observation::mean_cosine), end(&Observation::one_minus_mean_cosine))},
          bounded ? Tile{"energy ratio", close_to_one(energy, 1 - energy), "at most 1"}
                  : Tile{"ln energy", rounded(end(&Observation::log_energy))},
          {"effective rank", rounded(end(&Observation::effective_rank))},
          {"steps", grouped(record.steps),
           record.rejected > 0 ? grouped(record.rejected) + " rejected" : ""},
          {"status", status_words(record.status), std::string(flow::remedy(record.status))}};
}

std::string pair_of(const FlowSetup& p) {
  const flow::Method stepper = stepper_of(p);
  return stepper == flow::Method::adaptive3   ? "3(2)"
         : stepper == flow::Method::adaptive8 ? "8(5,3)"
                                              : "5(4)";
}

Section accuracy(const FlowRecord& record) {
  const FlowSetup& p = record.setup;
  const bool sampled = std::any_of(record.series.begin(), record.series.end(),
                                   [](const observe::Observation& o) { return o.sampled == 1; });
  const std::string steps =
      is_adaptive(p)
          ? fmt::format(
                "Adaptive Runge–Kutta {}: the local error of every token is kept below {} "
                "in each unit of time.",
                pair_of(p), power_text(std::log10(p.tolerance)))
          : fmt::format("Fixed steps of {} ({}).", p.step, stepper_of(p));
  const std::string replaced =
      record.merge_radius > 0
          ? fmt::format(
                "Tokens of a cluster narrower than {} move with their centre: {} such "
                "replacements, which displace a token by about {} or less at the end; distances "
                "within these groups are known to a relative error of {}.",
                rounded(record.merge_radius), grouped(record.coalescences.size()),
                rounded(record.merge_error), rounded(record.offset_error))
          : "No tokens were replaced: every one is followed on its own.";
  const std::string statistics =
      sampled ? fmt::format(
                    "Pair and energy statistics are estimates from random rows while more than {} "
                    "tokens are distinct (exact-limit); their standard errors are in result.h5.",
                    grouped(p.exact_limit))
              : "All statistics are exact sums over all pairs of tokens.";
  return {"Accuracy", html_card({steps, replaced, statistics,
                                 fmt::format("Clusters are connected at cosine {:.9g} or more.",
                                             record.cluster_cosine)})};
}

std::string attention_words(const FlowSetup& p) {
  std::string words = p.dynamics == Rule::unnormalised ? "unnormalised"
                      : p.dynamics == Rule::softmax    ? "softmax"
                                                       : std::string(name(p.dynamics));
  if (p.mask == MaskKind::causal) words = "causal " + words;
  if (p.heads > 1) words = fmt::format("{}-head {}", p.heads, words);
  if (p.norm != Normalisation::post) words = fmt::format("{}-normalised {}", p.norm, words);
  return words;
}

}  // namespace

std::string headline(const FlowRecord& record) {
  const FlowSetup& p = record.setup;
  const bool sphere = p.space == depth::Geometry::sphere;
  const std::string place = !sphere           ? "in R" + superscript(record.dim)
                            : record.dim == 2 ? "on the circle"
                                              : "on the sphere S" + superscript(record.dim - 1);
  const bool weights = !p.query.identity() || !p.key.identity() || !p.value.identity();
  const double clusters = last_finite(record, &observe::Observation::clusters);
  std::string text =
      fmt::format("{} token{} {}, {} attention{}, β = {:.6g}: ", grouped(record.tokens),
                  record.tokens == 1 ? "" : "s", place, attention_words(p),
                  weights ? " with given weights" : "", p.beta);
  if (std::isfinite(clusters))
    text += clusters == 1 ? "one cluster at " : fmt::format("{:.0f} clusters at ", clusters);
  return text + "t = " + time_text(record.time);
}

std::string flow_title(const FlowRecord& record) {
  return fmt::format("{} tokens, dimension {}, beta = {:.6g}", record.tokens, record.dim,
                     record.setup.beta);
}

Page flow_page(const FlowRecord& record, const FlowView& view) {
  return {.tiles = tiles(record),
          .roomy = false,
          .picture = view.xyz.empty() ? "" : flow_viewer(record, view),
          .closing = {in_python(std::string(kLoadFlowPy)), accuracy(record)}};
}

}  // namespace attractor::lab
