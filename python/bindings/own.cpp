// Science of the user's own: a drift and observables as callables, and flows stepped by hand. A
// callable gets arrays of its own, whatever it does with them; what it raises ends the run and is
// raised from it.
#include <pybind11/stl.h>

#include <fmt/format.h>

#include <algorithm>

#include "attractor/base/error.hpp"
#include "attractor/commands/own_flow.hpp"
#include "attractor/lab/flow/simulation.hpp"
#include "attractor/lab/parameter_facts.hpp"
#include "python/bindings/bindings.hpp"

namespace attractor::python {
namespace {

/// May be copied and let go by threads that do not hold the lock of the interpreter.
using Callable = std::shared_ptr<const py::object>;

Callable kept(py::handle object) {
  return {new py::object(py::reinterpret_borrow<py::object>(object)), [](const py::object* held) {
            const py::gil_scoped_acquire locked;
            delete held;
          }};
}

py::array rows(std::span<const double> values, std::size_t dim) {
  return to_numpy(std::vector<double>(values.begin(), values.end()), {values.size() / dim, dim});
}

/// It wants more than the first argument.
bool takes_two(py::handle callable) {
  return py::module_::import("attractor.own").attr("takes_two")(callable).cast<bool>();
}

double measured(py::handle callable, const std::string& name, bool with_masses,
                const observe::TokenView& view) {
  const py::object value =
      with_masses ? callable(rows(view.tokens, view.dim), rows(view.masses, 1).attr("ravel")())
                  : callable(rows(view.originals(), view.dim));
  const double x = PyFloat_AsDouble(value.ptr());
  if (!PyErr_Occurred()) return x;
  PyErr_Clear();
  throw Error(
      fmt::format("observable {} returned {}; it must return a number", name, shown(value)));
}

/// What a drift returned, into the place of the loop.
void take_drift(py::handle value, std::size_t dim, std::span<double> out) {
  const auto array = Doubles::ensure(value);
  if (!array) PyErr_Clear();
  if (!array || array.ndim() != 2 || array.shape(1) != static_cast<py::ssize_t>(dim) ||
      array.size() != static_cast<py::ssize_t>(out.size()))
    throw Error(fmt::format("the drift returned {} of shape {}; it must return numbers of ({}, {})",
                            shown(py::type::handle_of(value).attr("__name__")),
                            shown(py::getattr(value, "shape", py::str("none"))), out.size() / dim,
                            dim));
  std::copy_n(array.data(), out.size(), out.begin());
}

Outcome run_flow(const py::object& drift, py::handle points, const py::dict& settings,
                 const py::dict& observe, py::object progress) {
  const Numbers start(points, "points");
  const std::size_t dim = start.with(2, "(n, d)").size(1);
  lab::OwnFlowSetup setup;
  set_all(lab::list(setup), settings);
  Watch watch(std::move(progress));
  lab::OwnFlow own{.autonomous = !takes_two(drift),
                   .points = start.copy().data,
                   .dim = dim,
                   .observables = observables_of(observe, watch)};
  own.drift = [&, timed = !own.autonomous](double time, std::span<const double> x,
                                           std::span<double> out) {
    std::fill(out.begin(), out.end(), kNan);
    watch.ask(
        [&] { take_drift(timed ? drift(rows(x, dim), time) : drift(rows(x, dim)), dim, out); });
  };
  Outcome outcome = run_watched(watch, [&](const lab::Context& context) {
    return lab::run_own_flow(std::move(own), setup, context);
  });
  outcome.name = outcome.call.program = "attractor.Flow";
  return outcome;
}

/// One thread at a time.
class Stepped {
 public:
  explicit Stepped(const py::dict& settings) {
    lab::FlowSetup setup;
    const lab::ParameterList list = lab::list(setup);
    const std::vector<std::string> given = set_all(list, settings);
    lab::check_use(lab::list(setup), given);
    without_lock([&] { simulation_.emplace(setup); });
  }

  /// Throws Error if another thread steps it just now.
  template <class Use>
  auto with(const Use& use) {
    const std::unique_lock one(mutex_, std::try_to_lock);
    if (!one) throw Error("another thread is stepping this simulation");
    return use(*simulation_);
  }
  /// Ctrl-C ends it between two steps and is raised; the simulation stands where it came to.
  template <class Move>
  std::string moved(const Move& move) {
    Watch watch;
    const auto status = with([&](lab::Simulation& s) {
      return without_lock([&] { return move(s, std::function([&] { return watch.stop(); })); });
    });
    watch.raise_failure(true);
    return std::string(flow::name(status));
  }

 private:
  std::optional<lab::Simulation> simulation_{};
  std::mutex mutex_{};
};

py::dict state_of(lab::Simulation& s) {
  py::dict d;
  d["tokens"] = rows(s.tokens(), s.dim());
  d["coalesced"] = to_integers(s.owner());
  d["distinct"] = s.distinct();
  d["steps"] = s.steps();
  d["time"] = s.time().value();
  d["log_time"] = s.time().log();
  d["engine"] = std::string(s.engine());
  return d;
}

}  // namespace

std::vector<observe::Observable> observables_of(const py::dict& given, Watch& watch) {
  std::vector<observe::Observable> all;
  for (const auto& [key, value] : given) {
    const std::string name = shown(key);
    if (!PyCallable_Check(value.ptr()) || name.empty() || name.find_first_of("/. ") != name.npos)
      throw Error(
          fmt::format("observe: '{}' = '{}' is not allowed; allowed: a name without / . and "
                      "spaces, and a callable",
                      name, shown(value)));
    const py::object words = py::getattr(value, "__doc__", py::none());
    all.push_back(
        {name, words.is_none() ? "" : shown(words.attr("strip")().attr("split")("\n")[py::int_(0)]),
         [&watch, callable = kept(value), name,
          two = takes_two(value)](const observe::TokenView& v) {
           double x = kNan;
           watch.ask([&] { x = measured(*callable, name, two, v); });
           return x;
         }});
  }
  return all;
}

void define_own(py::module_& m) {
  m.def("run_flow", run_flow);
  m.def("flow_parameters", [] {
    lab::OwnFlowSetup setup;
    return lab::described(lab::list(setup)).dump();
  });
  using lab::Simulation;
  py::class_<Stepped>(m, "Stepped")
      .def(py::init<const py::dict&>())
      .def("state", [](Stepped& s) { return s.with(state_of); })
      .def("step",
           [](Stepped& s, py::handle count) {
             const std::size_t steps = whole(count, "count", 0, 1e18);
             return s.moved([&](Simulation& x, const auto& stop) { return x.step(steps, stop); });
           })
      .def(
          "run_until",
          [](Stepped& s, py::handle time) {
            const double end = number(time, "time", 0, kInfinity);
            return s.moved([&](Simulation& x, const auto& stop) { return x.run_until(end, stop); });
          })
      .def("bytes", [](Stepped& s) { return py::bytes(s.with(std::mem_fn(&Simulation::bytes))); })
      .def("restore", [](Stepped& s, const std::string& bytes) {
        s.with([&](Simulation& x) { x.restore(bytes); });
      });
}

}  // namespace attractor::python
