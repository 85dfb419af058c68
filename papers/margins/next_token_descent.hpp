// Gradient descent of one attention layer W on next tokens, and what theory says of it (arXiv
// 2403.08081). The loss is the mean of -ln(weight of the label y), s = softmax(X W e_k).
//
// Write r = (e_y - e_t) e_k^T for an edge y -> t of the priority graph of k (token_priority.hpp),
// and S for the span of the r whose ends lie in one strongly connected component. With A = P_S W a
// sequence loses
//
//   ln(Z(A) + sum_{t in a lower component} e^{-<r, W>}),   Z(A) = sum_{u in that of y} e^{-<r, A>}.
//
// The second sum vanishes as B = W - A grows along a direction with <r, B> > 0, and ln Z is left:
// Luce's model. Embeddings being independent, its differences of logits can be had at will, so A
// tends to W_fin in S, <r, W_fin> = ln w_y - ln w_t. B separates, as in logistic regression, the
// rows g = r - P_S r (Soudry et al., arXiv 1710.10345): with tau = step x steps
//
//   B = W_svm ln tau + rho + o(1),   W_svm = argmin |W|_F: <g, W> >= 1   (Graph-SVM;
//
// W_svm in the span of the g has <r, W_svm> = 0 within components; longer paths add nothing). Rows
// between the same two components have the same g. Let W_svm = sum lambda_g g and c_g the sum of
// (1/n) e^{-<r, W_fin>} / Z over the terms of g. As dB/dtau = sum c_g e^{-<g, B>} g,
//
//   <g, rho> = ln(c_g / lambda_g) on tight rows,   tau (L - L*) -> sum lambda_g = |W_svm|^2,
//   |A - W_fin| = O(1 / tau),   1 - cosine(W, W_svm) = O(1 / ln^2 tau).
#pragma once

#include "attractor/solve/hard_margin.hpp"
#include "papers/entry.hpp"
#include "papers/margins/token_priority.hpp"

namespace attractor::papers {

/// The point of a linear span that has given products with the rows added so far.
class Fitted {
 public:
  explicit Fitted(std::size_t dim) : point_(dim, 0) {}
  /// Does nothing if the row depends on those before.
  void add(std::span<const double> row, double product);
  /// What is left of it outside of the span.
  std::vector<double> outside(std::span<const double> vector) const;
  std::size_t rank() const { return basis_.size(); }
  const std::vector<double>& point() const { return point_; }

 private:
  std::vector<std::vector<double>> basis_{};  // orthonormal
  std::vector<double> point_;
};

/// An edge of the graph of `last`; higher: it leads to another component.
struct Edge {
  std::size_t last, above, below;
  bool higher;
};

struct GraphSvm {
  std::vector<Edge> edges{};         // distinct
  std::vector<double> g{};           // distinct rows, dim^2 each
  solve::HardMargin svm{};           // on these rows
  Fitted cyclic{0};                  // S, with W_fin
  Fitted tight{0};                   // the span of the support, with rho
  bool complete = false;             // it is the span of all rows: rho has no other part
  double least_loss = 0;             // L*
  solve::MarginStatus every_edge{};  // of the margin problem that has all edges as rows
};

GraphSvm graph_svm_of(const Corpus& corpus);
/// ln(tau) W_svm + W_fin + rho, as far as rho is known.
std::vector<double> predicted(const GraphSvm& theory, double tau);

struct Descent {
  struct Look {
    double tau, excess;  // L - L*
    std::vector<double> w;
  };
  Corpus corpus;
  GraphSvm theory;
  std::vector<Look> looks{};  // from step 1 on, sixteen in each decade of steps

  const Look& last() const { return looks.back(); }
  const Look& decade_before() const { return looks[looks.size() - 17]; }
  /// |P_S W - W_fin|
  double finite_error(const Look& at) const;
  /// How W grew over the last decade, for each unit of ln tau.
  std::vector<double> growth() const;
};

/// From W = 0 with step 1: the loss has curvature at most 1 for unit tokens.
Descent descend(const Corpus& corpus, int decades, const Effort& effort);

}  // namespace attractor::papers
