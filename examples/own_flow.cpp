// A flow of one's own: Oja's, x' = P_x A x on the sphere, the power method in continuous time. Give
// the space and the drift; flow::run steps, retracts, controls the error and hands states out. Its
// solution is closed,
//
//   x(t) = e^{At} x(0) / |e^{At} x(0)|,
//
// and all points but a null set end at the top eigenvector of A, here +-(1, 0, 0).
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "attractor/attractor.hpp"

using namespace attractor;

constexpr std::array<double, 3> kA{1, 0.5, -1};  // a diagonal matrix

class Oja final : public flow::Flow {
 public:
  const Space& space() const override { return sphere_; }
  void drift(std::span<const double> x, double log_unit, std::span<double> out) const override {
    for (std::size_t k = 0; k < x.size(); ++k) out[k] = std::exp(log_unit) * kA[k % 3] * x[k];
    for (std::size_t k = 0; k < x.size(); k += 3)
      sphere_.project(x.subspan(k, 3), out.subspan(k, 3));
  }

 private:
  Sphere sphere_{3};
};

int main() {
  const TokenSet start = make_tokens({.tokens = 100, .dim = 3, .seed = 1});
  double worst = 0;
  flow::Hooks hooks;
  hooks.output = [&](const flow::Time& time, std::span<const double> state) {
    std::vector<double> exact = start.data;
    for (std::size_t k = 0; k < exact.size(); ++k) exact[k] *= std::exp(kA[k % 3] * time.value());
    double error = 0, along = 0;
    for (std::size_t k = 0; k < exact.size(); k += 3) {
      Sphere(3).retract(std::span(exact).subspan(k, 3));
      error = std::max(
          error, std::sqrt(squared_distance(state.subspan(k, 3), std::span(exact).subspan(k, 3))));
      along += std::abs(state[k]) / 100;
    }
    fmt::print("t = {:2}   mean |x_1| {:.6f}   largest error {:.1e}\n", time.value(), along, error);
    worst = std::max(worst, error);
  };
  flow::Plan plan{.end = flow::Time(16), .tolerance = 1e-10};
  for (const double t : {1.0, 4.0, 16.0}) plan.outputs.emplace_back(t);
  flow::Progress progress{.state = start.data};
  Oja oja;
  const flow::Status status = flow::run(oja, flow::dormand_prince(), plan, progress, hooks);
  return status == flow::Status::complete && worst < 1e-9 ? 0 : 1;
}
