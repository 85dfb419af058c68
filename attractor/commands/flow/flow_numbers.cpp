#include "attractor/commands/flow/flow_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "attractor/lab/json.hpp"

namespace attractor::lab {
namespace {

double log10_of(const flow::Time& time) { return time.log() / std::numbers::ln10; }

void write_header(const FlowRecord& r, Archive& file) {
  file.attribute("/", "parameters", std::string_view(stored_json(r.setup).dump()));
  file.attribute("/", "status", outcome(r));
  file.attribute("/", "engine", std::string_view(r.engine));
  file.attribute("/", "seed", r.setup.seed);
  file.attribute("/", "tokens", r.tokens);
  file.attribute("/", "dim", r.dim);
  file.attribute("/", "steps", r.steps);
  file.attribute("/", "rejected", r.rejected);
  file.attribute("/", "time", r.time.value());
  file.attribute("/", "log10_time", log10_of(r.time));
  file.attribute("/", "cluster_cosine", r.cluster_cosine);
  file.attribute("/", "merge_radius", r.merge_radius);
  file.attribute("/", "merge_error", r.merge_error);
  file.attribute("/", "offset_error", r.offset_error);
  file.attribute("/", "solver_time", r.solver_time.value());
  file.attribute("/", "log10_solver_time", log10_of(r.solver_time));
}

/// Every observable over the outputs: use(name, meaning, values).
template <class Use>
void for_each_observable(const FlowRecord& r, const Use& use) {
  std::vector<double> values(r.series.size());
  const auto take = [&](std::string_view name, std::string_view meaning, const auto& value) {
    std::transform(r.series.begin(), r.series.end(), values.begin(), value);
    use(std::string(name), meaning, values);
  };
  for (const observe::Column& column : observe::columns())
    take(column.name, column.meaning,
         [&](const observe::Observation& o) { return o.*column.value; });
  for (std::size_t k = 0; k < r.observables.size(); ++k)
    take(r.observables[k].name, r.observables[k].meaning,
         [&](const observe::Observation& o) { return o.more[k]; });
}

void write_series(const FlowRecord& r, Archive& file) {
  for_each_observable(
      r, [&](const std::string& name, std::string_view meaning, const std::vector<double>& values) {
        const std::string path = "/series/" + name;
        file.dataset(path, values, {values.size()});
        file.attribute(path, "meaning", meaning);
      });
}

template <class T, class Field>
void write_stacked(const FlowRecord& r, Archive& file, const std::string& path, const Field& field,
                   std::vector<std::size_t> shape) {
  std::vector<T> all;
  all.reserve(r.snapshots.size() * (r.snapshots[0].*field).size());
  for (const Snapshot& s : r.snapshots) all.insert(all.end(), (s.*field).begin(), (s.*field).end());
  shape.insert(shape.begin(), r.snapshots.size());
  file.dataset(path, std::span<const T>(all), shape);
}

void write_snapshots(const FlowRecord& r, Archive& file) {
  write_column<double>(file, "/snapshots/time", r.snapshots,
                       [](const Snapshot& s) { return s.time.value(); });
  write_column<double>(file, "/snapshots/log10_time", r.snapshots,
                       [](const Snapshot& s) { return log10_of(s.time); });
  write_stacked<double>(r, file, "/snapshots/positions", &Snapshot::positions, {r.tokens, r.dim});
  write_stacked<std::uint32_t>(r, file, "/snapshots/clusters", &Snapshot::clusters, {r.tokens});
  write_stacked<double>(r, file, "/snapshots/cosine_histogram", &Snapshot::cosine_histogram,
                        {r.snapshots[0].cosine_histogram.size()});
  if (!r.snapshots[0].norms.empty())
    write_stacked<double>(r, file, "/snapshots/norms", &Snapshot::norms, {r.tokens});
}

void write_merges(const FlowRecord& r, Archive& file) {
  using observe::Linkage;
  const auto whole = [&](const char* name, std::uint32_t Linkage::*field) {
    write_column<std::uint32_t>(file, std::string("/merge_tree/") + name, r.merges,
                                [&](const Linkage& m) { return m.*field; });
  };
  whole("left", &Linkage::left);
  whole("right", &Linkage::right);
  whole("size", &Linkage::size);
  write_column<double>(file, "/merge_tree/time", r.merges,
                       [](const Linkage& m) { return m.time.value(); });
  write_column<double>(file, "/merge_tree/log10_time", r.merges,
                       [](const Linkage& m) { return log10_of(m.time); });
  using depth::Coalescence;
  const std::string group = "/coalescences/";
  write_column<std::uint32_t>(file, group + "into", r.coalescences,
                              [](const Coalescence& c) { return c.into; });
  write_column<std::uint32_t>(file, group + "absorbed", r.coalescences,
                              [](const Coalescence& c) { return c.absorbed; });
  write_column<double>(file, group + "error", r.coalescences,
                       [](const Coalescence& c) { return c.error; });
  write_column<double>(file, group + "log10_time", r.coalescences,
                       [](const Coalescence& c) { return log10_of(c.time); });
}

constexpr std::size_t kMostWeights = std::size_t{1} << 24;  // numbers of one set that are kept

/// One matrix of all heads, heads x rows x dim.
void write_heads(const FlowRecord& r, const std::vector<Head>& heads,
                 std::vector<double> Head::*matrix, const std::string& path, Archive& file) {
  std::vector<double> all;
  for (const Head& head : heads)
    all.insert(all.end(), (head.*matrix).begin(), (head.*matrix).end());
  if (!all.empty())
    file.dataset(path, all, {heads.size(), all.size() / heads.size() / r.dim, r.dim});
}

void write_weight_set(const FlowRecord& r, const FlowWeights& weights, const std::string& group,
                      Archive& file) {
  const std::size_t numbers = weights.numbers();
  if (numbers == 0) return;
  file.group(group);
  file.attribute(group, "numbers", numbers);
  file.attribute(group, "left_out", numbers > kMostWeights);
  if (numbers > kMostWeights) return;
  write_heads(r, weights.heads, &Head::query, group + "/query", file);
  write_heads(r, weights.heads, &Head::key, group + "/key", file);
  write_heads(r, weights.heads, &Head::value, group + "/value", file);
  const std::size_t dim = r.dim, width = weights.block.width;
  const auto write = [&](const char* name, const std::vector<double>& values,
                         const Archive::Shape& shape) {
    if (!values.empty()) file.dataset(group + "/" + name, values, shape);
  };
  write("output", weights.output, {dim, dim});
  write("feed_forward_in", weights.block.in, {width, dim});
  write("feed_forward_bias", weights.block.bias, {width});
  write("feed_forward_out", weights.block.out, {dim, width});
  write("gain", weights.gain, {dim});
  write("query_gain", weights.query_gain, {weights.query_gain.size()});
  write("key_gain", weights.key_gain, {weights.key_gain.size()});
}

// Tokens in each cluster, largest first; the 100 largest.
std::vector<std::size_t> cluster_sizes(const Snapshot& snapshot) {
  const std::size_t count =
      *std::max_element(snapshot.clusters.begin(), snapshot.clusters.end()) + 1;
  std::vector<std::size_t> sizes(count, 0);
  for (std::uint32_t label : snapshot.clusters) ++sizes[label];
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.resize(std::min<std::size_t>(count, 100));
  return sizes;
}

}  // namespace

Json flow_values(const FlowRecord& r) {
  const observe::Observation& end = r.series.back();
  Json json;
  json["status"] = outcome(r);
  json["time"] = number(r.time.value());
  json["log10_time"] = number(log10_of(r.time));
  json["steps"] = r.steps;
  json["rejected_steps"] = r.rejected;
  json["tokens"] = r.tokens;
  json["dim"] = r.dim;
  json["beta"] = r.setup.beta;
  json["dynamics"] = name(r.setup.dynamics);
  for (const observe::Column& column : observe::columns())
    if (column.name != "time" && column.name != "log10_time")
      json[std::string(column.name)] = number(end.*column.value);
  for (std::size_t k = 0; k < r.observables.size(); ++k)
    json[r.observables[k].name] = number(end.more[k]);
  for (const char* name : {"clusters", "largest_cluster", "distinct_tokens"})
    json[name] = json[name].get<std::uint64_t>();
  json["hemisphere"] = std::isnan(end.hemisphere) ? Json(nullptr) : Json(end.hemisphere == 1);
  json["sampled"] = end.sampled == 1;
  json["cluster_sizes"] = cluster_sizes(r.snapshots.back());
  json["cluster_cosine"] = r.cluster_cosine;
  json["merges"] = r.merges.size();
  json["merge_radius"] = r.merge_radius;
  json["merge_error"] = r.merge_error;
  json["offset_error"] = r.offset_error;
  json["solver_time"] = number(r.solver_time.value());
  json["log10_solver_time"] = number(log10_of(r.solver_time));
  json["engine"] = r.engine;
  if (r.engine == "clumps") json["steps_by_rows"] = r.steps_by_rows;
  json["velocity_error"] = number(r.velocity_error);
  json["tolerance_used"] =
      is_adaptive(r.setup) ? Json(std::max(r.setup.tolerance, r.loosened)) : Json();
  json["perturbation_grows"] = r.grows ? Json(*r.grows) : Json();
  json["log10_growth_rate"] = number(r.log10_growth);
  if (r.leaders) {
    json["leaders"] = r.leaders->centres.size();
    json["strong_leaders"] = r.leaders->strong.size();
  }
  if (!r.head_entropies.empty()) json["head_entropies"] = r.head_entropies;
  return json;
}

void write_arrays(const FlowRecord& record, Archive& file) {
  write_header(record, file);
  write_series(record, file);
  write_snapshots(record, file);
  write_merges(record, file);
  write_weight_set(record, record.weights, "/weights", file);
  write_weight_set(record, record.last_weights, "/weights/last", file);
  file.dataset("/final/owner", record.owner, {record.owner.size()});
  if (!record.selected.empty())
    file.dataset("/final/selected", record.selected,
                 {record.tokens, record.selected.size() / record.tokens});
}

Json series_of(const FlowRecord& record) {
  Json series;
  for_each_observable(record, [&](const std::string& name, std::string_view /*meaning*/,
                                  const std::vector<double>& values) {
    Json& list = series[name] = Json::array();
    for (const double value : values) list.push_back(number(value));
  });
  return series;
}

double result_bytes(std::size_t tokens, std::size_t dim, const FlowSetup& parameters) {
  const double numbers = static_cast<double>(tokens) * static_cast<double>(dim);
  const auto kept = static_cast<double>(snapshot_count(parameters, tokens, dim));
  const double rows = static_cast<double>(outputs_of(parameters));
  const std::size_t set = weight_numbers(parameters, dim);
  const double weights = set > kMostWeights ? 0 : static_cast<double>(set);
  return (2 * kept * numbers + (parameters.redraw > 0 ? 2 : 1) * weights) * 8 + rows * 200 +
         static_cast<double>(tokens) * 64 + 2e6;
}

}  // namespace attractor::lab
