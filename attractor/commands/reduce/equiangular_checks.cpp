// Options of `attractor reduce equiangular` that would have no effect, each refused with a
// sentence.
#include <fmt/format.h>

#include <cmath>

#include "attractor/attention/normalisation.hpp"
#include "attractor/base/error.hpp"
#include "attractor/commands/reduce/equiangular_experiment.hpp"

namespace attractor::lab {
namespace {

void check_schemes(const EquiangularParameters& p) {
  EquiangularParameters given = p, usual;
  const ParameterList options = list(given), defaults = list(usual);
  for (const Scheme& row : schemes())
    for (const std::string_view name : row.parameters)
      for (std::size_t k = 0; k < options.size(); ++k)
        if (options[k].name == name && p.norm != row.name &&
            options[k].text() != defaults[k].text())
          throw Error(fmt::format("--{} is used by --norm {} only, not by --norm {}", name,
                                  row.name, p.norm));
}

void check_layers(const EquiangularParameters& p) {
  const double depth = static_cast<double>(p.layers) * p.step, switched = p.switch_time / p.step;
  if (p.norm == "mix" && p.switch_time < depth &&
      std::abs(switched - std::round(switched)) > 1e-9 * std::fmax(1, switched))
    throw Error(fmt::format("switch-time = {} is not a whole number of steps of {}", p.switch_time,
                            p.step));
}

}  // namespace

void check(const EquiangularParameters& p) {
  const EquiangularParameters usual;
  const bool timed = p.time != usual.time, logarithm = !p.log10_time.empty();
  check_schemes(p);
  if (p.layers > 0 && (timed || logarithm))
    throw Error(fmt::format("{} has no effect beside layers = {}; give one of them",
                            timed ? "time" : "log10-time", p.layers));
  if (timed && logarithm)
    throw Error(fmt::format("time = {} and log10-time = {} say the same; give one of them", p.time,
                            p.log10_time));
  if (p.layers == 0 && p.step != usual.step)
    throw Error(fmt::format("--step is used by --layers only; step = {} needs --layers", p.step));
  if (p.layers > 0) check_layers(p);
}

}  // namespace attractor::lab
