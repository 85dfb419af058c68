#include "attractor/commands/bridge/bridge_numbers.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/lab/json.hpp"

namespace attractor::lab {
namespace {

constexpr std::pair<const char*, double BridgeMoment::*> kMomentColumns[] = {
    {"log_time", &BridgeMoment::log_time},
    {"norm", &BridgeMoment::norm},
    {"margin", &BridgeMoment::margin},
    {"softmax_min", &BridgeMoment::softmax_min},
    {"bound", &BridgeMoment::bound}};

constexpr std::pair<const char*, double BridgeTheory::*> kTheoryColumns[] = {
    {"svm_norm", &BridgeTheory::norm},
    {"slope", &BridgeTheory::slope},
    {"transition_norm", &BridgeTheory::transition_norm},
    {"transition_log_time", &BridgeTheory::transition_log_time},
    {"half_log_time", &BridgeTheory::half_log_time}};

Json checkpoint_json(const BridgeCheckpoint& c) {
  Json json;
  for (const auto& [name, field] : kMomentColumns) json[name] = number(c.training.*field);
  json["status"] = flow::name(c.status);
  json["attention_entropy"] = number(c.start.attention_entropy);
  json["clusters"] = number(c.end.clusters);
  json["largest_cluster"] = number(c.end.largest_cluster);
  json["mean_cosine"] = number(c.end.mean_cosine);
  json["energy_ratio"] = number(c.end.energy_ratio);
  json["first_merge"] = c.first_merge ? number(*c.first_merge) : Json(nullptr);
  return json;
}

void write_header(const BridgeRecord& r, Archive& file) {
  file.attribute("/", "parameters", std::string_view(stored_json(r.setup).dump()));
  file.attribute("/", "status", flow::name(r.status));
  for (const auto& [name, field] : kTheoryColumns) file.attribute("/", name, r.theory.*field);
}

void write_training(const BridgeRecord& r, Archive& file) {
  const SelectRecord& t = r.training;
  file.group("/training");
  for (const auto& [name, field] : kMomentColumns)
    write_column(file, std::string("/training/") + name, r.moments,
                 [f = field](const BridgeMoment& m) { return m.*f; });
  file.dataset("/training/weights", t.trajectory, {r.moments.size(), t.weights.size()});
  const std::vector<std::uint64_t> selected(t.selected.begin(), t.selected.end());
  file.dataset("/training/selected", selected, {selected.size()});
  if (t.svm && t.svm->feasible())
    file.dataset("/training/svm", t.svm->solution, {t.svm->solution.size()});
}

void write_checkpoints(const BridgeRecord& r, Archive& file) {
  const std::string group = "/checkpoints/";
  const auto column = [&](const std::string& name, const auto& value) {
    write_column(file, group + name, r.checkpoints, value);
  };
  for (const auto& [name, field] : kMomentColumns)
    column(name, [f = field](const BridgeCheckpoint& c) { return c.training.*f; });
  column("cluster_cosine", [](const BridgeCheckpoint& c) { return c.cluster_cosine; });
  column("first_merge", [](const BridgeCheckpoint& c) { return c.first_merge.value_or(kNan); });
  for (const observe::Column& o : observe::columns()) {
    column("start_" + std::string(o.name),
           [&](const BridgeCheckpoint& c) { return c.start.*o.value; });
    column("end_" + std::string(o.name), [&](const BridgeCheckpoint& c) { return c.end.*o.value; });
  }
  std::vector<double> weights;
  for (const BridgeCheckpoint& c : r.checkpoints)
    weights.insert(weights.end(), c.weights.begin(), c.weights.end());
  file.dataset(group + "weights", weights, {r.checkpoints.size(), r.training.weights.size()});
}

void write_tokens(const BridgeRecord& r, Archive& file) {
  const std::size_t n = r.start.count(), d = r.start.dim, count = r.checkpoints.size();
  std::vector<double> end;
  std::vector<std::uint32_t> clusters;
  for (const BridgeCheckpoint& c : r.checkpoints) {
    end.insert(end.end(), c.positions.begin(), c.positions.end());
    clusters.insert(clusters.end(), c.clusters.begin(), c.clusters.end());
  }
  file.dataset("/tokens/start", r.start.data, {n, d});
  file.dataset("/tokens/end", end, {count, n, d});
  file.dataset("/tokens/clusters", clusters, {count, n});
}

}  // namespace

Json bridge_values(const BridgeRecord& r) {
  const SelectRecord& t = r.training;
  Json json;
  json["status"] = flow::name(r.status);
  json["train"] = name(r.setup.train);
  json["inputs"] = t.problem.inputs;
  json["problem_tokens"] = t.problem.tokens;
  json["selected"] = t.selected;
  json["finite_minimum"] = t.at_minimum;
  json["locally_optimal"] = t.svm ? Json(t.svm->locally_optimal) : Json(nullptr);
  json["globally_optimal"] = t.svm ? Json(t.svm->globally_optimal) : Json(nullptr);
  for (const auto& [name, field] : kTheoryColumns) json[name] = number(r.theory.*field);
  json["tokens"] = r.start.count();
  json["dim"] = r.start.dim;
  json["checkpoints"] = Json::array();
  for (const BridgeCheckpoint& c : r.checkpoints) json["checkpoints"].push_back(checkpoint_json(c));
  return json;
}

void write_arrays(const BridgeRecord& r, Archive& file) {
  write_header(r, file);
  write_training(r, file);
  write_checkpoints(r, file);
  write_tokens(r, file);
}

}  // namespace attractor::lab
