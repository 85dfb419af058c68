// What the parts of the module attractor._core share: numbers between Python and C++, values of
// Python as parameters, and runs that Python waits for. Nothing is computed here.
//
// What Python hands over is looked at before it is used. An array of real numbers is read where it
// lies if it is contiguous doubles, and copied once if it is not; all else is refused with one
// sentence (attractor::Error, which is ValueError in Python). What C++ hands over becomes the
// memory of an array as it is.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attractor/base/array.hpp"
#include "attractor/base/named.hpp"
#include "attractor/commands/registry.hpp"

namespace attractor::python {

namespace py = pybind11;
using Doubles = py::array_t<double, py::array::c_style>;

// ---- What comes in (inputs.cpp).

/// Real numbers in the order of C; finite, not masked, not empty. name: in sentences.
class Numbers {
 public:
  Numbers(py::handle value, const std::string& name);

  std::span<const double> span() const {
    return {array_.data(), static_cast<std::size_t>(array_.size())};
  }
  std::vector<std::size_t> shape() const {
    return {array_.shape(), array_.shape() + array_.ndim()};
  }
  std::size_t size(int axis) const { return static_cast<std::size_t>(array_.shape(axis)); }
  /// It was given in single precision, and so are answers.
  bool single() const { return single_; }
  /// Throws Error unless it has so many dimensions; `axes` says which, "(n, d)".
  const Numbers& with(int dimensions, const char* axes) const;
  const Doubles& array() const { return array_; }
  Array copy() const { return {shape(), {span().begin(), span().end()}}; }

 private:
  Doubles array_;
  std::string name_;
  bool single_ = false;
};

inline bool is_given(py::handle value) { return !value.is_none(); }
/// A list, or something that has a shape with axes.
bool is_array_like(py::handle value);
/// A number of Python or NumPy in full, a truth value as true or false; nothing for other things.
std::optional<std::string> number_text(py::handle value);
/// UTF-8 of a str.
std::string text(py::handle value, const std::string& name);
/// In messages.
std::string shown(py::handle value);

/// From `low` to `high`; refused as a parameter would be.
double number(py::handle value, const std::string& name, double low, double high);
std::size_t whole(py::handle value, const std::string& name, double low, double high);
std::size_t place_of_word(py::handle value, const std::string& name,
                          std::span<const std::string_view> allowed);
template <NamedEnum E>
E word(py::handle value, const std::string& name) {
  return static_cast<E>(place_of_word(value, name, names(E{})));
}

/// The vector becomes the memory of the array.
template <class T>
py::array to_numpy(std::vector<T> values, const std::vector<std::size_t>& shape) {
  auto* owner = new std::vector<T>(std::move(values));
  const py::capsule free(owner, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return py::array_t<T>(std::vector<py::ssize_t>(shape.begin(), shape.end()), owner->data(), free);
}
template <class T>
py::array to_numpy(std::vector<T> values) {
  const std::size_t size = values.size();
  return to_numpy(std::move(values), {size});
}
/// Labels, counts: as Python's usual integers.
template <class Whole>
py::array to_integers(const Whole& values) {
  return to_numpy(std::vector<std::int64_t>(values.begin(), values.end()));
}

/// Computes while others may use the interpreter.
template <class Compute>
auto without_lock(const Compute& compute) {
  const py::gil_scoped_release unlocked;
  return compute();
}

/// Sets what a dict has, names as in the list, and loads files that are named. Returns the names of
/// what was set. None leaves a parameter to the program, or as it is.
std::vector<std::string> set_all(const lab::ParameterList& list, const py::dict& settings);

// ---- Runs (module.cpp).

/// A run that Python waits for: Ctrl-C is asked for at most twenty times a second, the progress is
/// told as often, and between that the run needs no lock of the interpreter.
class Watch {
 public:
  /// progress: called with (done, note), or None.
  explicit Watch(py::object progress = py::none()) : progress_(std::move(progress)) {}

  /// Whatever Python raised meanwhile ends the run.
  bool stop();
  lab::Context context();
  /// With the lock again: raises what a callback raised, and Ctrl-C where nothing else shows it.
  void raise_failure(bool interrupt_too = false);
  bool interrupted() const { return interrupted_; }
  /// Calls Python with the lock; what it raises ends the run.
  void ask(const std::function<void()>& python);

 private:
  using Clock = std::chrono::steady_clock;
  bool due(Clock::time_point& next);

  py::object progress_;
  std::mutex mutex_;  // workers of a sweep ask too
  std::atomic<bool> stopped_ = false, interrupted_ = false;
  std::exception_ptr failure_;
  Clock::time_point next_signal_ = Clock::now(), next_report_ = next_signal_;
};

/// Of a dict of names and callables, each called with all tokens, or with tokens and masses, while
/// the watch lives (own.cpp).
std::vector<observe::Observable> observables_of(const py::dict& given, Watch& watch);

/// What a run gave, and what it is the result of.
struct Outcome {
  lab::Result answer{};
  lab::Call call{};
  double seconds = 0;
  bool interrupted = false;
  std::string name{};                            // of the command
  std::shared_ptr<lab::Request> now{}, usual{};  // what the lists of the call are bound to
};
/// Runs it without the lock of the interpreter, and takes its time.
Outcome run_watched(Watch& watch, const std::function<lab::Result(const lab::Context&)>& run);

void define_commands(py::module_& module);
void define_blocks(py::module_& module);
void define_own(py::module_& module);

}  // namespace attractor::python
