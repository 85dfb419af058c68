// The module attractor._core, everything Python sees of the library: runs, their outcomes, threads.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/base/version.hpp"
#include "attractor/commands/array_facts.hpp"
#include "attractor/commands/view_json.hpp"
#include "attractor/drawing/figure_file.hpp"
#include "attractor/drawing/save_run.hpp"
#include "attractor/files/result_file.hpp"
#include "attractor/files/run_directory.hpp"
#include "python/bindings/bindings.hpp"

namespace attractor::python {
namespace {

constexpr std::chrono::milliseconds kPause(50);

/// By their paths: an array of NumPy each, or a list of texts.
py::dict by_path(CollectedArrays all) {
  py::dict arrays;
  for (auto& [path, data] : all.arrays)
    arrays[py::str(path)] = std::visit(
        [&, &shape = data.shape](auto& values) -> py::object {
          if constexpr (requires { values.front().size(); })
            return py::cast(values);
          else
            return to_numpy(std::move(values), shape);
        },
        data.values);
  return arrays;
}

py::dict arrays_of(const Outcome& outcome) {
  CollectedArrays all;
  lab::archive(outcome.answer, outcome.call, all);
  for (const lab::Output& o : outcome.answer.outputs)
    all.dataset(o.name, o.array.data, o.array.shape);
  return by_path(std::move(all));
}

py::tuple facts(const std::string& format, const std::string& path, std::size_t rank) {
  const lab::ArrayFacts found = lab::array_facts(format, path, rank);
  return py::make_tuple(py::tuple(py::cast(found.dimensions)), found.unit, found.meaning);
}

std::string svg_of(const Outcome& outcome, std::size_t index) {
  if (!outcome.answer.draw) return "";
  const std::vector<lab::PageFigure> all = outcome.answer.draw();
  return index < all.size() ? without_lock([&] { return report::svg(all[index].figure); }) : "";
}

void translate(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const lab::DirectoryError& error) {
    const std::string sentence = fmt::format("{}; choose another directory", error.what());
    PyErr_SetString(PyExc_ValueError, sentence.c_str());
  } catch (const Error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const lab::JsonError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  }
}

}  // namespace

// ---- Runs.

bool Watch::due(Clock::time_point& next) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const auto now = Clock::now();
  if (!lock || now < next) return false;
  next = now + kPause;
  return true;
}

void Watch::ask(const std::function<void()>& python) {
  const py::gil_scoped_acquire locked;
  try {
    python();
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  } catch (py::error_already_set& error) {
    if (error.matches(PyExc_KeyboardInterrupt))
      interrupted_ = true;
    else
      failure_ = std::current_exception();
    stopped_ = true;
  }
}

bool Watch::stop() {
  if (!stopped_ && due(next_signal_)) ask([] {});
  return stopped_;
}

lab::Context Watch::context() {
  lab::Context context{.stop = [this] { return stop(); }};
  if (progress_.is_none()) return context;
  context.due = [this] { return !stopped_ && due(next_report_); };
  context.report = [this](double done, const std::string& note) {
    ask([&] { progress_(done, note); });
  };
  return context;
}

void Watch::raise_failure(bool interrupt_too) {
  if (failure_) std::rethrow_exception(failure_);
  if (!interrupt_too || !interrupted_) return;
  PyErr_SetNone(PyExc_KeyboardInterrupt);
  throw py::error_already_set();
}

Outcome run_watched(Watch& watch, const std::function<lab::Result(const lab::Context&)>& run) {
  Outcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  outcome.answer = without_lock([&] { return run(watch.context()); });
  watch.raise_failure();
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  outcome.interrupted = watch.interrupted() || !outcome.answer.interrupted.empty();
  return outcome;
}

PYBIND11_MODULE(_core, m) {
  m.doc() = "Attractor's library; the package attractor is what to import.";
  py::register_exception_translator(translate);
  m.attr("version") = kVersion;
  m.def("threads", &threads);
  m.def("set_threads", [](py::handle count) {
    const std::size_t wanted = whole(count, "threads", 0, 4096);
    without_lock([&] { set_threads(wanted); });
  });
  m.def("facts", facts);
  m.def("read_arrays", [](const std::filesystem::path& file) {
    CollectedArrays all = lab::read_result_arrays(file);
    const py::object format = py::cast(all.attributes["/"].at(0).second);
    return py::make_tuple(format, by_path(std::move(all)));
  });
  py::class_<Outcome>(m, "Outcome")
      .def_readonly("seconds", &Outcome::seconds)
      .def_readonly("interrupted", &Outcome::interrupted)
      .def_readonly("name", &Outcome::name)
      .def_property_readonly("format", [](const Outcome& o) { return o.answer.format; })
      .def_property_readonly("where", [](const Outcome& o) { return o.answer.interrupted; })
      .def_property_readonly("not_delivered",
                             [](const Outcome& o) { return o.answer.not_delivered; })
      .def("summary",
           [](const Outcome& o) { return lab::summary(o.answer, o.call, o.seconds).dump(); })
      .def("text", [](const Outcome& o) { return lab::text(o.answer); })
      .def("view", [](const Outcome& o) { return lab::view_json(o.answer).dump(); })
      .def("arrays", arrays_of)
      .def("svg", svg_of)
      .def("save", [](const Outcome& o, const std::filesystem::path& directory, bool figures) {
        lab::save_run(o.answer, o.call, o.name, o.seconds, directory, figures);
      });
  define_commands(m);
  define_blocks(m);
  define_own(m);
}

}  // namespace attractor::python
