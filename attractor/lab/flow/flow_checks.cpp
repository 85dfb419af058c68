// Combinations of parameters that have no meaning, each refused with a sentence.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/lab/flow/flow_setup.hpp"
#include "attractor/ranks/ranks.hpp"

namespace attractor::lab {
namespace {

using depth::Geometry;
using flow::Method;

void refuse(bool wrong, const std::string& sentence) {
  if (wrong) throw Error(sentence);
}

bool whole_steps(double time, double step) {
  return flow::fixed_steps(flow::Time(time), step).whole;
}

void check_time(const FlowSetup& p) {
  if (!p.log10_time) return;
  refuse(p.time != FlowSetup().time,
         fmt::format("time = {} and log10-time = {} say the same; give one of them", p.time,
                     *p.log10_time));
  const double time = end_of(p).value();
  refuse(!is_adaptive(p) && !(time > 0 && std::isfinite(time)),
         fmt::format("log10-time = {} is out of reach of steps of {}; allowed: -300 to 308, or "
                     "stepper adaptive",
                     *p.log10_time, p.step));
}

void check_endless(const FlowSetup& p) {
  if (!std::isinf(p.time)) return;
  refuse(!is_adaptive(p),
         fmt::format("time = inf needs stepper adaptive, not {}", name(stepper_of(p))));
  refuse(p.space != Geometry::sphere,
         "time = inf needs space sphere: in R^d tokens never come to rest");
  refuse(
      !is_plain(p),
      "time = inf needs sa or usa with one head, full mask and norm post, where it is known when "
      "tokens have come to rest; give a finite time");
  refuse(p.merge_radius == 0, "time = inf needs coalescence; leave out merge-radius off");
  refuse(p.output_spacing == Spacing::linear || p.output_spacing == Spacing::log,
         fmt::format("output-spacing {} needs a finite time",
                     name(p.output_spacing.value_or(Spacing::steps))));
}

void check_steps(const FlowSetup& p) {
  const Method stepper = stepper_of(p);
  const bool noisy = p.noise > 0 || p.common_noise > 0;
  const bool additive = p.noise_kind == flow::NoiseKind::additive;
  refuse(noisy && additive && stepper != Method::euler_maruyama,
         fmt::format("noise needs stepper euler-maruyama, not {}", name(stepper)));
  refuse(noisy && !additive && stepper != Method::rk4,
         fmt::format("multiplicative noise needs stepper rk4, not {}", name(stepper)));
  refuse(p.noise_axes.given() && !(noisy && additive),
         "noise-axes need additive noise or common-noise above 0");
  if (is_adaptive(p)) return;
  const double time = end_of(p).value();
  refuse(p.step > time && time > 0,
         fmt::format("step = {} is longer than time = {}", p.step, time));
  refuse(time / p.step > static_cast<double>(p.max_steps),
         fmt::format("time / step = {:.3g} steps; at most max-steps = {} are allowed",
                     time / p.step, p.max_steps));
  const bool mixed = p.norm == Normalisation::mix && p.switch_time < time;
  refuse(
      mixed && !whole_steps(p.switch_time, p.step),
      fmt::format("switch-time = {} is not a whole number of steps of {}", p.switch_time, p.step));
  refuse(p.redraw > 0 && !whole_steps(p.redraw, p.step),
         fmt::format("redraw = {} is not a whole number of steps of {}", p.redraw, p.step));
  refuse((mixed || p.redraw > 0) && !whole_steps(time, p.step),
         fmt::format("time = {} is not a whole number of steps of {}", time, p.step));
}

void check_weights(const FlowSetup& p) {
  const bool drawn_block = p.feed_forward != depth::Activation::none &&
                           !(p.feed_forward_in.given() && p.feed_forward_out.given());
  const bool random =
      drawn_block || p.query.random() || p.key.random() || p.value.random() || p.output.random();
  refuse(p.redraw > 0 && !random, "redraw needs random weights or a random feed-forward block");
  const auto low = [](const WeightInput& w) {
    return w.is_given() || w.kind == WeightKind::gaussian || w.kind == WeightKind::orthogonal;
  };
  refuse(p.rank > 0 && !(low(p.query) && low(p.key)),
         fmt::format("rank = {} needs query and key gaussian, orthogonal or in files", p.rank));
  refuse(p.rank > p.dim && p.init != Arrangement::file,
         fmt::format("rank = {} is above dim = {}", p.rank, p.dim));
}

/// Below 0 only layers know attention: coalescence and fused sums are about kernels that fall with
/// the distance, and the end need not be one cluster.
void check_negative(const FlowSetup& p) {
  if (p.beta >= 0) return;
  const auto needs = [&](bool wrong, const char* what, const char* instead) {
    refuse(wrong, fmt::format("{} needs beta from 0 on, not {}; {}", what, p.beta, instead));
  };
  needs(std::isinf(p.time), "time = inf", "below, tokens may rest in several clusters for ever");
  needs(p.engine == depth::Engine::dense, "engine dense", "leave the engine out");
  needs(p.precision == Precision::f32, "precision single", "take double");
  needs(p.merge_radius && *p.merge_radius > 0, "merge-radius", "leave it out or off");
  needs(p.dynamics == Rule::radial, "dynamics radial", "its kernels fall with the distance");
}

void check_sink(const FlowSetup& p) {
  refuse(p.sink_mass != 1 && p.mask != MaskKind::causal,
         fmt::format("sink-mass = {} needs mask causal, not full: there no token is first",
                     p.sink_mass));
  refuse(p.sink_fixed && p.mask != MaskKind::causal,
         "sink-fixed needs mask causal, not full: there no token is first");
  refuse(p.sink_mass != 1 && !is_exponential(p.dynamics),
         fmt::format("sink-mass = {} needs dynamics sa or usa, not {}", p.sink_mass,
                     name(p.dynamics)));
  refuse(p.sink_fixed && (p.noise > 0 || p.common_noise > 0),
         "sink-fixed needs noise = 0: noise moves every token");
}

/// Of given tokens the dimension is looked at when they are.
void check_rope(const FlowSetup& p) {
  const std::size_t dim = p.rank > 0 ? p.rank : p.dim;
  const bool known = p.rank > 0 || p.init != Arrangement::file;
  refuse(p.rope != RotaryLayout::none && known && dim % 2 != 0,
         fmt::format("rope {} needs queries and keys of even dimension (dim or rank), not {}",
                     name(p.rope), dim));
}

/// Single precision loses what tight clusters and small tolerances need.
void check_precision(const FlowSetup& p) {
  if (p.precision == Precision::f64) return;
  refuse(!is_plain(p) || asks_fields(p),
         "precision single needs engine dense: sa or usa with one head, full mask and norm post");
  refuse(p.beta >= 100,
         fmt::format("beta = {} needs precision double; single is for beta below 100", p.beta));
  refuse(is_adaptive(p) && p.tolerance < 1e-5,
         fmt::format("tolerance = {} is below the rounding of precision single; give a tolerance "
                     "of 1e-5 or more, or precision double",
                     p.tolerance));
}

/// Engines in O(n), and clumps.
void check_linear(const FlowSetup& p) {
  if (!asks_fields(p)) return;
  // Of given tokens the dimension is looked at when they are: any that the engine takes will do.
  const std::size_t any = p.engine == depth::Engine::circle ? 2 : 3;
  const std::size_t dim = p.init == Arrangement::file     ? any
                          : p.init == Arrangement::angles ? 2
                                                          : p.dim;
  refuse(engine_of(p, p.tokens, dim) != p.engine, engine_refusal(p, p.tokens, dim));
}

}  // namespace

void check(const FlowSetup& p) {
  FlowSetup copy = p;
  check_values(list(copy));
  check_time(p);
  check_negative(p);
  check_endless(p);
  check_steps(p);
  check_weights(p);
  check_sink(p);
  check_rope(p);
  refuse(
      p.space != Geometry::sphere && p.init != Arrangement::uniform && p.init != Arrangement::file,
      fmt::format("init {} is on the sphere; R^d takes uniform (normal) or file", name(p.init)));
  const bool merges = p.merge_radius && *p.merge_radius > 0;
  refuse(!is_plain(p) && merges,
         "merge-radius needs sa or usa with one head, full mask, norm post and no noise");
  refuse(!is_adaptive(p) && merges,
         fmt::format("merge-radius needs stepper adaptive, not {}", name(stepper_of(p))));
  check_linear(p);
  check_precision(p);
  refuse(p.engine == depth::Engine::dense && !is_plain(p),
         "engine dense needs sa or usa with one head, full mask and norm post; leave the engine "
         "out");
  const bool known_size = p.init != Arrangement::file && p.init != Arrangement::angles;
  const double numbers = static_cast<double>(p.tokens) * static_cast<double>(p.dim);
  refuse(known_size && numbers > 1e9,
         fmt::format("{} tokens in dimension {} are {:.3g} numbers; at most 1e9 are allowed",
                     p.tokens, p.dim, numbers));
}

void require_memory(const FlowSetup& p, bool shared) {
  if (p.init == Arrangement::file || p.init == Arrangement::angles) return;
  const flow::Tableau method = flow::tableau(stepper_of(p));
  double states = std::max(8.0, static_cast<double>(method.stages() + method.dense_a.size()) + 5);
  if (shared) {  // all tokens on each rank at the start, and on rank 0 to observe them
    const auto here = static_cast<double>(ranks::neighbours());
    states = states * here / static_cast<double>(ranks::count()) + here + 3;
  }
  const double needed = states * 8 * static_cast<double>(p.tokens) * static_cast<double>(p.dim);
  const double present =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > present)
    throw Error(
        fmt::format("{} tokens in dimension {} need {:.1f} GB of memory; this machine has "
                    "{:.1f} GB",
                    p.tokens, p.dim, needed / 1e9, present / 1e9));
}

}  // namespace attractor::lab
