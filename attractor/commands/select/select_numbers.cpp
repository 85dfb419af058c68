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

void add_margins(const SelectRecord& r, Json& json) {
  if (!r.margins) return;
  json["margins"] = Json::array();
  for (const training::MarginApproach& n : r.margins->norms) {
    Json row = margin_json(n.svm);
    row["norm_name"] = n.norm;
    row["cosine"] = number(n.cosine);
    row["extrapolated_cosine"] = number(n.far_cosine);
    row["share"] = number(n.share);
    row["share_error"] = number(n.error);
    row["approached"] = n.approached;
    row["left"] = n.left;
    json["margins"].push_back(std::move(row));
  }
  json["approached_margin"] = r.trained ? Json(r.margins->verdict) : Json(nullptr);
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
  add_margins(r, json);
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

}  // namespace attractor::lab
