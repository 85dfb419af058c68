// What comes from Python: numbers, words, None for "auto", arrays and problems where the command
// line names files. What is refused is refused with the sentence of the command line.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/files/load_inputs.hpp"
#include "attractor/files/problem_file.hpp"
#include "attractor/lab/number_list.hpp"
#include "attractor/tokens/given_arrays.hpp"
#include "python/bindings/bindings.hpp"

namespace attractor::python {
namespace {

std::string type_name(py::handle value) {
  return shown(py::type::handle_of(value).attr("__name__"));
}

py::array as_array(py::handle value, const std::string& name) {
  // An array of NumPy itself, no subclass: nothing to ask.
  if (Py_TYPE(value.ptr()) == py::detail::npy_api::get().PyArray_Type_)
    return py::reinterpret_borrow<py::array>(value);
  const bool wordy = py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value) ||
                     py::isinstance<py::dict>(value) || py::isinstance<py::set>(value) ||
                     value.is_none();
  if (wordy)
    throw Error(fmt::format("{} must be an array of real numbers, not {}", name, type_name(value)));
  try {
    const py::module_ numpy = py::module_::import("numpy");
    if (py::isinstance(value, numpy.attr("ma").attr("MaskedArray"))) {
      if (!numpy.attr("ma").attr("is_masked")(value).cast<bool>()) return value.attr("data");
      throw Error(fmt::format("{} has masked entries; fill them or leave them out", name));
    }
    const bool foreign = py::hasattr(value, "__dlpack__") && !py::hasattr(value, "__array__");
    return numpy.attr(foreign ? "from_dlpack" : "asarray")(value);
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;  // Ctrl-C
    throw Error(fmt::format("{} cannot be taken as an array: {}", name, shown(error.value())));
  }
}

void require_real(const py::array& array, const std::string& name) {
  const std::vector<py::ssize_t> shape(array.shape(), array.shape() + array.ndim());
  if (std::string_view("fiub").find(array.dtype().kind()) == std::string_view::npos)
    throw Error(fmt::format("{} holds {}; allowed: real numbers", name, shown(array.dtype())));
  if (array.size() == 0)
    throw Error(fmt::format("{} is empty: its shape is ({})", name, fmt::join(shape, ", ")));
  // A view may pretend to have far more numbers than there is memory for a copy of them.
  static const double present =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (8.0 * static_cast<double>(array.size()) > present / 2)
    throw Error(fmt::format("{} has the shape ({}): {:.3g} numbers do not fit into memory", name,
                            fmt::join(shape, ", "), static_cast<double>(array.size())));
}

[[noreturn]] void refuse(py::handle value, const std::string& name, const std::string& allowed) {
  throw Error(fmt::format("{} = '{}' is not allowed; allowed: {}", name, shown(value), allowed));
}

}  // namespace

Numbers::Numbers(py::handle value, const std::string& name) : name_(name) {
  const py::array array = as_array(value, name);
  require_real(array, name);
  single_ = array.dtype().kind() == 'f' && array.dtype().itemsize() == 4;
  array_ = py::array_t<double, py::array::c_style | py::array::forcecast>::ensure(array);
  if (!array_) throw Error(fmt::format("{} cannot be read as doubles", name));
  const std::span<const double> numbers = span();
  if (!std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }))
    require_finite(copy(), name);
}

const Numbers& Numbers::with(int dimensions, const char* axes) const {
  if (array_.ndim() == dimensions) return *this;
  throw Error(
      fmt::format("{} has the shape ({}); allowed is {}", name_, fmt::join(shape(), ", "), axes));
}

bool is_array_like(py::handle value) {
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) return true;
  if (!py::hasattr(value, "shape")) return py::hasattr(value, "__dlpack__");
  return py::hasattr(value.attr("shape"), "__len__") && py::len(value.attr("shape")) > 0;
}

std::string text(py::handle value, const std::string& name) {
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(value.ptr(), &size))
    return {bytes, static_cast<std::size_t>(size)};
  PyErr_Clear();
  throw Error(fmt::format("{} is no text that UTF-8 can hold", name));
}

std::string shown(py::handle value) {
  std::string words;
  try {
    words = std::string(py::str(value).attr("encode")("utf-8", "replace").cast<py::bytes>());
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    words = type_name(value);
  }
  for (char& c : words)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return words.size() <= 200 ? words : type_name(value) + "...";
}

std::optional<std::string> number_text(py::handle value) {
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True ? "true" : "false";
  if (PyFloat_Check(value.ptr())) return lab::spelled(PyFloat_AsDouble(value.ptr()));
  if (is_array_like(value)) return std::nullopt;
  std::string kind;  // of a number of NumPy
  if (py::hasattr(value, "dtype"))
    kind = shown(py::getattr(value.attr("dtype"), "kind", py::str()));
  if (kind == "b") return PyObject_IsTrue(value.ptr()) == 1 ? "true" : "false";
  if (!kind.empty() && kind != "f" && kind != "i" && kind != "u") return std::nullopt;
  if (PyIndex_Check(value.ptr())) {
    const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (index) return text(py::str(index), "a number");
  } else if (py::hasattr(value, "__float__")) {
    const double x = PyFloat_AsDouble(value.ptr());
    if (!PyErr_Occurred()) return lab::spelled(x);
  }
  PyErr_Clear();
  return std::nullopt;
}

double number(py::handle value, const std::string& name, double low, double high) {
  double x = NAN;
  if (PyFloat_Check(value.ptr()))
    x = PyFloat_AsDouble(value.ptr());
  else if (const std::optional<std::string> words = number_text(value))
    if (!lab::parse_real(*words, x)) x = NAN;
  if (!(x >= low && x <= high))
    refuse(value, name, fmt::format("{} to {}", lab::spelled(low), lab::spelled(high)));
  return x;
}

std::size_t whole(py::handle value, const std::string& name, double low, double high) {
  const double x = number(value, name, low, high);
  if (x != std::floor(x)) refuse(value, name, "whole numbers");
  return static_cast<std::size_t>(x);
}

std::size_t place_of_word(py::handle value, const std::string& name,
                          std::span<const std::string_view> allowed) {
  if (py::isinstance<py::str>(value))
    if (const auto place = place_of(text(value, name), allowed)) return *place;
  refuse(value, name, fmt::format("{}", fmt::join(allowed, ", ")));
}

// ---- Parameters.

namespace {

using lab::Parameter;
using lab::ParameterList;

/// Text that Parameter::set() reads: numbers in full, words and paths as they are.
std::optional<std::string> text_of(py::handle value, const std::string& name) {
  if (py::isinstance<py::str>(value)) return text(value, name);
  if (py::hasattr(value, "__fspath__"))
    return text(py::module_::import("os").attr("fsdecode")(value), name);
  return number_text(value);
}

/// Sets a parameter of any type to a value that is no text.
struct Setter {
  const Parameter& p;
  py::handle value;

  [[noreturn]] void refuse() const {
    throw Error(
        fmt::format("{} = '{}' is not allowed; allowed: {}", p.name, shown(value), p.allowed()));
  }
  template <class Take>
  void each_array(const Take& take) const {
    if (!py::isinstance<py::dict>(value)) refuse();
    for (const auto& [key, array] : py::reinterpret_borrow<py::dict>(value))
      if (!array.is_none()) take(shown(key), array);
  }

  void operator()(lab::Numbers* x) const {
    *x = lab::Numbers(Numbers(value, p.name).with(1, "a list of numbers").copy().data);
  }
  void operator()(lab::Rows* x) const {
    if (!is_array_like(value)) refuse();
    lab::Rows rows;
    for (const py::handle row : value)
      rows.values.push_back(Numbers(row, p.name).with(1, "rows of numbers").copy().data);
    *x = std::move(rows);
  }
  void operator()(lab::ArrayInput* x) const { *x = lab::ArrayInput(Numbers(value, p.name).copy()); }
  void operator()(lab::WeightInput* x) const {
    *x = lab::WeightInput(Numbers(value, p.name).copy());
  }
  void operator()(lab::ProblemInput* x) const {
    training::ProblemArrays all;
    each_array([&](const std::string& name, py::handle array) {
      if (name == "head/activation")
        all.activation = shown(array);
      else
        all.arrays[name] = Numbers(array, p.name + ": " + name).copy();
    });
    *x = {};
    x->problem = std::make_shared<const training::Problem>(training::problem_of(all, p.name));
  }
  void operator()(
      lab::RunInput* x) const {  // arrays by their paths; log10 of the time 0 is not finite
    *x = {};
    each_array([&](const std::string& path, py::handle array) {
      const auto doubles = Doubles::ensure(array);
      if (!doubles) PyErr_Clear(), refuse();
      x->arrays[path] = {{doubles.shape(), doubles.shape() + doubles.ndim()},
                         {doubles.data(), doubles.data() + doubles.size()}};
    });
    x->name = "the run";
  }
  void operator()(lab::TextInput* x) const {  // a text is the name of a file; a list, its lines
    if (!py::isinstance<py::list>(value) && !py::isinstance<py::tuple>(value)) refuse();
    std::string lines;
    for (const py::handle line : value) {
      if (!py::isinstance<py::str>(line)) refuse();
      lines += text(line, p.name) + '\n';
    }
    *x = lab::TextInput(std::move(lines));
  }
  template <class T>
  void operator()(const T&) const {
    refuse();
  }
};

bool takes_none(const Parameter& p) {
  const auto* slot = std::get_if<lab::EnumSlot>(&p.target);
  return std::holds_alternative<std::optional<double>*>(p.target) ||
         std::holds_alternative<std::optional<std::uint64_t>*>(p.target) ||
         (slot != nullptr && slot->optional);
}

/// The names of the parameters that were set: none, itself, or others that are meant.
std::vector<std::string> set_one(const ParameterList& list, const Parameter& p, py::handle value) {
  if (value.is_none()) {
    if (!takes_none(p)) return {};
    p.set(p.none);
    return {p.name};
  }
  const std::optional<std::string> words = text_of(value, p.name);
  if (!words && p.array && is_array_like(value)) {
    const Parameter& meant = find(list, p.array->parameter);
    std::visit(Setter{meant, value}, meant.target);
    find(list, p.array->with).set(p.array->value);
    return {p.array->parameter, p.array->with};
  }
  const bool number = words && !py::isinstance<py::str>(value) && !py::hasattr(value, "__fspath__");
  if (!words || (number && std::holds_alternative<std::string*>(p.target)))
    std::visit(Setter{p, value}, p.target);
  else
    p.set(*words);
  return {p.name};
}

}  // namespace

std::vector<std::string> set_all(const ParameterList& list, const py::dict& settings) {
  std::vector<std::string> given;
  for (const auto& [key, value] : settings)
    for (const std::string& name : set_one(list, find(list, text(key, "a name")), value))
      if (std::find(given.begin(), given.end(), name) == given.end()) given.push_back(name);
  load_inputs(list, "");
  return given;
}

}  // namespace attractor::python
