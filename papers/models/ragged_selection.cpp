#include "papers/models/ragged_selection.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/token_rows.hpp"

namespace attractor::papers {
namespace {

constexpr std::size_t kBlock = 32;  // inputs whose slopes are added up first, in order

/// Sums over a block of inputs.
struct Part {
  double loss = 0, right = 0, sparsity = 0;
  std::vector<double> slope_p, slope_v;
};

/// s = softmax(s); returns where it is largest.
std::size_t soften(std::span<double> s) {
  const auto top = static_cast<std::size_t>(std::max_element(s.begin(), s.end()) - s.begin());
  const double peak = s[top];
  double sum = 0;
  for (double& logit : s) sum += logit = std::exp(logit - peak);
  for (double& weight : s) weight /= sum;
  return top;
}

class Worker {
 public:
  Worker(const RaggedInputs& inputs, const SelectionWeights& weights)
      : inputs_(inputs), weights_(weights), mixed_(inputs.dim) {}

  void see(std::size_t i, Part& part, SelectionLook& look) {
    const std::size_t tokens = inputs_.tokens(i);
    const auto rows = inputs_.rows(i);
    s_.resize(tokens), g_.resize(tokens);
    kernels::row_products(rows, weights_.p, s_);
    kernels::row_products(rows, weights_.v, g_);
    const std::size_t top = soften(s_);
    const auto base = inputs_.token(i, top);
    double f = 0;
    for (std::size_t t = 0; t < tokens; ++t) f += s_[t] * g_[t];
    const double y = inputs_.labels[i], margin = y * f;
    // dl/df, and ln(1 + e^{-margin}) without overflow.
    const double pull = -y / (1 + std::exp(margin));
    part.loss += std::log1p(std::exp(-std::abs(margin))) + std::max(0.0, -margin);
    part.sparsity += s_[top];
    part.right += margin > 0 ? 1 : 0;
    look.chosen[i] = top;
    right_ = margin > 0;
    kernels::weighted_differences(rows, s_, base, mixed_);
    for (std::size_t a = 0; a < mixed_.size(); ++a) part.slope_v[a] += pull * (mixed_[a] + base[a]);
    for (std::size_t t = 0; t < tokens; ++t) s_[t] *= pull * (g_[t] - f);
    kernels::weighted_differences(rows, s_, base, mixed_);
    for (std::size_t a = 0; a < mixed_.size(); ++a) part.slope_p[a] += mixed_[a];
  }
  bool right() const { return right_; }

 private:
  const RaggedInputs& inputs_;
  const SelectionWeights& weights_;
  std::vector<double> s_{}, g_{}, mixed_;
  bool right_ = false;
};

}  // namespace

void add_input(RaggedInputs& inputs, std::span<const double> rows, double label) {
  inputs.x.insert(inputs.x.end(), rows.begin(), rows.end());
  inputs.begin.push_back(inputs.x.size() / inputs.dim);
  inputs.labels.push_back(label);
}

SelectionLook look_at(const RaggedInputs& inputs, const SelectionWeights& weights) {
  const std::size_t n = inputs.size(), d = inputs.dim, blocks = (n + kBlock - 1) / kBlock;
  std::vector<Part> parts(blocks);
  SelectionLook look;
  look.chosen.resize(n);
  std::vector<char> right(n);
  parallel_for(blocks, 1, [&](std::size_t first, std::size_t last) {
    Worker worker(inputs, weights);
    for (std::size_t b = first; b < last; ++b) {
      parts[b].slope_p.assign(d, 0.0), parts[b].slope_v.assign(d, 0.0);
      for (std::size_t i = b * kBlock; i < std::min(n, (b + 1) * kBlock); ++i) {
        worker.see(i, parts[b], look);
        right[i] = worker.right() ? 1 : 0;
      }
    }
  });
  look.right.assign(right.begin(), right.end());
  look.slope_p.assign(d, 0.0), look.slope_v.assign(d, 0.0);
  const auto count = static_cast<double>(n);
  for (const Part& part : parts) {
    look.loss += part.loss / count;
    look.accuracy += part.right / count;
    look.sparsity += part.sparsity / count;
    for (std::size_t a = 0; a < d; ++a) {
      look.slope_p[a] += part.slope_p[a] / count;
      look.slope_v[a] += part.slope_v[a] / count;
    }
  }
  return look;
}

SelectionWeights descend(
    const RaggedInputs& inputs, double step, std::size_t steps,
    const std::function<bool(std::size_t, const SelectionWeights&, const SelectionLook&)>& each) {
  SelectionWeights w{std::vector<double>(inputs.dim, 0.0), std::vector<double>(inputs.dim, 0.0)};
  for (std::size_t k = 0;; ++k) {
    const SelectionLook look = look_at(inputs, w);
    if (!each(k, w, look) || k == steps) return w;
    for (std::size_t a = 0; a < inputs.dim; ++a) {
      w.p[a] -= step * look.slope_p[a];
      w.v[a] -= step * look.slope_v[a];
    }
  }
}

RaggedDifferences::RaggedDifferences(const RaggedInputs& inputs,
                                     std::span<const std::size_t> chosen)
    : inputs_(inputs), chosen_(chosen.begin(), chosen.end()) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::size_t t = 0; t < inputs.tokens(i); ++t)
      if (t != chosen_[i]) rows_.push_back({i, t});
}

void RaggedDifferences::products(std::span<const double> p, std::span<double> out) const {
  parallel_for(rows_.size(), 4096, [&](std::size_t first, std::size_t last) {
    std::vector<double> difference(inputs_.dim);
    for (std::size_t j = first; j < last; ++j) {
      row(j, difference);
      kernels::row_products(difference, p, out.subspan(j, 1));
    }
  });
}

void RaggedDifferences::row(std::size_t j, std::span<double> out) const {
  const auto chosen = inputs_.token(rows_[j].input, chosen_[rows_[j].input]);
  const auto other = inputs_.token(rows_[j].input, rows_[j].token);
  for (std::size_t a = 0; a < out.size(); ++a) out[a] = chosen[a] - other[a];
}

solve::HardMargin label_margin_of(const std::vector<double>& tokens,
                                  const std::vector<double>& labels, std::size_t dim) {
  std::vector<double> rows = tokens;
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] *= labels[k / dim];
  const std::vector<double> bounds(labels.size(), 1.0);
  return solve::hard_margin(solve::DenseConstraints(rows, bounds, dim));
}

}  // namespace attractor::papers
