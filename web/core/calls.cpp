#include "web/core/calls.hpp"

#include <fmt/format.h>

#include <exception>
#include <limits>
#include <new>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/bridge/bridge_numbers.hpp"
#include "attractor/commands/bridge/bridge_page.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/drawing/scene_json.hpp"
#include "attractor/lab/select/bridge_experiment.hpp"
#include "attractor/long_context/long_context.hpp"
#include "web/core/settings.hpp"
#include "web/core/theory.hpp"
#include "web/core/training_room.hpp"

namespace attractor::lab {

// Each is defined beside its parameters (commands/).
Command phase_command();
Command context_command();
Command pair_command();
Command equiangular_command();
Command stability_command();

}  // namespace attractor::lab

namespace attractor::web {
namespace {

using lab::Json;

/// What the rooms ask, and not the whole registry: a page loads what is named here.
const lab::Command& command_named(const std::string& name) {
  static const std::vector<lab::Command> all = {lab::phase_command(), lab::context_command(),
                                                lab::pair_command(), lab::equiangular_command(),
                                                lab::stability_command()};
  for (const lab::Command& c : all)
    if (c.name == name) return c;
  throw Error(fmt::format("command '{}' is not in the lab", name));
}

std::vector<double> numbers_of(const Json& list) {
  std::vector<double> values;
  for (const Json& item : list) values.push_back(item.get<double>());
  return values;
}

Json ask(const Json& request) {
  const lab::Command& command = command_named(request.at("command").get<std::string>());
  const lab::Settings settings = settings_of(request.at("settings"));
  const std::unique_ptr<lab::Request> now = lab::request_of(command, settings),
                                      usual = command.make();
  std::vector<std::string> given;
  for (const auto& [name, text] : settings) given.push_back(name);
  lab::prepare(*now, given);
  const lab::Result result = now->run({});
  const lab::Call call = lab::call_of(command, *now, *usual);
  Json tables = Json::object();
  for (const lab::Table& table : result.tables) {
    Json rows = Json::array();
    for (const std::vector<double>& row : table.rows) {
      Json cells = Json::array();
      for (const double x : row) cells.push_back(lab::number(x));
      rows.push_back(std::move(cells));
    }
    tables[table.name] = {
        {"columns", table.columns}, {"labels", table.labels}, {"rows", std::move(rows)}};
  }
  return {{"headline", result.headline}, {"values", result.values},
          {"tables", std::move(tables)}, {"remarks", result.remarks},
          {"command", call.command()},   {"not_delivered", result.not_delivered}};
}

/// One layer over its exponent gamma: weight of a token on itself and cosine of two outputs.
Json context_sweep(const Json& request) {
  meanfield::ContextLayer layer{.tokens = request.at("tokens").get<double>(),
                                .rho = request.at("rho").get<double>(),
                                .residual = request.at("residual").get<double>()};
  const auto low = request.at("low").get<double>(), high = request.at("high").get<double>();
  const auto count = request.at("count").get<std::size_t>();
  if (count < 2 || count > 2000)
    throw Error(fmt::format("count = {} is not allowed; allowed: 2 to 2000", count));
  Json rows = Json::array();
  for (std::size_t k = 0; k < count; ++k) {
    layer.exponent = low + (high - low) * static_cast<double>(k) / static_cast<double>(count - 1);
    const meanfield::ContextState s = context_state(layer);
    rows.push_back({{"gamma", layer.exponent},
                    {"weight", lab::number(s.self_weight)},
                    {"cosine", lab::number(s.output_cosine)}});
  }
  return rows;
}

Json bridge(const Json& request) {
  lab::BridgeSetup setup;
  apply_settings(list(setup), settings_of(request.at("settings")));
  const lab::BridgeRecord record = run_bridge(setup, {});
  Json answer{{"values", bridge_values(record)}, {"command", command(setup)}};
  Json moments = Json::array();
  for (const lab::BridgeMoment& m : record.moments)
    moments.push_back({{"log_time", lab::number(m.log_time)},
                       {"norm", m.norm},
                       {"softmax_min", lab::number(m.softmax_min)},
                       {"bound", lab::number(m.bound)}});
  Json checkpoints = Json::array();
  for (const lab::BridgeCheckpoint& c : record.checkpoints)
    checkpoints.push_back({{"log_time", lab::number(c.training.log_time)},
                           {"beta", c.training.norm},
                           {"clusters", lab::number(c.end.clusters)},
                           {"mean_cosine", lab::number(c.end.mean_cosine)},
                           {"softmax_min", lab::number(c.training.softmax_min)}});
  answer["moments"] = std::move(moments);
  answer["checkpoints"] = std::move(checkpoints);
  answer["tokens"] = record.start.count();
  answer["dim"] = record.start.dim;
  if (!record.checkpoints.empty())
    answer["scene"] = Json::parse(report::scene_json(bridge_scene(record)));
  return answer;
}

}  // namespace

LiveFlow& Core::live() {
  if (!flow_) throw Error("no flow has been made yet");
  return *flow_;
}

void Core::keep() {
  positions_ = flow_->positions();
  clusters_ = flow_->clusters();
}

Json Core::flow_call(std::string_view name, const Json& request) {
  if (name == "flow.make") {
    flow_ = std::make_unique<LiveFlow>(settings_of(request.at("settings")));
  } else if (name == "flow.advance") {
    Advance wanted;
    wanted.until = request.contains("until") && request.at("until").is_number()
                       ? request.at("until").get<double>()
                       : kInfinity;
    if (request.contains("steps")) wanted.steps = request.at("steps").get<std::uint64_t>();
    if (request.contains("milliseconds"))
      wanted.milliseconds = request.at("milliseconds").get<double>();
    Json moment = live().advance(wanted);
    keep();
    return moment;
  } else if (name == "flow.observe") {
    Json answer{{"observation", live().observation(!request.contains("quick"))},
                {"next_merge", next_merge(live())}};
    if (request.contains("tree")) answer["tree"] = live().tree();
    return answer;
  } else if (name == "flow.start") {
    const lab::ArrayInput& given = live().setup().tokens_file;
    return given.given() ? Json(given.get().data) : Json::array();
  } else if (name == "flow.axes") {
    return live().axes();
  } else if (name == "flow.theory") {
    return theory(live());
  } else if (name == "flow.change") {
    live().change(settings_of(request.at("settings")));
  } else if (name == "flow.move") {
    live().move(request.at("token").get<std::size_t>(), numbers_of(request.at("position")));
  } else if (name == "flow.nudge") {
    live().nudge();
  } else if (name == "flow.add") {
    live().add(numbers_of(request.at("rows")));
  } else if (name != "flow.facts") {
    throw Error(fmt::format("call '{}' does not exist", name));
  }
  keep();
  return live().facts();
}

Json Core::answer(const Json& request) {
  const auto name = request.at("call").get<std::string>();
  if (name.starts_with("flow.")) return flow_call(name, request);
  if (name == "train") return train(request);
  if (name == "margins") return margins(request);
  if (name == "basins") return basins(request);
  if (name == "example") return example_problem(request);
  if (name == "ask") return ask(request);
  if (name == "context.sweep") return context_sweep(request);
  if (name == "bridge") return bridge(request);
  throw Error(fmt::format("call '{}' does not exist", name));
}

std::string Core::call(std::string_view request) {
  const auto refused = [](const std::string& why) {
    return Json{{"ok", false}, {"error", why}}.dump_replacing();
  };
  try {
    return Json{{"ok", true}, {"value", answer(Json::parse(request))}}.dump_replacing();
  } catch (const std::bad_alloc&) {
    return refused("there is not enough memory for this");
  } catch (const std::exception& error) {
    return refused(error.what());
  }
}

}  // namespace attractor::web
