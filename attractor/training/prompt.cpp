#include "attractor/training/prompt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attractor/base/threads.hpp"

namespace attractor::training {
namespace {

std::size_t largest(std::span<const double> values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

}  // namespace

Prompt::Prompt(const Problem& problem, Loss loss)
    : inputs_(problem.inputs),
      tokens_(problem.tokens),
      dim_(problem.dim),
      keys_(training::keys(problem)),
      scores_(training::scores(problem)),
      loss_(loss) {}

std::vector<double> Prompt::log_attention(std::size_t input, std::span<const double> p) const {
  std::vector<double> logits(tokens_);
  for (std::size_t t = 0; t < tokens_; ++t)
    logits[t] = dot(std::span(keys_).subspan((input * tokens_ + t) * dim_, dim_), p);
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (double& l : logits) sum += std::exp(l -= top);
  for (double& l : logits) l -= std::log(sum);
  return logits;
}

double Prompt::loss(std::span<const double> p) const {
  const std::vector<double> s = attention(p);
  double total = 0;
  for (std::size_t i = 0; i < inputs_; ++i)
    total += value(loss_, dot(std::span(s).subspan(i * tokens_, tokens_),
                              std::span(scores_).subspan(i * tokens_, tokens_)));
  return total / static_cast<double>(inputs_);
}

std::vector<double> Prompt::attention(std::span<const double> p) const {
  std::vector<double> weights;
  for (std::size_t i = 0; i < inputs_; ++i)
    for (double l : log_attention(i, p)) weights.push_back(std::exp(l));
  return weights;
}

std::vector<std::size_t> Prompt::selected(std::span<const double> p) const {
  std::vector<std::size_t> choice(inputs_);
  for (std::size_t i = 0; i < inputs_; ++i) choice[i] = largest(log_attention(i, p));
  return choice;
}

ScaledVector Prompt::descent(std::span<const double> p) const {
  // First the log-weights and score differences of every input, then one sum scaled by the largest.
  std::vector<double> log_weight(inputs_ * tokens_), excess(inputs_ * tokens_);
  std::vector<std::size_t> chosen(inputs_);
  parallel_for(inputs_, std::max<std::size_t>(1, 65536 / (tokens_ * dim_)),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const std::vector<double> log_s = log_attention(i, p);
                   const auto gamma = std::span(scores_).subspan(i * tokens_, tokens_);
                   const std::size_t a = chosen[i] = largest(log_s);
                   double mean = 0;  // of gamma_t - gamma_a
                   for (std::size_t t = 0; t < tokens_; ++t)
                     mean += std::exp(log_s[t]) * (gamma[t] - gamma[a]);
                   const double slope = log_slope(loss_, gamma[a] + mean);
                   for (std::size_t t = 0; t < tokens_; ++t) {
                     log_weight[i * tokens_ + t] = slope + log_s[t];
                     excess[i * tokens_ + t] = t == a ? 0 : gamma[t] - gamma[a] - mean;
                   }
                 }
               });
  ScaledVector result{-std::numeric_limits<double>::infinity(), std::vector<double>(dim_, 0.0)};
  for (std::size_t k = 0; k < excess.size(); ++k)
    if (excess[k] != 0) result.log_scale = std::max(result.log_scale, log_weight[k]);
  if (!std::isfinite(result.log_scale)) return {0, result.vector};
  for (std::size_t k = 0; k < excess.size(); ++k) {
    if (excess[k] == 0) continue;
    const double factor = std::exp(log_weight[k] - result.log_scale) * excess[k];
    const std::size_t own = (k / tokens_ * tokens_ + chosen[k / tokens_]) * dim_;
    for (std::size_t b = 0; b < dim_; ++b)
      result.vector[b] += factor * (keys_[k * dim_ + b] - keys_[own + b]);
  }
  result.log_scale -= std::log(static_cast<double>(inputs_));
  return result;
}

PromptFlow::PromptFlow(const Prompt& prompt, Descent kind, double epsilon)
    : prompt_(prompt), kind_(kind), epsilon_(epsilon), space_(prompt.dim()) {}

void PromptFlow::drift(std::span<const double> p, double log_unit, std::span<double> out) const {
  const ScaledVector descent = prompt_.descent(p);
  const double length = norm(descent.vector);
  double factor = std::exp(log_unit + descent.log_scale);
  if (kind_ == Descent::normalised) factor = length > 0 ? std::exp(log_unit) / length : 0;
  if (kind_ == Descent::published) factor /= std::exp(descent.log_scale) * length + epsilon_;
  for (std::size_t b = 0; b < out.size(); ++b) out[b] = factor * descent.vector[b];
}

double PromptFlow::fitting_log_unit(std::span<const double> p, double present) const {
  if (kind_ != Descent::gradient) return present;
  const ScaledVector descent = prompt_.descent(p);
  const double length = norm(descent.vector);
  return length > 0 ? -descent.log_scale - std::log(length) : present;
}

}  // namespace attractor::training
