// The registry for Python: what commands there are, and one call that runs any of them; beside it
// what is no command of the registry (sweeps, papers, problems).
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <fmt/format.h>

#include "attractor/base/error.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/files/output_files.hpp"
#include "attractor/files/problem_file.hpp"
#include "attractor/lab/parameter_facts.hpp"
#include "attractor/lab/select/example_parameters.hpp"
#include "attractor/study/sweep_directory.hpp"
#include "papers/catalogue.hpp"
#include "papers/reproduce.hpp"
#include "python/bindings/bindings.hpp"

namespace attractor::python {
namespace {

namespace fs = std::filesystem;

Outcome run_command(const std::string& name, const py::dict& settings, const py::dict& observe,
                    py::object progress) {
  const lab::Command& command = lab::command_named(name);
  const std::shared_ptr<lab::Request> request = command.make(), usual = command.make();
  const lab::ParameterList parameters = request->parameters();
  const std::vector<std::string> given = set_all(parameters, settings);
  lab::require_outputs(parameters, "");
  Watch watch(std::move(progress));
  for (observe::Observable& own : observables_of(observe, watch)) request->observe(std::move(own));
  Outcome outcome = run_watched(watch, [&](const lab::Context& context) {
    lab::prepare(*request, given);
    return request->run(context);
  });
  if (!outcome.interrupted) lab::write_outputs(outcome.answer, "");
  outcome.name = name;
  outcome.call = lab::call_of(command, *request, *usual);
  outcome.now = request;
  outcome.usual = usual;
  return outcome;
}

/// Of a new study, or the one that the directory holds if the text is empty.
Outcome sweep(const std::string& study, const fs::path& directory, const std::string& shard,
              std::size_t workers, py::object progress) {
  Watch watch(std::move(progress));
  const lab::KeptSweep kept = study.empty() ? lab::resume_sweep(directory)
                                            : lab::begin_sweep(lab::parse_study(study, "the study"),
                                                               "study.toml", directory, shard);
  bool complete = false;
  Outcome outcome = run_watched(watch, [&](const lab::Context& context) {
    complete = lab::run_kept(kept, workers, context.stop, [&](std::size_t done, std::size_t most) {
      context.tell(static_cast<double>(done) / static_cast<double>(most),
                   fmt::format("{} of {} units", done, most));
    });
    return lab::result_of(kept);
  });
  outcome.name = "sweep";
  outcome.call = lab::call_of(kept);
  outcome.interrupted = !complete;
  if (complete && kept.shard.count <= 1)
    lab::write_result(outcome.answer, outcome.call, outcome.seconds, directory);
  return outcome;
}

Outcome merge(const std::vector<std::string>& from, const fs::path& out) {
  if (from.empty()) throw Error("from is empty; name the directories of all shards");
  const lab::KeptSweep whole = lab::merge_shards(from, out);
  Outcome outcome{.answer = lab::result_of(whole), .call = lab::call_of(whole), .name = "sweep"};
  lab::write_result(outcome.answer, outcome.call, outcome.seconds, out);
  return outcome;
}

py::tuple reproduce(const std::string& id, bool quick, py::object progress) {
  const papers::Entry& entry = papers::entry_named(id);
  Watch watch(std::move(progress));
  papers::Reproduced run;
  Outcome outcome = run_watched(watch, [&](const lab::Context& context) {
    run = papers::run_entry(entry, {.quick = quick, .context = context});
    return std::move(run.answer);
  });
  outcome.name = "reproduce";
  outcome.call = run.call;
  return py::make_tuple(std::move(outcome), papers::json(run.verdict).dump());
}

/// Arrays by their names in a problem file, and the activation of the head.
py::tuple problem(const std::string& name, const py::dict& settings) {
  training::ExampleOptions options{.name = name};
  const lab::ParameterList list = lab::list(options);
  set_all(list, settings);
  lab::check_values(list);
  training::ProblemArrays all = training::arrays_of(training::example(options));
  py::dict arrays;
  for (auto& [part, array] : all.arrays)
    arrays[py::str(part)] = to_numpy(std::move(array.data), array.shape);
  return py::make_tuple(arrays, all.activation);
}

}  // namespace

void define_commands(py::module_& m) {
  m.def("commands", [] { return lab::described_commands().dump(); });
  m.def("run", run_command);
  m.def("sweep", sweep);
  m.def("merge", merge);
  m.def("catalogue", [] { return papers::catalogue_json().dump(); });
  m.def("reproduce", reproduce);
  m.def("problem", problem);
  m.def("problems", [] { return lab::described_examples().dump(); });
  m.def("problem_parameters", [] {
    training::ExampleOptions options;
    return lab::described(lab::list(options)).dump();
  });
}

}  // namespace attractor::python
