#include "attractor/long_context/iid_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <vector>

#include "attractor/base/error.hpp"

namespace attractor::meanfield {
namespace {

void require(const IidKeys& k) {
  if (!(k.tokens >= 2 && k.tokens <= 1e300))
    throw Error(fmt::format("the number of tokens is {}; allowed: 2 to 1e300", k.tokens));
  if (!(k.dim >= 3 && k.dim <= 1e6))
    throw Error(fmt::format("the dimension is {}; allowed: 3 to 1e6", k.dim));
  if (!(k.beta > 0 && k.beta <= 1e300))
    throw Error(fmt::format("beta is {}; allowed: above 0, at most 1e300", k.beta));
}

/// Nodes of the law of w times n - 1, by the trapezoidal rule in its logit, and e^{-2 beta w}.
struct Law {
  std::vector<double> count, pull;
  double others;
};

Law law_of(const IidKeys& k) {
  const double m = (k.dim - 1) / 2, log_others = std::log(k.tokens - 1);
  const double log_beta_function = 2 * boost::math::lgamma(m) - boost::math::lgamma(2 * m);
  // Below: w^m n is nothing. Above: e^{-2 beta w} is, or w = 1.
  const double low = -(log_others + 45) / m - std::max(0.0, std::log(2 * k.beta)) / m - 3,
               high = std::min(45 / m + 3, 7 - std::log(2 * k.beta) + 45),
               step = std::min(0.1, 0.4 / std::sqrt(m));
  Law law{.others = k.tokens - 1};
  for (double s = std::min(low, -std::log(2 * k.beta) - 10); s <= high; s += step) {
    const double log_w = -std::log1p(std::exp(-s)), log_rest = log_w - s;  // w, 1 - w
    const double count = std::exp(log_others + m * (log_w + log_rest) - log_beta_function) * step;
    const double pull = std::exp(-2 * k.beta * std::exp(log_w));
    if (count < 1e-30 || pull == 0) continue;
    law.count.push_back(count);
    law.pull.push_back(pull);
  }
  return law;
}

double expected_sum(const Law& law) {
  double sum = 0;
  for (std::size_t k = 0; k < law.count.size(); ++k) sum += law.count[k] * law.pull[k];
  return sum;
}

/// ln E e^{-uS}.
double log_laplace(const Law& law, double u) {
  double hit = 0;  // (n - 1) q(u)
  for (std::size_t k = 0; k < law.count.size(); ++k)
    hit -= law.count[k] * std::expm1(-u * law.pull[k]);
  const double q = hit / law.others;
  return q < 1e-9 ? -hit * (1 + q / 2) : law.others * std::log1p(-std::min(q, 1.0));
}

}  // namespace

OwnWeight own_weight(const IidKeys& keys) {
  require(keys);
  const Law law = law_of(keys);
  const double sum = expected_sum(law);
  constexpr double kStep = 0.125;
  double mean = 0, square = 0;
  for (double v = -std::log1p(sum) - 36; v < 4.5; v += kStep) {
    const double u = std::exp(v), share = kStep * u * std::exp(log_laplace(law, u) - u);
    mean += share;
    square += u * share;
  }
  return {mean, std::sqrt(std::max(0.0, square - mean * mean))};
}

double half_scale(double tokens, double dim) {
  require({tokens, dim, 1});
  if (!(tokens >= 3)) throw Error(fmt::format("of {} tokens each has half of its own", tokens));
  const auto excess = [&](double log_beta) {
    return own_weight({tokens, dim, std::exp(log_beta)}).mean - 0.5;
  };
  // Near where E S = 1, which takes no integral over u.
  double low = -5, high = 690;
  while (high - low > 0.5) {
    const double middle = (low + high) / 2;
    (expected_sum(law_of({tokens, dim, std::exp(middle)})) > 1 ? low : high) = middle;
  }
  while (excess(low) > 0) low -= 1;
  while (excess(high) < 0) high += 1;
  std::uintmax_t iterations = 60;
  const auto [a, b] = boost::math::tools::toms748_solve(
      excess, low, high, boost::math::tools::eps_tolerance<double>(40), iterations);
  return std::exp((a + b) / 2);
}

double log_law_constant(double dim_per_log) {
  if (!(dim_per_log > 0 && dim_per_log <= 1e12))
    throw Error(fmt::format("{} dimensions for each e-folding; allowed: above 0, at most 1e12",
                            dim_per_log));
  const auto value = [&](double t) { return (1 + dim_per_log / 2 * std::log1p(-t * t)) / (1 - t); };
  // One maximum in (0, 1): 1 at t = 0, rising there, and -infinity at 1. Golden section.
  constexpr double kPart = 0.38196601125010515;
  double low = 0, high = 1;
  for (int k = 0; k < 90; ++k) {
    const double a = low + kPart * (high - low), b = high - kPart * (high - low);
    (value(a) < value(b) ? low : high) = value(a) < value(b) ? a : b;
  }
  return value((low + high) / 2);
}

double draw_own_weight(const IidKeys& keys, const Stream& stream, std::uint64_t item,
                       std::uint64_t nearest) {
  require(keys);
  const double m = (keys.dim - 1) / 2, others = std::floor(keys.tokens - 1);
  double sum = 0, level = 0, w = 0;  // level: -ln(1 - U) of the nearest keys' places in the law
  double drawn = 0;
  while (drawn < std::min(others, static_cast<double>(nearest))) {
    level -= std::log(stream.uniform(item, static_cast<std::uint64_t>(drawn))) / (others - drawn);
    w = boost::math::ibeta_inv(m, m, -std::expm1(-level));
    sum += std::exp(-2 * keys.beta * w);
    drawn += 1;
    if (2 * keys.beta * w > 60 + std::log(others)) return 1 / (1 + sum);  // the others are nothing
  }
  if (drawn == others) return 1 / (1 + sum);
  // The others are farther than w, independent of each other.
  double mass = 0, mean = 0, square = 0;
  const double start = std::log(w / (1 - w)), step = std::min(0.05, 0.2 / std::sqrt(m));
  for (double s = start + step / 2; s < start + 100; s += step) {
    const double log_at = -std::log1p(std::exp(-s));
    const double density = std::exp(m * (2 * log_at - s) - m * (2 * std::log(w) - start));
    const double pull = std::exp(-2 * keys.beta * std::exp(log_at));
    mass += density, mean += density * pull, square += density * pull * pull;
    if (density < 1e-18 * mass) break;
  }
  mean /= mass, square /= mass;
  const double left = others - drawn;
  const double normal = stream.normal(item, (nearest / 4 + 1) * 4);
  const double rest =
      left * mean + normal * std::sqrt(std::max(0.0, left * (square - mean * mean)));
  return 1 / (1 + sum + std::max(0.0, rest));
}

}  // namespace attractor::meanfield
