#include "attractor/experiment/commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attractor/base/error.hpp"
#include "attractor/experiment/context_experiment.hpp"
#include "attractor/experiment/equiangular_experiment.hpp"
#include "attractor/experiment/example_parameters.hpp"
#include "attractor/experiment/flow_experiment.hpp"
#include "attractor/experiment/flow_result.hpp"
#include "attractor/experiment/forecast_experiment.hpp"
#include "attractor/experiment/meanfield_experiment.hpp"
#include "attractor/experiment/pair_experiment.hpp"
#include "attractor/experiment/phase_experiment.hpp"
#include "attractor/experiment/regular_experiment.hpp"
#include "attractor/experiment/select_experiment.hpp"
#include "attractor/experiment/select_result.hpp"
#include "attractor/experiment/stability_experiment.hpp"
#include "attractor/experiment/stationary_experiment.hpp"

namespace attractor::experiment {
namespace {

void set_all(const Settings& settings, const ParameterList& parameters) {
  for (const auto& [name, text] : settings) find(parameters, name).set(text);
}

ParameterKind kind_of(const ParameterList& parameters, const std::string& name) {
  for (const Parameter& p : parameters)
    if (p.name == name)
      return std::holds_alternative<std::uint64_t*>(p.target) ? ParameterKind::whole
                                                              : ParameterKind::other;
  return ParameterKind::unknown;
}

// ---- Which parameters are files: none, unless it is said here.

template <class Parameters>
std::vector<std::string> files_of(const Parameters&) {
  return {};
}
std::vector<std::string> files_of(const FlowParameters& p) { return input_files(p); }
std::vector<std::string> files_of(const SelectParameters& p) { return problem_files(p.data); }
std::vector<std::string> files_of(const MeanfieldParameters& p) {
  return p.tokens_file.empty() ? std::vector<std::string>{} : std::vector{p.tokens_file};
}

/// For commands that know nothing of a directory they were started in.
template <class Parameters>
void take_files_from(Parameters&, const std::string&) {}
void take_files_from(MeanfieldParameters& p, const std::string& directory) {
  if (!directory.empty() && !p.tokens_file.empty() && p.tokens_file.front() != '/')
    p.tokens_file = directory + "/" + p.tokens_file;
}

template <class Parameters>
auto files_named_by(ParameterList (*all)(Parameters&)) {
  return [all](const Settings& settings) {
    Parameters p;
    set_all(settings, all(p));
    return files_of(p);
  };
}

template <class Parameters>
Command question(const std::string& name) {
  return {.name = name,
          .check =
              [](const Settings& settings) {
                Parameters p;
                set_all(settings, list(p));
              },
          .kind =
              [](const std::string& parameter) {
                Parameters p;
                return kind_of(list(p), parameter);
              },
          .files = files_named_by<Parameters>(list),
          .run =
              [name](const Settings& settings, const std::string& files_from,
                     const AskContext& context) {
                Parameters now, usual;
                set_all(settings, list(now));
                take_files_from(now, files_from);
                const Answer answer = ask(now, context);
                if (context.stopped()) return Outcome{.summary = {}, .interrupted = true};
                const Question asked{"attractor " + name, list(now), list(usual)};
                return Outcome{summary(answer, asked, 0), answer.not_delivered};
              }};
}

/// The observations over time, which --json leaves to result.h5.
Json series_of(const FlowRecord& record) {
  Json series;
  for (const observe::Column& column : observe::columns()) {
    Json& list = series[std::string(column.name)] = Json::array();
    for (const observe::Observation& o : record.series) list.push_back(number(o.*column.value));
  }
  return series;
}

Outcome flow_outcome(const Settings& settings, const std::string& files_from,
                     const AskContext& context) {
  FlowParameters p;
  set_all(settings, list(p));
  std::vector<std::string> given;
  for (const auto& [name, text] : settings) given.push_back(name);
  check_use(p, given);
  validate(p, files_from);
  RunContext run{.files_from = files_from, .stop = context.stop};
  const FlowRecord record = run_flow(p, run);
  if (record.status == flow::Status::interrupted) return {.summary = {}, .interrupted = true};
  Outcome outcome{summary(record, 0)};
  outcome.summary["series"] = series_of(record);
  if (!flow::delivered(record.status))
    outcome.failure = fmt::format("{}: {}", flow::name(record.status), flow::remedy(record.status));
  else if (record.layer_status != LayerStatus::complete)
    outcome.failure = "an attention map did not converge or left the range of numbers; lower beta";
  return outcome;
}

Outcome select_outcome(const Settings& settings, const std::string& files_from,
                       const AskContext& context) {
  SelectParameters p;
  set_all(settings, stored_list(p));
  const SelectRecord record =
      run_select(p, {.files_from = files_from, .stop = context.stop, .report = context.report});
  if (record.status == flow::Status::interrupted) return {.summary = {}, .interrupted = true};
  Outcome outcome{summary(record, 0)};
  if (record.trained && !flow::delivered(record.status))
    outcome.failure = fmt::format("{}: {}", flow::name(record.status), flow::remedy(record.status));
  return outcome;
}

template <class Parameters>
Command runner(const std::string& name, ParameterList (*all)(Parameters&), auto run) {
  return {.name = name,
          .check =
              [all](const Settings& settings) {
                Parameters p;
                set_all(settings, all(p));
              },
          .kind =
              [all](const std::string& parameter) {
                Parameters p;
                return kind_of(all(p), parameter);
              },
          .files = files_named_by<Parameters>(all),
          .run = run};
}

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      runner<FlowParameters>("flow", list, flow_outcome),
      runner<SelectParameters>("select", stored_list, select_outcome),
      question<PhaseParameters>("phase"),
      question<EquiangularParameters>("reduce equiangular"),
      question<PairParameters>("reduce pair"),
      question<RegularParameters>("reduce clusters"),
      question<StabilityParameters>("stability"),
      question<ContextParameters>("context"),
      question<ForecastParameters>("forecast"),
      question<MeanfieldParameters>("meanfield"),
      question<StationaryParameters>("stationary"),
  };
  return commands;
}

}  // namespace

const Command& command_named(const std::string& name) {
  const std::vector<Command>& all = all_commands();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.name == name; });
  if (at != all.end()) return *at;
  std::vector<std::string> names;
  for (const Command& c : all) names.push_back(c.name);
  throw Error(
      fmt::format("command '{}' cannot be swept; allowed: {}", name, fmt::join(names, ", ")));
}

}  // namespace attractor::experiment
