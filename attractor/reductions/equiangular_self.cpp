#include "attractor/reductions/equiangular_self.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/reductions/equiangular_clock.hpp"
#include "attractor/space/space.hpp"

namespace attractor::meanfield {
namespace {

/// p, <theta, A> and |A| of the table.
struct Returned {
  double each, along, size;
};

Returned returned(const Equiangular& e, SelfAttention self, double x, double log_norm) {
  const EquiangularCurve curve{e.tokens, e.beta};
  const double n = e.tokens, w = curve.gap(x), s = curve.sigma(x);
  const double seen = scheme(e.norm).sees_length ? std::exp(2 * log_norm) : 1;
  const double excess = std::expm1(e.beta * seen * w), each = 1 / (excess + n);
  switch (self) {
    case SelfAttention::include:
      return {each, (excess + s) * each,
              std::sqrt(excess * excess + 2 * excess * s + n * s) * each};
    case SelfAttention::exclude:
      return {1 / (n - 1), curve.cosine(x), std::sqrt(1 + (n - 2) * s) / (n - 1)};
    case SelfAttention::remove_own_value:
      return {each, 0, std::sqrt((n - 1) * w * s) * each};
  }
  return {};
}

double depth_pace(const Equiangular& e, double time) {
  switch (scheme(e.norm).pace) {
    case Pace::damped:
      return 1 / std::sqrt(1 + time);
    case Pace::alpha:
      return e.alpha;
    case Pace::scaled:
      return 1 / e.deepnorm_scale;
    case Pace::steady:
      break;
  }
  return 1;
}

/// (x, ln r).
class SelfMotion final : public flow::Flow {
 public:
  SelfMotion(const Equiangular& e, SelfAttention self, bool grows)
      : e_(e), self_(self), grows_(grows) {}
  const Space& space() const override { return space_; }
  bool autonomous() const override { return scheme(e_.norm).pace != Pace::damped; }
  void drift(std::span<const double> y, double log_unit, std::span<double> out) const override {
    drift_at(flow::Time(0), y, log_unit, out);
  }
  void drift_at(const flow::Time& now, std::span<const double> y, double log_unit,
                std::span<double> out) const override {
    const Returned a = returned(e_, self_, y[0], y[1]);
    const double divided = scheme(e_.norm).unit ? a.size : 1;
    const double rate =
        std::exp(log_unit - (grows_ ? y[1] : 0)) * depth_pace(e_, now.value()) / divided;
    out[0] = 2 * e_.tokens * a.each * rate;
    out[1] = grows_ ? a.along * rate : 0;
  }

 private:
  Euclidean space_{2};
  Equiangular e_;
  SelfAttention self_;
  bool grows_;
};

/// phi = phi_0 - int c dt: no step can pass its end.
EquiangularState straight_fall(const Equiangular& e, double time) {
  const double n = e.tokens, start = 1 + (n - 1) * e.cosine0;
  const double phi0 = std::atan2(std::sqrt((n - 1) * (1 - e.cosine0)), std::sqrt(start));
  const double phi = std::max(0.0, phi0 - depth_pace(e, 0) * time);  // no unit scheme is damped
  const double gap = n / (n - 1) * std::sin(phi) * std::sin(phi);
  // dg/dt = 2n/(n-1) sin phi cos phi times the pace.
  return {1 - gap, std::log(gap), 0,
          std::log(2 * n / (n - 1) * std::sin(phi) * std::cos(phi) * depth_pace(e, 0))};
}

}  // namespace

EquiangularState equiangular_at(const Equiangular& e, SelfAttention self, double time) {
  check(e);
  if (e.rule != Rule::softmax)
    throw Error("equiangular tokens without themselves need softmax attention (sa), not usa");
  if (!(time >= 0 && time <= 1e6))
    throw Error(fmt::format("time = {} is not allowed; allowed: 0 to 1e6", time));
  if (!(e.cosine0 > -1 / (e.tokens - 1)))
    throw Error(
        fmt::format("cosine0 = {} is the simplex, where nothing turns; allowed: above", e.cosine0));
  const Scheme& row = scheme(e.norm);
  if (row.unit && self == SelfAttention::remove_own_value) return straight_fall(e, time);
  const EquiangularCurve curve{e.tokens, e.beta};
  flow::Progress progress{.state = {curve.position(e.cosine0), 0}};
  const auto follow = [&](bool grows, double end) {
    SelfMotion motion(e, self, grows);
    const flow::Status status =
        flow::run(motion, flow::dormand_prince_8(), {.end = flow::Time(end), .tolerance = 1e-13},
                  progress, {});
    if (status != flow::Status::complete)
      throw Error(fmt::format("{} equiangular tokens (beta = {}) cannot be followed to t = {}",
                              e.tokens, e.beta, end));
    progress.started = false;
  };
  if (row.switches && e.switch_time > 0) follow(false, std::min(time, e.switch_time));
  if (!row.switches || time > e.switch_time) follow(row.grows, time);
  const double x = progress.state[0], log_norm = progress.state[1];
  std::vector<double> rate(2);
  const bool grows = row.grows && (!row.switches || time >= e.switch_time);
  SelfMotion(e, self, grows).drift_at(flow::Time(time), progress.state, 0, rate);
  return {curve.cosine(x), curve.log_gap(x), log_norm,
          curve.log_gap(x) + curve.log_sigma(x) - std::log(e.tokens) + std::log(rate[0])};
}

}  // namespace attractor::meanfield
