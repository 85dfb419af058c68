#include "attractor/mean_field/circle_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::meanfield {
namespace {

constexpr std::size_t kPartialSum = 1024;  // tokens of one partial sum: fixed, so sums are too
constexpr std::size_t kLanes = 8;          // tokens worked on at once
constexpr double kNegligibleMode = 1e-18;  // of lambda_k / lambda_0, K^2 times that is rounding

using Lanes = double[kLanes];

/// Real and imaginary parts apart: std::complex products check for infinities.
struct Rotation {
  Lanes cosine{}, sine{}, weight{};
};

Rotation load(std::span<const double> angles, std::span<const double> weights, std::size_t first) {
  Rotation r;
  for (std::size_t lane = 0; lane < std::min(kLanes, angles.size() - first); ++lane) {
    r.cosine[lane] = std::cos(angles[first + lane]);
    r.sine[lane] = std::sin(angles[first + lane]);
    r.weight[lane] = weights[first + lane];
  }
  return r;
}

/// sums[2k], sums[2k+1] += real and imaginary part of w e^{ik theta} over the lanes, k < count.
void add_powers(const Rotation& r, std::size_t count, std::vector<double>& sums) {
  Lanes re, im{};
  std::copy_n(r.weight, kLanes, re);
  for (std::size_t k = 0; k < count; ++k) {
    double sum_re = 0, sum_im = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sum_re += re[lane];
      sum_im += im[lane];
      const double next = re[lane] * r.cosine[lane] - im[lane] * r.sine[lane];
      im[lane] = re[lane] * r.sine[lane] + im[lane] * r.cosine[lane];
      re[lane] = next;
    }
    sums[2 * k] += sum_re;
    sums[2 * k + 1] += sum_im;
  }
}

/// Horner: re + i im = sum_{k>=1} terms_k e^{-ik theta}.
void evaluate(const Rotation& r, std::span<const std::complex<double>> terms, Lanes& re,
              Lanes& im) {
  std::fill_n(re, kLanes, 0.0);
  std::fill_n(im, kLanes, 0.0);
  for (std::size_t k = terms.size(); k-- > 1;) {
    const double a = terms[k].real(), b = terms[k].imag();
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double x = re[lane] + a, y = im[lane] + b;
      re[lane] = x * r.cosine[lane] + y * r.sine[lane];
      im[lane] = y * r.cosine[lane] - x * r.sine[lane];
    }
  }
}

std::vector<double> unit_sum(std::vector<double> weights) {
  double sum = 0;
  for (double w : weights) {
    if (!(w > 0 && std::isfinite(w)))
      throw Error(fmt::format("weight = {} is not allowed; allowed: positive and finite", w));
    sum += w;
  }
  for (double& w : weights) w /= sum;
  return weights;
}

}  // namespace

CircleTokens::CircleTokens(const CircleAttention& attention, std::size_t tokens)
    : CircleTokens(attention, std::vector<double>(tokens, 1.0)) {}

CircleTokens::CircleTokens(const CircleAttention& attention, std::vector<double> weights)
    : attention_(attention),
      spectrum_(resolved_spectrum(2, attention.beta, kNegligibleMode)),
      log_unit_(attention.rule == Rule::unnormalised ? -attention.beta : 0.0),
      weights_(unit_sum(std::move(weights))) {
  if (weights_.empty()) throw Error("0 tokens are not allowed; allowed: at least 1");
}

std::vector<std::complex<double>> CircleTokens::moments(std::span<const double> angles,
                                                        std::size_t count) const {
  assert(angles.size() == weights_.size());
  const std::size_t blocks = (angles.size() + kPartialSum - 1) / kPartialSum;
  std::vector<std::vector<double>> partial(blocks);
  parallel_for(angles.size(), kPartialSum, [&](std::size_t begin, std::size_t end) {
    if (stopped()) return;
    std::vector<double>& sums = partial[begin / kPartialSum];
    sums.assign(2 * count, 0.0);
    for (std::size_t i = begin; i < end; i += kLanes)
      add_powers(load(angles.first(end), weights_, i), count, sums);
  });
  std::vector<std::complex<double>> result(count);
  for (const std::vector<double>& sums : partial)
    for (std::size_t k = 0; k < std::min(count, sums.size()); ++k)
      result[k] += std::complex<double>(sums[2 * k], sums[2 * k + 1]);
  if (count > 0) result[0] = 1;
  return result;
}

void CircleTokens::drift(std::span<const double> angles, double log_unit,
                         std::span<double> out) const {
  const bool softmax = attention_.rule == Rule::softmax;
  const std::vector<std::complex<double>> m = moments(angles, spectrum_.count());
  std::vector<std::complex<double>> slopes(m.size()), values(softmax ? m.size() : 0);
  for (std::size_t k = 1; k < m.size(); ++k) {
    slopes[k] = 2 * static_cast<double>(k) * spectrum_.pull[k] * m[k];
    if (softmax) values[k] = 2 * spectrum_.ratio[k] * m[k];
  }
  const double factor =
      std::exp(softmax ? log_unit : log_unit + attention_.beta + spectrum_.log_scale);
  parallel_for(angles.size(), kPartialSum, [&](std::size_t begin, std::size_t end) {
    if (stopped()) {
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin),
                out.begin() + static_cast<std::ptrdiff_t>(end), kNan);
      return;
    }
    Lanes re, im, partition, unused;
    for (std::size_t i = begin; i < end; i += kLanes) {
      const Rotation r = load(angles.first(end), weights_, i);
      evaluate(r, slopes, re, im);
      if (softmax) evaluate(r, values, partition, unused);
      for (std::size_t lane = 0; lane < std::min(kLanes, end - i); ++lane) {
        // A mean of sines: a partition function lost to rounding must not show as a speed above 1.
        const double speed =
            softmax ? std::clamp(im[lane] / (1 + partition[lane]), -1.0, 1.0) : im[lane];
        out[i + lane] = factor * speed;
      }
    }
  });
}

double CircleTokens::log_energy(std::span<const double> angles) const {
  return circle_log_energy(spectrum_, moments(angles, spectrum_.count()));
}

double circle_log_energy(const SphereSpectrum& spectrum,
                         std::span<const std::complex<double>> moments) {
  if (spectrum.beta == 0) return std::log(0.5 * std::norm(moments[1]));
  double sum = 1;
  for (std::size_t k = 1; k < std::min(moments.size(), spectrum.count()); ++k)
    sum += 2 * spectrum.ratio[k] * std::norm(moments[k]);
  return spectrum.beta + spectrum.log_scale + std::log(sum / (2 * spectrum.beta));
}

}  // namespace attractor::meanfield
