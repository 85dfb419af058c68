#include "attractor/kernels/dense/mean_slope.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/dense/mean_slope.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/exp-inl.hpp"
#include "attractor/kernels/lanes-inl.hpp"
#include "hwy/highway.h"

#ifndef ATTRACTOR_KERNELS_MEAN_SLOPE
#define ATTRACTOR_KERNELS_MEAN_SLOPE
namespace attractor::kernels {
/// What the passes over the tokens share.
struct SlopePass {
  double* s;
  const double* g;
  double* c;
  double g_top;              // g of token a
  double top, second, drop;  // largest logits: of all, of those that move; e^{second - top}
  double mean, others;       // sums of weights relative to e^{second} and e^{top}
};
}  // namespace attractor::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

// Each does the tokens that fill whole vectors and tells how many.
std::size_t largest_moving(SlopePass& p, std::size_t count) {
  const D d;
  const std::size_t whole = count / hn::Lanes(d) * hn::Lanes(d);
  const V least = hn::Set(d, -std::numeric_limits<double>::infinity());
  const V g_top = hn::Set(d, p.g_top);
  V most = least;
  for (std::size_t t = 0; t < whole; t += hn::Lanes(d))
    most = hn::Max(
        most, hn::IfThenElse(hn::Eq(hn::LoadU(d, p.g + t), g_top), least, hn::LoadU(d, p.s + t)));
  HWY_ALIGN double lanes[hn::MaxLanes(d)];  // MaxOfLanes of emulated vectors begins with -1.8e308
  hn::Store(most, d, lanes);
  p.second = *std::max_element(lanes, lanes + hn::Lanes(d));
  return whole;
}

std::size_t weigh(SlopePass& p, std::size_t count) {
  const D d;
  const std::size_t whole = count / hn::Lanes(d) * hn::Lanes(d);
  const V top = hn::Set(d, p.top), second = hn::Set(d, p.second), drop = hn::Set(d, p.drop);
  const V g_top = hn::Set(d, p.g_top);
  V mean = hn::Zero(d), others = hn::Zero(d);
  for (std::size_t t = 0; t < whole; t += hn::Lanes(d)) {
    const V lead = hn::Sub(hn::LoadU(d, p.g + t), g_top);
    const auto rests = hn::Eq(hn::LoadU(d, p.g + t), g_top);
    const V x = hn::Sub(hn::LoadU(d, p.s + t), hn::IfThenElse(rests, top, second));
    const V e = hn::IfThenElse(hn::Eq(x, x), exp_bounded(d, x), x);  // which hides NaN
    const V weight = hn::IfThenElse(rests, e, hn::Mul(e, drop));
    mean = hn::MulAdd(e, lead, mean);  // a token that rests leads by 0
    others = hn::Add(others, weight);
    hn::StoreU(e, d, p.c + t);
    hn::StoreU(weight, d, p.s + t);
  }
  p.mean = hn::GetLane(hn::SumOfLanes(d, mean));
  p.others = hn::GetLane(hn::SumOfLanes(d, others));
  return whole;
}

std::size_t divide(SlopePass& p, std::size_t count) {
  const D d;
  const std::size_t whole = count / hn::Lanes(d) * hn::Lanes(d);
  const double sum = 1 + p.others;
  const V total = hn::Set(d, sum), excess = hn::Set(d, p.mean * p.drop / sum);
  const V rest = hn::Set(d, -p.mean / sum), g_top = hn::Set(d, p.g_top);
  for (std::size_t t = 0; t < whole; t += hn::Lanes(d)) {
    const V g = hn::LoadU(d, p.g + t);
    const V factor = hn::IfThenElse(hn::Eq(g, g_top), rest, hn::Sub(hn::Sub(g, g_top), excess));
    hn::StoreU(hn::Mul(hn::LoadU(d, p.c + t), factor), d, p.c + t);
    hn::StoreU(hn::Div(hn::LoadU(d, p.s + t), total), d, p.s + t);
  }
  return whole;
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(largest_moving);
HWY_EXPORT(weigh);
HWY_EXPORT(divide);

// Token a is left out of all sums; its weight is 1 / total. Few tokens take the plain loops alone.
MeanSlope mean_slope(std::span<double> s, std::span<const double> g, std::size_t a,
                     std::span<double> c) {
  constexpr std::size_t kFew = 16;
  constexpr double kLeast = -std::numeric_limits<double>::infinity();
  const std::size_t count = s.size();
  const bool wide = count >= kFew;
  SlopePass p{s.data(), g.data(), c.data(), g[a], s[a], kLeast, 0, 0, 0};
  s[a] = kLeast;
  for (std::size_t t = wide ? HWY_DYNAMIC_DISPATCH(largest_moving)(p, count) : 0; t < count; ++t)
    if (g[t] != p.g_top) p.second = std::max(p.second, s[t]);
  p.drop = std::exp(p.second - p.top);
  for (std::size_t t = wide ? HWY_DYNAMIC_DISPATCH(weigh)(p, count) : 0; t < count; ++t) {
    const bool moves = g[t] != p.g_top;
    c[t] = std::exp(s[t] - (moves ? p.second : p.top));
    if (moves) p.mean += c[t] * (g[t] - p.g_top);
    s[t] = moves ? c[t] * p.drop : c[t];
    p.others += s[t];
  }
  s[a] = 1;
  const double total = 1 + p.others, excess = p.mean * p.drop / total;
  for (std::size_t t = wide ? HWY_DYNAMIC_DISPATCH(divide)(p, count) : 0; t < count; ++t) {
    c[t] = g[t] != p.g_top ? c[t] * (g[t] - p.g_top - excess) : -c[t] / total * p.mean;
    s[t] /= total;
  }
  c[a] = 0;
  return {p.mean, p.second - p.top - std::log1p(p.others), excess};
}

}  // namespace attractor::kernels
#endif
