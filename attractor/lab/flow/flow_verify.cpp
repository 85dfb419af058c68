#include "attractor/lab/flow/flow_verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/depth/engines.hpp"
#include "attractor/lab/flow/observed_flow.hpp"
#include "attractor/ranks/ranks.hpp"

namespace attractor::lab {
namespace {

constexpr double kFinestTolerance = 1e-14;
constexpr double kShort = 1e4;           // natural units of time: a run without coalescence ends
constexpr double kDenseTokens = 20'000;  // up to so many, dense sums are the better reference

bool is_short(const FlowSetup& p) {
  const double log = end_of(p).log() + (p.dynamics == Rule::unnormalised ? std::abs(p.beta) : 0);
  return log <= std::log(kShort);
}

void refine_engine(FlowSetup& p, std::size_t tokens, std::size_t dim) {
  const std::optional<depth::Engine> engine = engine_of(p, tokens, dim);
  if (!engine || *engine == depth::Engine::dense) return;
  if (static_cast<double>(tokens) <= kDenseTokens || *engine == depth::Engine::clumps) {
    p.engine = depth::Engine::dense;
    return;
  }
  const double finest =
      *engine == depth::Engine::circle ? depth::kFinestCircle : depth::kFinestSphere;
  const double wanted = std::min(p.accuracy / 100, p.tolerance);
  p.engine = engine;
  p.accuracy = std::max(finest, wanted);
  if (p.accuracy > p.tolerance)
    throw Error(
        fmt::format("verify takes a hundredth of the tolerance, {:g}; engine {} is accurate "
                    "to {:g} at best: give a tolerance of {:g} or more",
                    p.tolerance, name(*engine), finest, 100 * finest));
}

}  // namespace

FlowSetup finer(const FlowSetup& parameters, std::size_t tokens, std::size_t dim) {
  FlowSetup p = parameters;
  p.precision = Precision::f64;
  if ((p.noise > 0 || p.common_noise > 0) && p.noise_substeps % 4 != 0)
    throw Error(
        fmt::format("verify follows the same noise with steps four times finer: noise-substeps = "
                    "{} must be a multiple of 4",
                    p.noise_substeps));
  if (!is_adaptive(p)) {
    p.step /= 4;
    if (p.noise > 0 || p.common_noise > 0) p.noise_substeps /= 4;  // the same path
    refine_engine(p, tokens, dim);
    return p;
  }
  p.tolerance /= 100;
  if (p.tolerance < kFinestTolerance * (1 - 1e-9))
    throw Error(
        fmt::format("verify takes a hundredth of tolerance = {:g}, below the {:g} that double "
                    "precision allows; give a tolerance of {:g} or more",
                    parameters.tolerance, kFinestTolerance, 100 * kFinestTolerance));
  refine_engine(p, tokens, dim);
  if (is_plain(p) && p.space == depth::Geometry::sphere && !asks_linear(p)) {
    if (is_short(p))
      p.merge_radius = 0;
    else if (p.merge_radius && *p.merge_radius > 0)
      p.merge_radius = std::max(1e-12, *p.merge_radius / 10);
  }
  return p;
}

Verification verify(const FlowRecord& record, const Context& context, bool distributed) {
  Context unkept = context;
  unkept.checkpoints.reset();
  const FlowRecord reference =
      FlowRun(finer(record.setup, record.tokens, record.dim), distributed).run(unkept);
  const bool whole = !distributed || ranks::rank() == 0;
  if (!whole || reference.status == flow::Status::interrupted) return {.status = reference.status};
  return compare(record, reference);
}

Verification compare(const FlowRecord& record, const FlowRecord& reference) {
  Verification v{.status = reference.status, .layer_status = reference.layer_status};
  v.coalesced = reference.merge_radius > 0;
  if (!v.delivered()) {
    v.error = v.length_error = v.time_error = kNan;
    return v;
  }
  const Snapshot &a = record.snapshots.back(), &b = reference.snapshots.back();
  double worst = 0;
  for (std::size_t i = 0; i < a.positions.size(); i += record.dim)
    worst = std::max(worst, squared_distance(std::span(a.positions).subspan(i, record.dim),
                                             std::span(b.positions).subspan(i, record.dim)));
  v.error = std::sqrt(worst);
  for (std::size_t i = 0; i < std::min(a.norms.size(), b.norms.size()); ++i)
    v.length_error = std::max(v.length_error, std::abs(a.norms[i] - b.norms[i]) / b.norms[i]);
  if (end_of(record.setup) == flow::kForever)
    v.time_error = std::abs(record.time.log() - reference.time.log());
  return v;
}

}  // namespace attractor::lab
