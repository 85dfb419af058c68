// The command `measure`: every observable of tokens that a file holds, without any flow. What a
// flow would see of them at t = 0: energy, clusters, cosines, rank, hemisphere, entropy of
// attention.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/commands/flow/flow_numbers.hpp"
#include "attractor/commands/registry.hpp"
#include "attractor/lab/flow/flow_experiment.hpp"
#include "attractor/observe/observation.hpp"

namespace attractor::lab {
namespace {

struct MeasureParameters {
  std::string tokens;
  std::string space = "sphere";
  double beta = 1;
  std::string cluster_cosine = "auto";
  double pair_threshold = 0.999;
  std::uint64_t exact_limit = 4096, seed = 0;
};

ParameterList list(MeasureParameters& p) {
  const std::string group = "Tokens";
  return {{.name = "tokens",
           .group = group,
           .help = "n x d, a row for each token",
           .target = &p.tokens,
           .words = ".npy or HDF5[:/dataset]",
           .positional = true},
          {.name = "space",
           .group = group,
           .help = "sphere: rows are divided by their length",
           .target = &p.space,
           .choices = {"sphere", "euclidean"}},
          {.name = "beta",
           .group = "Attention",
           .help = "inverse temperature, for energy and entropy",
           .target = &p.beta,
           .least = 0,
           .most = 1e6},
          {.name = "cluster-cosine",
           .group = "Observables",
           .help = "tokens with at least this cosine are in one cluster",
           .target = &p.cluster_cosine,
           .words = "auto, or above 0 and below 1"},
          {.name = "pair-threshold",
           .group = "Observables",
           .help = "cosine from which a pair counts as close",
           .target = &p.pair_threshold,
           .least = -1,
           .most = 1},
          {.name = "exact-limit",
           .group = "Observables",
           .help = "more distinct tokens than this: sums over pairs from random rows, with errors",
           .target = &p.exact_limit,
           .least = 1,
           .most = 1e7},
          {.name = "seed",
           .group = "Observables",
           .help = "seed of the rows that are drawn",
           .target = &p.seed}};
}

std::vector<std::string> input_files(const MeasureParameters& p) {
  return p.tokens.empty() ? std::vector<std::string>{} : std::vector{p.tokens};
}

FlowParameters at_rest(const MeasureParameters& p) {
  FlowParameters flow;
  flow.space = p.space;
  flow.beta = p.beta;
  flow.init = "file";
  flow.tokens_file = p.tokens;
  flow.time = 0;
  flow.merge_radius = "off";
  flow.engine = "dense";
  flow.cluster_cosine = p.cluster_cosine;
  flow.pair_threshold = p.pair_threshold;
  flow.exact_limit = p.exact_limit;
  flow.seed = p.seed;
  return flow;
}

Result ask(const MeasureParameters& p, const Context& context) {
  if (p.tokens.empty()) throw Error("tokens is empty; name a .npy or HDF5 file of n x d numbers");
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
          .make = ask_request<MeasureParameters>};
}

}  // namespace attractor::lab
