// A flow of the caller's own, x_i' = f(x, t)_i for points on the sphere or in R^d, run by the loop
// of all flows (flow/run.hpp) and given back as every command's Result: observables over time,
// where the points were, how the run ended. On the sphere f need not be tangent: it is projected.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attractor/commands/result.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/flow/tableau.hpp"
#include "attractor/lab/flow/flow_setup.hpp"
#include "attractor/observe/observables.hpp"

namespace attractor::lab {

enum class OwnSpace { sphere, euclidean };
std::span<const std::string_view> names(OwnSpace);

struct OwnFlowSetup {
  OwnSpace space = OwnSpace::sphere;
  double noise = 0;  // kappa of a Brownian motion for each point
  std::uint64_t noise_substeps = 1, seed = 0;
  double time = 10;                       // infinity: until nothing moves
  std::optional<double> rest{};           // the speed that counts as none then; none: 100 tolerance
  std::optional<flow::Method> stepper{};  // none: adaptive, with noise euler-maruyama
  double step = 0.1, tolerance = 1e-8;
  std::uint64_t max_steps = 10'000'000, outputs = 100;
  std::optional<Spacing> output_spacing{};
  Numbers at{};  // times of the outputs, instead of their number
};
ParameterList list(OwnFlowSetup& p);

/// points and drift: n x dim.
using OwnDrift =
    std::function<void(double time, std::span<const double> points, std::span<double> drift)>;

struct OwnFlow {
  OwnDrift drift{};
  bool autonomous = true;  // the drift does not look at the time
  std::vector<double> points{};
  std::size_t dim = 1;
  std::vector<observe::Observable> observables{};
};

/// Throws Error on what cannot be run.
Result run_own_flow(OwnFlow flow, const OwnFlowSetup& setup, const Context& context);

}  // namespace attractor::lab
