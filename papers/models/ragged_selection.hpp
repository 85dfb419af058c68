// Token selection (training/problem.hpp) for inputs of different lengths: prompt p and head v,
//
//   f_i = <v, sum_t s_it x_it>,   s_i = softmax(X_i p),   L = mean_i ln(1 + e^{-Y_i f_i}),
//
// trained together by gradient descent, and the max-margin problem of the tokens it selects. The
// library's objective has as many tokens in every input; where all are equally long the two agree
// (the entry that uses this checks it).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "attractor/solve/constraints.hpp"
#include "attractor/solve/hard_margin.hpp"

namespace attractor::papers {

struct RaggedInputs {
  std::size_t dim = 0;
  std::vector<std::size_t> begin = {0};  // of each input's tokens, and where the last one ends
  std::vector<double> x{};               // tokens x dim
  std::vector<double> labels{};          // +1 or -1

  std::size_t size() const { return labels.size(); }
  std::size_t tokens(std::size_t i) const { return begin[i + 1] - begin[i]; }
  std::span<const double> rows(std::size_t i) const {
    return std::span(x).subspan(begin[i] * dim, tokens(i) * dim);
  }
  std::span<const double> token(std::size_t i, std::size_t t) const {
    return std::span(x).subspan((begin[i] + t) * dim, dim);
  }
};

/// One more input of `rows` (tokens x dim).
void add_input(RaggedInputs& inputs, std::span<const double> rows, double label);

struct SelectionWeights {
  std::vector<double> p{}, v{};
};

/// What is seen at some weights.
struct SelectionLook {
  double loss = 0, accuracy = 0;
  double sparsity = 0;                       // largest weight of an input, mean
  std::vector<double> slope_p{}, slope_v{};  // grad L
  std::vector<std::size_t> chosen{};         // the token of largest weight
  std::vector<bool> right{};
};
SelectionLook look_at(const RaggedInputs& inputs, const SelectionWeights& weights);

/// Plain steps from 0; `each` is called before every one and after the last, and ends it by false.
SelectionWeights descend(
    const RaggedInputs& inputs, double step, std::size_t steps,
    const std::function<bool(std::size_t, const SelectionWeights&, const SelectionLook&)>& each);

/// <p, x_{i,chosen_i} - x_it> >= 1 for all other tokens t of all inputs. A view.
class RaggedDifferences : public solve::Constraints {
 public:
  RaggedDifferences(const RaggedInputs& inputs, std::span<const std::size_t> chosen);

  std::size_t size() const override { return rows_.size(); }
  std::size_t dim() const override { return inputs_.dim; }
  void products(std::span<const double> p, std::span<double> out) const override;
  void row(std::size_t j, std::span<double> out) const override;
  double bound(std::size_t) const override { return 1; }
  std::size_t groups() const override { return inputs_.size(); }
  std::size_t group(std::size_t j) const override { return rows_[j].input; }
  std::size_t input(std::size_t j) const { return rows_[j].input; }
  std::size_t token(std::size_t j) const { return rows_[j].token; }

 private:
  struct Row {
    std::size_t input, token;
  };
  const RaggedInputs& inputs_;
  std::vector<std::size_t> chosen_;
  std::vector<Row> rows_{};
};

/// <v, Y_i x_i> >= 1 where input i has the single token x_i: n x dim.
solve::HardMargin label_margin_of(const std::vector<double>& tokens,
                                  const std::vector<double>& labels, std::size_t dim);

}  // namespace attractor::papers
