// Options of `attractor reduce equiangular` that would have no effect, each refused with a
// sentence.
#include <fmt/format.h>

#include <cmath>

#include "attractor/attention/normalisation.hpp"
#include "attractor/base/error.hpp"
#include "attractor/commands/reduce/equiangular_experiment.hpp"

namespace attractor::lab {
namespace {

void check_layers(const EquiangularSetup& p) {
  const double depth = static_cast<double>(p.layers) * p.step, switched = p.switch_time / p.step;
  if (p.norm == Normalisation::mix && p.switch_time < depth &&
      std::abs(switched - std::round(switched)) > 1e-9 * std::fmax(1, switched))
    throw Error(fmt::format("switch-time = {} is not a whole number of steps of {}", p.switch_time,
                            p.step));
}

}  // namespace

void check(const EquiangularSetup& p) {
  const EquiangularSetup usual;
  const bool timed = p.time != usual.time, logarithm = p.log10_time.has_value();
  check_setup(p);
  if (p.layers > 0 && (timed || logarithm))
    throw Error(fmt::format("{} has no effect beside layers = {}; give one of them",
                            timed ? "time" : "log10-time", p.layers));
  if (timed && logarithm)
    throw Error(fmt::format("time = {} and log10-time = {} say the same; give one of them", p.time,
                            *p.log10_time));
  if (p.layers > 0) check_layers(p);
}

}  // namespace attractor::lab
