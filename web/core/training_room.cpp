#include "web/core/training_room.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/commands/select/select_numbers.hpp"
#include "attractor/lab/select/select_experiment.hpp"
#include "attractor/training/examples.hpp"
#include "attractor/training/margins/basins.hpp"
#include "attractor/training/margins/max_margin.hpp"
#include "attractor/training/objective.hpp"
#include "web/core/settings.hpp"

namespace attractor::web {
namespace {

using lab::Json;
using lab::number;
using training::Problem;

constexpr std::size_t kMostInputs = 24, kMostKeys = 24;
constexpr std::size_t kMostSide = 81;

Problem problem_of(const Json& request) {
  const Json& inputs = request.at("inputs");
  if (inputs.size() == 0 || inputs.size() > kMostInputs)
    throw Error(
        fmt::format("{} inputs are not allowed; allowed: 1 to {}", inputs.size(), kMostInputs));
  Problem p{.inputs = inputs.size(), .tokens = inputs.at(0).at("tokens").size(), .dim = 3};
  if (p.tokens < 2 || p.tokens > kMostKeys)
    throw Error(fmt::format("{} tokens are not allowed; allowed: 2 to {}", p.tokens, kMostKeys));
  for (const Json& input : inputs) {
    const auto label = input.at("label").get<double>();
    if (input.at("tokens").size() != p.tokens)
      throw Error("every input has the same number of tokens");
    p.labels.push_back(label);
    for (const Json& token : input.at("tokens"))
      p.x.insert(p.x.end(), {token.at("x").get<double>(), token.at("y").get<double>(),
                             label * token.at("score").get<double>()});
  }
  p.head.v = {0, 0, 1};
  p.weights = {1, 0, 0, 0, 1, 0, 0, 0, 0};
  p.prompt = {0, 0, 0};
  if (request.contains("start"))
    for (std::size_t k = 0; k < 2; ++k) p.prompt[k] = request.at("start").at(k).get<double>();
  check(p);
  return p;
}

Json margin_json(const training::MaxMargin& m) {
  Json answer{{"feasible", m.feasible()},
              {"chosen", m.chosen},
              {"margin", number(m.feasible() ? m.margin() : NAN)},
              {"norm", number(m.norm)},
              {"lower", number(m.lower)},
              {"upper", number(m.upper)},
              {"gap", number(m.relative_gap)},
              {"exact", m.exact},
              {"locally_optimal", m.locally_optimal},
              {"globally_optimal", m.globally_optimal}};
  Json solution = Json::array(), support = Json::array();
  for (const double x : m.solution) solution.push_back(number(x));
  for (const training::TokenMargin& t : m.neighbours) {
    Json row = Json::array();
    row.push_back(t.input), row.push_back(t.token);
    support.push_back(std::move(row));
  }
  answer["solution"] = std::move(solution);
  answer["support"] = std::move(support);
  return answer;
}

lab::SelectSetup setup_of(const Json& request) {
  lab::SelectSetup setup;
  if (request.contains("settings"))
    apply_settings(list(setup), settings_of(request.at("settings")));
  lab::check_setup(setup);
  return setup;
}

Json series_of(const lab::SelectRecord& r) {
  Json rows = Json::array();
  const std::size_t width = r.series.empty() ? 0 : r.trajectory.size() / r.series.size();
  for (std::size_t k = 0; k < r.series.size(); ++k) {
    const lab::SelectMoment& m = r.series[k];
    rows.push_back({{"log10_time", number(m.log10_time)},
                    {"steps", number(m.steps)},
                    {"loss", number(m.loss)},
                    {"norm", number(m.attention_norm)},
                    {"cosine", number(m.cosine)},
                    {"margin", number(m.margin)},
                    {"softmax_min", number(m.softmax_min)},
                    {"x", number(width >= 2 ? r.trajectory[k * width] : NAN)},
                    {"y", number(width >= 2 ? r.trajectory[k * width + 1] : NAN)}});
  }
  return rows;
}

}  // namespace

Json train(const Json& request) {
  lab::SelectSetup setup = setup_of(request);
  setup.data.name = "problem.json";
  const lab::SelectRecord r = run_select(setup, prepared(setup, problem_of(request)), {});
  Json since = Json::array();
  for (const flow::Time& t : r.lock_in) since.push_back(number(t.log() / std::numbers::ln10));
  Json answer{{"status", name(r.status)},   {"selected", r.selected},
              {"since", std::move(since)},  {"softmax", r.softmax},
              {"loss", number(r.loss)},     {"softmax_min", number(r.softmax_min)},
              {"cosine", number(r.cosine)}, {"velocity_cosine", number(r.velocity_cosine)},
              {"at_minimum", r.at_minimum}, {"steps", r.steps},
              {"series", series_of(r)},     {"command", command(setup)}};
  if (r.svm) answer["svm"] = margin_json(*r.svm);
  return answer;
}

Json margins(const Json& request) {
  const Problem problem = problem_of(request);
  const training::Objective objective(problem, training::Loss::logistic, training::Train::p);
  const training::AttSvm svm(objective);
  Json answer = Json::object();
  answer["scores"] = training::scores(problem);
  answer["best"] = margin_json(svm.solve(training::best_tokens(objective)));
  if (request.contains("chosen")) {
    std::vector<std::size_t> chosen;
    for (const Json& token : request.at("chosen")) chosen.push_back(token.get<std::size_t>());
    if (chosen.size() != problem.inputs) throw Error("a choice names one token of every input");
    for (const std::size_t t : chosen)
      if (t >= problem.tokens) throw Error(fmt::format("token {} does not exist", t));
    answer["chosen"] = margin_json(svm.solve(chosen));
  }
  return answer;
}

Json basins(const Json& request) {
  const Problem problem = problem_of(request);
  const training::Objective objective(problem, training::Loss::logistic, training::Train::p);
  const auto side = request.at("side").get<std::size_t>();
  const auto radius = request.at("radius").get<double>();
  if (side < 2 || side > kMostSide)
    throw Error(fmt::format("side = {} is not allowed; allowed: 2 to {}", side, kMostSide));
  if (!(radius > 0 && radius <= 1000))
    throw Error(fmt::format("radius = {} is not allowed; allowed: above 0 to 1000", radius));
  const training::Basins found =
      find_basins(objective, training::AttSvm(objective), {.side = side, .radius = radius});
  Json limits = Json::array(), cells = Json::array();
  for (const training::MaxMargin& m : found.limits) limits.push_back(margin_json(m));
  for (const training::BasinStart& s : found.starts) {
    Json row = Json::array();
    row.push_back(number(s.start[0])), row.push_back(number(s.start[1]));
    row.push_back(s.limit == SIZE_MAX ? Json(-1) : Json(s.limit));
    cells.push_back(std::move(row));
  }
  return {{"side", found.side},
          {"radius", radius},
          {"limits", std::move(limits)},
          {"cells", std::move(cells)}};
}

Json example_problem(const Json& request) {
  training::ExampleOptions options;
  options.name = request.at("name").get<std::string>();
  if (request.contains("seed")) options.seed = request.at("seed").get<std::uint64_t>();
  const Problem p = training::example(options);
  if (p.dim != 3 || p.inputs > kMostInputs || p.tokens > kMostKeys)
    throw Error(fmt::format("example '{}' has no keys in a plane", options.name));
  const std::vector<double> scores = training::scores(p), keys = training::keys(p);
  Json inputs = Json::array();
  for (std::size_t i = 0; i < p.inputs; ++i) {
    Json tokens = Json::array();
    for (std::size_t t = 0; t < p.tokens; ++t) {
      const std::size_t at = (i * p.tokens + t) * p.dim;
      tokens.push_back({{"x", keys[at]}, {"y", keys[at + 1]}, {"score", scores[i * p.tokens + t]}});
    }
    inputs.push_back({{"label", p.labels[i]}, {"tokens", std::move(tokens)}});
  }
  return {{"inputs", std::move(inputs)}};
}

}  // namespace attractor::web
