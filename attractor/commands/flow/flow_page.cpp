#include "attractor/commands/flow/flow_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/flow/load_flow_py.hpp"
#include "attractor/commands/result.hpp"
#include "attractor/lab/flow/observing_budget.hpp"

namespace attractor::lab {
namespace {

double last_finite(const FlowRecord& record, double observe::Observation::*column) {
  return record.series.empty() ? kNan : record.series.back().*column;
}

bool on_sphere(const FlowRecord& record) { return record.setup.space == depth::Geometry::sphere; }

std::string tokens_of(double count) { return rounded(count) + (count == 1 ? " token" : " tokens"); }

Tile cluster_tile(const FlowRecord& record) {
  using observe::Observation;
  const double largest = last_finite(record, &Observation::largest_cluster);
  std::string more = "neighbours " + closeness_words(record);
  if (std::isfinite(largest)) more = "largest: " + tokens_of(largest) + "; " + more;
  return {"clusters", rounded(last_finite(record, &Observation::clusters)), more};
}

/// R^d: what a fixed distance does not see.
void add_space_tiles(const FlowView& view, std::vector<Tile>& all) {
  if (view.groups > 0)
    all.push_back(
        {"groups", grouped(view.groups),
         fmt::format("neighbours within {:.2g} % of the cloud’s size", 100 * kGroupShare)});
  if (!view.empty())
    all.push_back({"largest |x|", power_text(std::log10(view.scene.unit.back())),
                   "at the start " + power_text(std::log10(view.scene.unit.front()))});
}

void add_sphere_tiles(const FlowRecord& record, std::vector<Tile>& all) {
  using observe::Observation;
  const auto end = [&](double Observation::*column) { return last_finite(record, column); };
  const double energy = end(&Observation::energy_ratio);
  add_tile(all, "mean cosine",
           close_to_one(end(&Observation::mean_cosine), end(&Observation::one_minus_mean_cosine)),
           "of all pairs; 1: all tokens are one");
  add_tile(all, "energy", close_to_one(energy, 1 - energy), "of the largest possible");
}

std::vector<Tile> tiles(const FlowRecord& record, const FlowView& view) {
  using observe::Observation;
  std::vector<Tile> all = {cluster_tile(record)};
  if (on_sphere(record))
    add_sphere_tiles(record, all);
  else
    add_space_tiles(view, all);
  add_tile(all, "effective rank", rounded(last_finite(record, &Observation::effective_rank)),
           fmt::format("directions that tokens use, of {}", grouped(record.dim)));
  all.push_back({"steps", grouped(record.steps), grouped(record.rejected) + " more were rejected"});
  all.push_back(
      {"status", status_words(outcome(record)),
       remedy(record).empty() ? "at t = " + time_text(record.time) : std::string(remedy(record))});
  return all;
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
                    grouped(p.exact_limit.value_or(kObservedFreely)))
              : "All statistics are exact sums over all pairs of tokens.";
  return {"Accuracy",
          html_card({steps, replaced, statistics,
                     fmt::format("Clusters are chains of tokens whose neighbours are {}.",
                                 closeness_words(record))})};
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

std::string closeness_words(const FlowRecord& record) {
  if (on_sphere(record)) return fmt::format("at cosine {:.6g} or more", record.cluster_cosine);
  return fmt::format("{:.3g} apart or less", std::sqrt(2 * (1 - record.cluster_cosine)));
}

std::string headline(const FlowRecord& record, const FlowView& view) {
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
  // A cloud that grows is told by its groups, one that shrinks by what has met.
  const bool grows =
      !sphere && view.groups > 0 && view.scene.unit.back() >= view.scene.unit.front();
  if (grows)
    text += view.groups == 1 ? "one group at " : fmt::format("{} groups at ", grouped(view.groups));
  else if (std::isfinite(clusters))
    text += clusters == 1 ? "one cluster at " : fmt::format("{:.0f} clusters at ", clusters);
  return text + "t = " + time_text(record.time);
}

std::string flow_title(const FlowRecord& record) {
  return fmt::format("{} tokens, dimension {}, beta = {:.6g}", record.tokens, record.dim,
                     record.setup.beta);
}

Page flow_page(const FlowRecord& record, const FlowView& view) {
  Page page{.tiles = tiles(record, view),
            .closing = {in_python(std::string(kLoadFlowPy)), accuracy(record)}};
  if (!view.empty()) page.scene = flow_scene(record, view);
  return page;
}

}  // namespace attractor::lab
