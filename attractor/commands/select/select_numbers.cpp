#include "attractor/commands/select/select_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "attractor/lab/json.hpp"
#include "attractor/space/space.hpp"

namespace attractor::lab {
namespace {

constexpr std::size_t kPrinted = 100'000;  // longer arrays are in result.h5 only

Json array(std::span<const double> values) {
  if (values.empty() || values.size() > kPrinted) return nullptr;
  return std::vector<double>(values.begin(), values.end());
}

Json json_log10(const flow::Time& time) { return number(time.log() / std::numbers::ln10); }

Json tokens_json(const std::vector<training::TokenMargin>& tokens) {
  Json list = Json::array();
  for (const training::TokenMargin& t : tokens)
    list.push_back({{"input", t.input}, {"token", t.token}, {"margin", t.margin}});
  return list;
}

// Can W = K Q^T point where the solution does?
void add_reach(const training::MaxMargin& svm, const std::string& prefix, Json& json) {
  if (svm.feasible() && svm.rank > 0) json[prefix + "rank"] = svm.rank;
  if (!svm.feasible() || svm.factor_rank == 0) return;
  json["factor_rank"] = svm.factor_rank;
  json[prefix + "in_reach"] = svm.in_reach();
  json["largest_cosine_in_reach"] = svm.reach;
}

Json margin_json(const training::MaxMargin& svm) {
  Json json;
  json["chosen"] = svm.chosen;
  json["status"] = solve::name(svm.status);
  json["locally_optimal"] = svm.locally_optimal;
  json["globally_optimal"] = svm.globally_optimal;
  json["norm"] = svm.feasible() ? number(svm.norm) : Json(nullptr);
  json["norm_lower"] = number(svm.lower);
  json["norm_upper"] = number(svm.upper);
  json["margin"] = svm.feasible() ? number(svm.margin()) : Json(nullptr);
  json["duality_gap"] = svm.feasible() ? number(svm.relative_gap) : Json(nullptr);
  json["solution"] = svm.feasible() ? array(svm.solution) : Json(nullptr);
  add_reach(svm, "", json);
  return json;
}

// Keys of the selected choice stand at the top level: they are what most users ask for.
void add_margin(const SelectRecord& r, Json& json) {
  const bool exists = r.svm.has_value(), feasible = exists && r.svm->feasible();
  json["locally_optimal"] = exists ? Json(r.svm->locally_optimal) : Json(nullptr);
  json["globally_optimal"] = exists ? Json(r.svm->globally_optimal) : Json(nullptr);
  json["cosine_to_svm"] = feasible && r.trained ? number(r.cosine) : Json(nullptr);
  json["velocity_cosine_to_svm"] =
      feasible && r.trained ? number(r.velocity_cosine) : Json(nullptr);
  json["svm_status"] = exists ? Json(solve::name(r.svm->status)) : Json(nullptr);
  json["svm_norm"] = feasible ? number(r.svm->norm) : Json(nullptr);
  json["svm_norm_lower"] = exists ? number(r.svm->lower) : Json(nullptr);
  json["svm_norm_upper"] = exists ? number(r.svm->upper) : Json(nullptr);
  json["svm_upper_proved"] = feasible ? Json(r.svm->upper_is_proved) : Json(nullptr);
  json["svm_slack"] = feasible ? number(r.svm->smallest_slack) : Json(nullptr);
  json["svm_exact"] = exists ? Json(r.svm->exact) : Json(nullptr);
  json["margin"] = feasible ? number(r.svm->margin()) : Json(nullptr);
  json["duality_gap"] = feasible ? number(r.svm->relative_gap) : Json(nullptr);
  json["farkas_residual"] = exists && !feasible ? number(r.svm->farkas_residual) : Json(nullptr);
  json["proved_infeasible"] = exists ? Json(r.svm->proved_infeasible()) : Json(nullptr);
  json["svm"] = feasible ? array(r.svm->solution) : Json(nullptr);
  if (exists) add_reach(*r.svm, "svm_", json);
  json["neighbours"] = exists ? tokens_json(r.svm->neighbours) : Json::array();
  json["rivals"] = exists ? tokens_json(r.svm->rivals) : Json::array();
}

void add_joint(const SelectRecord& r, Json& json) {
  if (!r.label) return;
  const bool feasible = r.label->svm.status != solve::MarginStatus::infeasible;
  Json support = Json::array();
  for (std::size_t i = 0; i < r.label->support.size(); ++i)
    if (r.label->support[i]) support.push_back(i);
  json["label_svm"] = {
      {"status", solve::name(r.label->svm.status)},
      {"solution", feasible ? array(r.label->svm.p) : Json(nullptr)},
      {"margin", feasible ? number(r.label->margin()) : Json(nullptr)},
      {"norm_lower", number(r.label->svm.lower)},
      {"norm_upper", number(r.label->svm.upper)},
      {"duality_gap", feasible ? number(r.label->svm.relative_gap) : Json(nullptr)},
      {"support_inputs", feasible ? support : Json(nullptr)},
      {"cosine", feasible ? number(r.head_cosine) : Json(nullptr)}};
  if (!r.relaxed) return;
  json["relaxed_svm"] = margin_json(*r.relaxed);
  json["relaxed_svm"]["cosine"] = number(r.relaxed_cosine);
}

void add_weights(const SelectRecord& r, Json& json) {
  for (const training::Block& b : r.blocks) json[b.name] = array(b.of(r.weights));
  const double length = norm(r.attention);
  json["p_norm"] = r.attention.empty() ? Json(nullptr) : number(length);
  json["v_norm"] = number(norm(r.head));
}

void add_local(const SelectRecord& r, Json& json) {
  if (!r.local) return;
  json["local_choices"] = Json::array();
  for (const training::MaxMargin& svm : r.local->found)
    json["local_choices"].push_back(margin_json(svm));
  json["local_choices_complete"] = r.local->complete;
}

void add_basins(const SelectRecord& r, Json& json) {
  if (!r.basins) return;
  Json limits = Json::array();
  std::vector<std::size_t> starts(r.basins->limits.size(), 0);
  std::size_t unsettled = 0, minima = 0;
  for (const training::BasinStart& start : r.basins->starts)
    start.limit < starts.size() ? ++starts[start.limit] : start.at_minimum ? ++minima : ++unsettled;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    limits.push_back(margin_json(r.basins->limits[k]));
    limits.back()["starts"] = starts[k];
  }
  json["basins"] = {{"starts", r.basins->starts.size()},
                    {"finite_minimum", minima},
                    {"unsettled", unsettled},
                    {"map", !r.basins->axes.empty()},
                    {"limits", limits}};
}

void add_path(const SelectRecord& r, Json& json) {
  if (r.path.empty()) return;
  json["path_svm"] = margin_json(*r.path_svm);
  json["path"] = Json::array();
  for (std::size_t k = 0; k < r.path.size(); ++k) {
    const training::PathPoint& point = r.path[k];
    Json row{{"radius", point.radius},
             {"weights", array(point.weights)},
             {"loss", number(point.loss)},
             {"cosine_to_svm", number(r.path_cosine[k])},
             {"log10_ridge", number(point.log10_ridge)},
             {"selected", point.selected},
             {"on_boundary", point.on_boundary},
             {"residual", number(point.residual)}};
    if (!point.head.empty()) row["head_radius"] = point.head_radius, row["v"] = array(point.head);
    json["path"].push_back(row);
  }
}

void add_others(const SelectRecord& r, Json& json) {
  if (r.others.empty()) return;
  json["starts"] = Json::array();
  const std::size_t d = r.problem.dim;
  for (const OtherStart& other : r.others)
    json["starts"].push_back({{"start", array(std::span(other.trajectory).first(d))},
                              {"end", array(std::span(other.trajectory).last(d))},
                              {"selected", other.svm.chosen},
                              {"locally_optimal", other.svm.locally_optimal},
                              {"globally_optimal", other.svm.globally_optimal},
                              {"cosine_to_svm", number(other.cosine)}});
}

// Row j of a choice: input j / (T - 1), and the j % (T - 1)-th of its other tokens.
training::TokenMargin token_of(const SelectRecord& r, std::size_t row) {
  const std::size_t others = r.problem.tokens - 1, input = row / others, t = row % others;
  return {input, t < r.selected[input] ? t : t + 1, 0};
}

// Infeasible: multipliers > 0 with sum multiplier (k_selected - k_token) = 0, the Farkas vector.
void add_exact(const SelectRecord& r, Json& json) {
  if (!r.exact) return;
  const solve::ExactMargin& exact = *r.exact;
  const bool found = exact.proved && !exact.infeasible;
  Json& out = json["exact"];
  out["proved"] = exact.proved;
  out["infeasible"] = exact.infeasible;
  out["squared_norm"] = found ? Json(exact.squared_norm.exact) : Json(nullptr);
  for (const solve::Rational& x : exact.p) out["p"].push_back(x.exact);
  out["multipliers"] = Json::array();
  for (std::size_t k = 0; k < exact.support.size(); ++k) {
    const training::TokenMargin at = token_of(r, exact.support[k]);
    out["multipliers"].push_back(
        {{"input", at.input}, {"token", at.token}, {"value", exact.lambda[k].exact}});
  }
  if (!exact.proved) out["why_not"] = exact.why_not;
}

// ---- result.h5.

constexpr std::size_t kMostNumbers = 100'000'000;  // numbers of X that are copied

Json parameters_json(const SelectSetup& parameters) {
  SelectSetup copy = parameters;
  Json json;
  for (const Parameter& p : list(copy)) json[p.name] = p.json();
  return json;
}

double log10_time(const flow::Time& time) { return time.log() / std::numbers::ln10; }

void write_header(const SelectRecord& r, Archive& file) {
  file.attribute("/", "parameters", std::string_view(parameters_json(r.setup).dump()));
  file.attribute("/", "status", r.trained ? flow::name(r.status) : std::string_view("solved"));
  file.attribute("/", "seed", r.setup.seed);
  file.attribute("/", "inputs", r.problem.inputs);
  file.attribute("/", "tokens", r.problem.tokens);
  file.attribute("/", "dim", r.problem.dim);
  file.attribute("/", "steps", r.steps);
  file.attribute("/", "rejected", r.rejected);
  file.attribute("/", "saturated", r.saturated);
  file.attribute("/", "time", r.time.value());
  file.attribute("/", "log10_time", log10_time(r.time));
  file.attribute("/", "loss", r.loss);
  file.attribute("/", "softmax_min", r.softmax_min);
  file.attribute("/", "unique_best_tokens", r.unique_best);
  file.attribute("/", "equal_other_scores", r.equal_others);
}

void write_array(Archive& file, const std::string& path, std::span<const double> values,
                 const Archive::Shape& shape) {
  if (!values.empty()) file.dataset(path, values, shape);
}

void write_vector(Archive& file, const std::string& path, std::span<const double> values) {
  file.dataset(path, values, {values.size()});
}

template <class Whole>
void write_whole(Archive& file, const std::string& path, const std::vector<Whole>& values) {
  const std::vector<std::uint64_t> wide(values.begin(), values.end());
  file.dataset(path, wide, {wide.size()});
}

/// p has d numbers, W d x d.
Archive::Shape weights_shape(const SelectRecord& r, std::size_t size) {
  const std::size_t d = r.problem.dim;
  return size == d * d && size != d ? Archive::Shape{d, d} : Archive::Shape{size};
}

void write_problem(const SelectRecord& r, Archive& file) {
  const training::Problem& p = r.problem;
  file.group("/problem");
  if (p.x.size() <= kMostNumbers) write_array(file, "/problem/X", p.x, {p.inputs, p.tokens, p.dim});
  write_array(file, "/problem/Y", p.labels, {p.labels.size()});
  write_array(file, "/problem/v", p.head.v, {p.head.v.size()});
  write_array(file, "/problem/W", p.weights, {p.dim, p.dim});
  write_array(file, "/problem/z", p.queries, {p.inputs, p.dim});
  write_array(file, "/problem/p0", p.prompt, {p.dim});
  write_array(file, "/problem/K", p.key_factor, {p.dim, p.rank()});
  write_array(file, "/problem/Q", p.query_factor, {p.dim, p.rank()});
  if (p.head.linear()) return;
  file.group("/problem/head");
  write_array(file, "/problem/head/U", p.head.hidden, {p.head.units(), p.dim});
  write_array(file, "/problem/head/b", p.head.bias, {p.head.bias.size()});
  file.attribute("/problem/head", "lambda", p.head.penalty);
  file.attribute("/problem/head", "activation", training::name(p.head.activation));
}

void write_series(const SelectRecord& r, Archive& file) {
  for (const auto& [name, field] : select_columns()) {
    std::vector<double> values;
    for (const SelectMoment& m : r.series) values.push_back(m.*field);
    write_vector(file, "/series/" + name, values);
  }
  if (r.trajectory.empty()) return;
  const std::size_t moments = r.series.size();
  write_array(file, "/trajectory/weights", r.trajectory, {moments, r.trajectory.size() / moments});
  std::vector<std::string> names;
  std::vector<std::size_t> offsets, sizes;
  for (const training::Block& b : r.blocks) {
    names.push_back(b.name);
    offsets.push_back(b.begin);
    sizes.push_back(b.size);
  }
  file.dataset("/trajectory/block_names", names);
  write_whole(file, "/trajectory/block_offsets", offsets);
  write_whole(file, "/trajectory/block_sizes", sizes);
}

void write_final(const SelectRecord& r, Archive& file) {
  file.group("/final");
  for (const training::Block& b : r.blocks) {
    const bool matrix = b.name == "W" || b.name == "K" || b.name == "Q";
    const Archive::Shape shape =
        matrix ? Archive::Shape{r.problem.dim, b.size / r.problem.dim} : Archive::Shape{b.size};
    if (!r.weights.empty()) file.dataset("/final/" + b.name, b.of(r.weights), shape);
  }
  write_array(file, "/final/softmax", r.softmax, {r.problem.inputs, r.problem.tokens});
  write_whole(file, "/final/selected", r.selected);
  std::vector<double> since;
  for (const flow::Time& time : r.lock_in) since.push_back(log10_time(time));
  write_vector(file, "/final/lock_in_log10_time", since);
}

void write_token_margins(Archive& file, const std::string& group,
                         const std::vector<training::TokenMargin>& tokens) {
  std::vector<std::size_t> input, token;
  std::vector<double> margin;
  for (const training::TokenMargin& t : tokens) {
    input.push_back(t.input);
    token.push_back(t.token);
    margin.push_back(t.margin);
  }
  write_whole(file, group + "/input", input);
  write_whole(file, group + "/token", token);
  write_vector(file, group + "/margin", margin);
}

void write_multipliers(Archive& file, const std::string& group,
                       const std::vector<solve::Multiplier>& multipliers) {
  std::vector<std::size_t> row;
  std::vector<double> value;
  for (const solve::Multiplier& m : multipliers) {
    row.push_back(m.index);
    value.push_back(m.value);
  }
  write_whole(file, group + "/row", row);
  write_vector(file, group + "/multiplier", value);
}

/// What is known of the length of a solution.
template <class Margin>
void write_bounds(Archive& file, const std::string& group, const Margin& svm) {
  file.attribute(group, "status", solve::name(svm.status));
  file.attribute(group, "norm", svm.norm);
  file.attribute(group, "norm_lower", svm.lower);
  file.attribute(group, "norm_upper", svm.upper);
  file.attribute(group, "relative_gap", svm.relative_gap);
  file.attribute(group, "farkas_residual", svm.farkas_residual);
}

void write_svm(const SelectRecord& r, const training::MaxMargin& svm, const std::string& group,
               Archive& file) {
  file.group(group);
  write_array(file, group + "/solution", svm.solution, weights_shape(r, svm.solution.size()));
  write_whole(file, group + "/chosen", svm.chosen);
  if (!svm.relaxed.empty()) write_whole(file, group + "/relaxed", svm.relaxed);
  write_multipliers(file, group + "/support", svm.support);
  write_token_margins(file, group + "/neighbours", svm.neighbours);
  write_token_margins(file, group + "/rivals", svm.rivals);
  write_bounds(file, group, svm);
  file.attribute(group, "upper_proved", svm.upper_is_proved);
  file.attribute(group, "slack", svm.smallest_slack);
  file.attribute(group, "rank", svm.rank);
  file.attribute(group, "factor_rank", svm.factor_rank);
  file.attribute(group, "largest_cosine_in_reach", svm.reach);
  file.attribute(group, "locally_optimal", svm.locally_optimal);
  file.attribute(group, "globally_optimal", svm.globally_optimal);
}

void write_label(const SelectRecord& r, Archive& file) {
  const solve::HardMargin& svm = r.label->svm;
  const std::string group = "/label_svm";
  file.group(group);
  write_array(file, group + "/solution", svm.p, {svm.p.size()});
  write_whole(file, group + "/support_inputs", r.label->support);
  write_bounds(file, group, svm);
  file.attribute(group, "cosine", r.head_cosine);
}

void write_margins(const SelectRecord& r, Archive& file) {
  if (r.svm) {
    write_svm(r, *r.svm, "/svm", file);
    file.attribute("/svm", "cosine", r.cosine);
    file.attribute("/svm", "velocity_cosine", r.velocity_cosine);
  }
  if (r.exact) {
    file.group("/svm/exact");
    file.attribute("/svm/exact", "proved", r.exact->proved);
    file.attribute("/svm/exact", "infeasible", r.exact->infeasible);
    file.attribute("/svm/exact", "why_not", std::string_view(r.exact->why_not));
    file.attribute("/svm/exact", "squared_norm", std::string_view(r.exact->squared_norm.exact));
    std::vector<std::string> values;
    for (const solve::Rational& x : r.exact->lambda) values.push_back(x.exact);
    if (!values.empty()) file.dataset("/svm/exact/multiplier", values);
    write_whole(file, "/svm/exact/row", r.exact->support);
  }
  if (r.relaxed) {
    write_svm(r, *r.relaxed, "/relaxed_svm", file);
    file.attribute("/relaxed_svm", "cosine", r.relaxed_cosine);
  }
  if (r.label) write_label(r, file);
}

/// field(row) is a range of numbers; a shorter one is filled up with `missing`.
template <class T, class Row, class Field>
void write_rows(Archive& file, const std::string& path, const std::vector<Row>& rows,
                const Field& field, T missing) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, field(row).size());
  std::vector<T> all;
  for (const Row& row : rows) {
    const auto& values = field(row);
    for (const auto value : values) all.push_back(static_cast<T>(value));
    all.insert(all.end(), width - values.size(), missing);
  }
  file.dataset(path, all, {rows.size(), width});
}

void write_choices(Archive& file, const std::string& group,
                   const std::vector<training::MaxMargin>& found) {
  using training::MaxMargin;
  write_rows<std::uint64_t>(
      file, group + "/chosen", found, [](const MaxMargin& m) -> const auto& { return m.chosen; },
      std::uint64_t{0});
  write_rows<double>(
      file, group + "/solution", found,
      [](const MaxMargin& m) -> const auto& { return m.solution; }, kNan);
  write_column(file, group + "/norm", found, [](const MaxMargin& m) { return m.norm; });
  write_column(file, group + "/relative_gap", found,
               [](const MaxMargin& m) { return m.relative_gap; });
  write_column(file, group + "/locally_optimal", found,
               [](const MaxMargin& m) { return m.locally_optimal; });
  write_column(file, group + "/globally_optimal", found,
               [](const MaxMargin& m) { return m.globally_optimal; });
}

void write_path(const SelectRecord& r, Archive& file) {
  using training::PathPoint;
  const auto column = [&](const char* name, const auto& field) {
    write_column(file, std::string("/path/") + name, r.path,
                 [&](const PathPoint& p) { return p.*field; });
  };
  column("radius", &PathPoint::radius);
  column("head_radius", &PathPoint::head_radius);
  column("loss", &PathPoint::loss);
  column("log10_ridge", &PathPoint::log10_ridge);
  column("on_boundary", &PathPoint::on_boundary);
  column("residual", &PathPoint::residual);
  write_rows<double>(
      file, "/path/weights", r.path, [](const PathPoint& p) -> const auto& { return p.weights; },
      kNan);
  write_rows<double>(
      file, "/path/head", r.path, [](const PathPoint& p) -> const auto& { return p.head; }, kNan);
  write_rows<std::uint64_t>(
      file, "/path/selected", r.path, [](const PathPoint& p) -> const auto& { return p.selected; },
      std::uint64_t{0});
  write_vector(file, "/path/cosine", r.path_cosine);
  if (r.path_svm) write_svm(r, *r.path_svm, "/path/svm", file);
}

void write_basins(const training::Basins& basins, Archive& file) {
  using training::BasinStart;
  write_rows<double>(
      file, "/basins/starts", basins.starts,
      [](const BasinStart& s) -> const auto& { return s.start; }, kNan);
  std::vector<std::int64_t> limits;
  for (const BasinStart& s : basins.starts)
    limits.push_back(s.limit < basins.limits.size() ? static_cast<std::int64_t>(s.limit) : -1);
  file.dataset("/basins/limit", limits, {limits.size()});
  write_column(file, "/basins/velocity_cosine", basins.starts,
               [](const BasinStart& s) { return s.velocity_cosine; });
  write_column(file, "/basins/log10_time", basins.starts,
               [](const BasinStart& s) { return s.log10_time; });
  write_choices(file, "/basins/limits", basins.limits);
  write_whole(file, "/basins/axes", basins.axes);
  file.attribute("/basins", "side", basins.side);
  file.attribute("/basins", "radius", basins.radius);
}

}  // namespace

Json select_values(const SelectRecord& r) {
  Json json;
  json["status"] = r.trained ? std::string(flow::name(r.status)) : "solved";
  json["inputs"] = r.problem.inputs;
  json["tokens"] = r.problem.tokens;
  json["dim"] = r.problem.dim;
  if (r.trained) {
    json["steps"] = r.steps;
    json["saturated"] = r.saturated;
    json["finite_minimum"] = r.at_minimum;
    json["log10_time"] = json_log10(r.time);
  }
  json["loss"] = number(r.loss);
  json["log10_excess"] = number(r.log10_excess);
  json["selected"] = r.selected;
  add_margin(r, json);
  add_joint(r, json);
  add_weights(r, json);
  json["softmax_min"] = number(r.softmax_min);
  json["unique_best_tokens"] = r.unique_best;
  json["equal_other_scores"] = r.equal_others;
  if (r.trained) {
    json["lock_in_log10_time"] = Json::array();
    for (const flow::Time& time : r.lock_in) json["lock_in_log10_time"].push_back(json_log10(time));
  }
  add_local(r, json);
  add_path(r, json);
  add_basins(r, json);
  add_others(r, json);
  add_exact(r, json);
  return json;
}

void write_arrays(const SelectRecord& r, Archive& file) {
  write_header(r, file);
  write_problem(r, file);
  write_series(r, file);
  write_final(r, file);
  write_margins(r, file);
  if (r.local) {
    write_choices(file, "/local_choices", r.local->found);
    file.attribute("/local_choices", "complete", r.local->complete);
    file.attribute("/local_choices", "examined", r.local->examined);
  }
  if (!r.path.empty()) write_path(r, file);
  if (r.basins) write_basins(*r.basins, file);
}

}  // namespace attractor::lab
