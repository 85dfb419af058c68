// The command `measure`: every observable of tokens that a file holds, without any flow. What a
// flow would see of them at t = 0: energy, clusters, cosines, rank, hemisphere, entropy of
// attention.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/commands/flow/flow_figures.hpp"
#include "attractor/commands/flow/flow_numbers.hpp"
#include "attractor/commands/flow/flow_page.hpp"
#include "attractor/lab/flow/flow_experiment.hpp"
#include "attractor/observe/observation.hpp"

namespace attractor::lab {
namespace {

struct MeasureSetup {
  ArrayInput tokens;  // n x d
  depth::Geometry space = depth::Geometry::sphere;
  double beta = 1;
  std::optional<double> cluster_cosine{};
  double pair_threshold = 0.999;
  std::uint64_t exact_limit = 4096, seed = 0;
};

ParameterList list(MeasureSetup& p) {
  using depth::Geometry;
  ParameterList l;
  l.group("Tokens");
  l.add("tokens", p.tokens, "n x d, a row for each token").first();
  l.add("space", p.space, "sphere: rows are divided by their length")
      .among({Geometry::sphere, Geometry::euclidean});
  l.group("Attention");
  l.add("beta", p.beta, "inverse temperature, for energy and entropy").within(0, 1e6);
  l.group("Observables");
  l.add("cluster-cosine", p.cluster_cosine, "tokens with at least this cosine are in one cluster")
      .between(0, 1);
  l.add("pair-threshold", p.pair_threshold, "cosine from which a pair counts as close")
      .within(-1, 1);
  l.add("exact-limit", p.exact_limit,
        "more distinct tokens than this: sums over pairs from random rows, with errors")
      .within(1, 1e7);
  l.add("seed", p.seed, "seed of the rows that are drawn");
  return l;
}

FlowSetup at_rest(const MeasureSetup& p) {
  FlowSetup flow;
  flow.space = p.space;
  flow.beta = p.beta;
  flow.init = Arrangement::file;
  flow.tokens_file = p.tokens;
  flow.time = 0;
  flow.merge_radius = 0;
  flow.engine = depth::Engine::dense;
  flow.cluster_cosine = p.cluster_cosine;
  flow.pair_threshold = p.pair_threshold;
  flow.exact_limit = p.exact_limit;
  flow.seed = p.seed;
  return flow;
}

std::vector<Tile> measure_tiles(const FlowRecord& record) {
  const observe::Observation& o = record.series.back();
  std::vector<Tile> all;
  add_tile(all, "clusters", rounded(o.clusters), "neighbours " + closeness_words(record));
  add_tile(all, "mean cosine", close_to_one(o.mean_cosine, o.one_minus_mean_cosine),
           "of all pairs");
  add_tile(all, "effective rank", rounded(o.effective_rank),
           fmt::format("directions that tokens use, of {}", grouped(record.dim)));
  add_tile(all, "attention entropy", rounded(o.attention_entropy), "nats, mean over tokens");
  if (std::isfinite(o.energy_ratio))
    add_tile(all, "energy", close_to_one(o.energy_ratio, 1 - o.energy_ratio),
             "of the largest possible");
  else
    add_tile(all, "ln energy", rounded(o.log_energy), "of interaction");
  add_tile(all, "order parameter", rounded(o.order_parameter), "length of the mean token");
  return all;
}

/// The tokens, and the cosines of their pairs.
std::vector<PageFigure> pictures(const FlowRecord& record) {
  std::vector<PageFigure> all;
  for (PageFigure& figure : flow_figures(record, flow_view(record)))
    if (figure.figure.id == "tokens" || figure.figure.id == "histogram") {
      figure.figure.width = kHalf;
      figure.figure.height = kHalf - 20;
      figure.wide = figure.beside = false;
      for (Panel& panel : figure.figure.panels) panel.title.clear();
      all.push_back(std::move(figure));
    }
  return all;
}

Result ask(const MeasureSetup& p, const Context& context) {
  check_setup(p);
  if (!p.tokens.given()) throw Error("tokens is empty; name a .npy or HDF5 file of n x d numbers");
  const FlowRecord record = run_flow(at_rest(p), context);
  const observe::Observation& o = record.series.back();
  Result answer;
  answer.title = fmt::format("{} tokens, dimension {}", record.tokens, record.dim);
  answer.headline = fmt::format(
      "{} token{} in dimension {}: {:.0f} cluster{} at cosine {:.6g}, effective rank {:.4g}",
      record.tokens, record.tokens == 1 ? "" : "s", record.dim, o.clusters,
      o.clusters == 1 ? "" : "s", record.cluster_cosine, o.effective_rank);
  const Json all = flow_values(record);
  for (const char* name : {"tokens", "dim", "cluster_cosine", "cluster_sizes"})
    answer.values[name] = all[name];
  for (const observe::Column& column : observe::columns())
    if (column.name != "time" && column.name != "log10_time" && column.name != "layer_cosine")
      answer.values[column.name] = all[column.name];
  for (const ObservableName& own : record.observables) answer.values[own.name] = all[own.name];
  answer.tiles = measure_tiles(record);
  const auto shown = std::make_shared<const FlowRecord>(record);
  answer.draw = [shown] { return pictures(*shown); };
  return answer;
}

}  // namespace

Command measure_command() {
  return {.name = "measure",
          .about = "Observables of tokens from a file: energy, clusters, cosines, rank, entropy",
          .examples =
              "  attractor measure tokens.npy --beta 4\n"
              "  attractor measure vectors.h5:/layer_3 --space euclidean --json\n"
              "What each number means: docs/report_format.md.",
          .make = ask_request<MeasureSetup>};
}

}  // namespace attractor::lab
