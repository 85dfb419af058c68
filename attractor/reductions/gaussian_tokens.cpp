#include "attractor/reductions/gaussian_tokens.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <cmath>
#include <utility>

#include "attractor/base/dense.hpp"
#include "attractor/base/error.hpp"
#include "attractor/flow/run.hpp"

namespace attractor::meanfield {
namespace {

using Given = Eigen::Map<const RowMatrix>;

/// An empty matrix is the identity.
RowMatrix weight(const std::vector<double>& given, Eigen::Index d) {
  if (given.empty()) return RowMatrix::Identity(d, d);
  return Given(given.data(), d, d);
}

}  // namespace

GaussianTokens::GaussianTokens(Attention attention, double noise)
    : attention_(std::move(attention)),
      noise_(noise),
      space_(attention_.dim + attention_.dim * attention_.dim) {
  if (attention_.rule != Rule::softmax)
    throw Error(
        fmt::format("Gaussian tokens stay Gaussian under sa, not under {}", name(attention_.rule)));
  if (!(noise >= 0 && std::isfinite(noise)))
    throw Error(fmt::format("noise is {}; allowed: 0 or more, finite", noise));
  for (const auto* m : {&attention_.query, &attention_.key, &attention_.value})
    if (!m->empty() && m->size() != attention_.dim * attention_.dim)
      throw Error(fmt::format("a matrix has {} entries; {} x {} are needed", m->size(),
                              attention_.dim, attention_.dim));
}

void GaussianTokens::drift(std::span<const double> state, double log_unit,
                           std::span<double> out) const {
  const auto d = static_cast<Eigen::Index>(attention_.dim);
  const Eigen::Map<const Eigen::VectorXd> m(state.data(), d);
  const Given s(state.data() + d, d, d);
  const RowMatrix v = weight(attention_.value, d);
  const RowMatrix a =
      attention_.beta * v * s * weight(attention_.key, d).transpose() * weight(attention_.query, d);
  const double unit = std::exp(log_unit);
  Eigen::Map<Eigen::VectorXd>(out.data(), d) = unit * (v * m + a * m);
  const RowMatrix turned = a * s;
  Eigen::Map<RowMatrix>(out.data() + d, d, d) =
      unit * (turned + turned.transpose() + 2 * noise_ * RowMatrix::Identity(d, d));
}

std::vector<double> GaussianTokens::state(const GaussianLaw& law) const {
  const std::size_t d = attention_.dim;
  if (law.mean.size() != d || law.covariance.size() != d * d)
    throw Error(fmt::format("a law of mean {} and covariance {} numbers; {} and {} are needed",
                            law.mean.size(), law.covariance.size(), d, d * d));
  std::vector<double> state = law.mean;
  state.insert(state.end(), law.covariance.begin(), law.covariance.end());
  return state;
}

GaussianLaw GaussianTokens::law(std::span<const double> state) const {
  const auto cut = state.begin() + static_cast<std::ptrdiff_t>(attention_.dim);
  return {{state.begin(), cut}, {cut, state.end()}};
}

GaussianLaw gaussian_after(const Attention& attention, double noise, const GaussianLaw& start,
                           double time, double tolerance) {
  GaussianTokens flow(attention, noise);
  flow::Progress progress{.state = flow.state(start)};
  const flow::Status status = flow::run(
      flow, flow::dormand_prince(),
      {.end = flow::Time(time), .tolerance = tolerance, .max_steps = 1'000'000}, progress, {});
  if (status != flow::Status::complete)
    throw Error(
        fmt::format("Gaussian tokens diverge before time {}: at {}", time, progress.time.value()));
  return flow.law(progress.state);
}

}  // namespace attractor::meanfield
