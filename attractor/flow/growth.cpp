#include "attractor/flow/growth.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/flow/lengths.hpp"

namespace attractor::flow {
namespace {

constexpr double kApart = 1e-6;  // of the two states of a difference
constexpr int kIterations = 600;

/// The derivative of the drift along u, tangent.
class Linearised {
 public:
  Linearised(const Flow& flow, std::span<const double> state, double log_unit)
      : flow_(flow),
        state_(state),
        log_unit_(log_unit),
        moved_(state.size()),
        back_(state.size()) {}

  void operator()(std::span<const double> u, std::span<double> out) {
    evaluate(u, -kApart, back_);
    evaluate(u, kApart, out);
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = (out[c] - back_[c]) / (2 * kApart);
    project(out);
  }

  void project(std::span<double> vectors) const {
    const Space& space = flow_.space();
    for (std::size_t i = 0; i < vectors.size(); i += space.dim())
      space.project(state_.subspan(i, space.dim()), vectors.subspan(i, space.dim()));
  }

 private:
  void evaluate(std::span<const double> u, double by, std::span<double> out) {
    const Space& space = flow_.space();
    for (std::size_t c = 0; c < u.size(); ++c) moved_[c] = state_[c] + by * u[c];
    for (std::size_t i = 0; i < u.size(); i += space.dim())
      space.retract(std::span(moved_).subspan(i, space.dim()));
    flow_.drift(moved_, log_unit_, out);
  }

  const Flow& flow_;
  std::span<const double> state_;
  double log_unit_;
  std::vector<double> moved_, back_;
};

}  // namespace

Growth growth_of_perturbations(const Flow& flow, std::span<const double> state, double log_unit) {
  const Stream stream(0, "perturbation");
  std::vector<double> u(state.size()), turned(state.size());
  for (std::size_t c = 0; c < u.size(); ++c) u[c] = stream.normal(0, c);
  Linearised linearised(flow, state, log_unit);
  linearised.project(u);
  Growth growth;
  double logs = 0, time = 0;
  for (int k = 0; k < kIterations; ++k) {
    const double size = largest_length(flow.space(), u, state);
    if (!(size > 0)) return growth;
    for (double& c : u) c /= size;
    linearised(u, turned);
    growth.stiffness = std::max(growth.stiffness, largest_length(flow.space(), turned, state));
    if (!(growth.stiffness > 0)) return growth;
    const double s = 0.5 / growth.stiffness;
    for (std::size_t c = 0; c < u.size(); ++c) u[c] += s * turned[c];
    if (k < 2 * kIterations / 3) continue;  // until the fastest mode has taken over
    logs += std::log(largest_length(flow.space(), u, state));
    time += s;
  }
  // (1 + s rate) in each iteration, all of the same s by then.
  const double each = time / (kIterations - 2 * kIterations / 3);
  growth.rate = std::expm1(logs / (kIterations - 2 * kIterations / 3)) / each;
  return growth;
}

}  // namespace attractor::flow
