// The pieces of a layer, each with its derivative: y = f(x) and, for perturbations of x, dy = f'(x)
// dx. Sums over a token are taken in double precision.
#pragma once

#include <span>
#include <vector>

#include "attractor/models/matrix.hpp"
#include "attractor/models/model.hpp"

namespace attractor::models {

Matrix apply(const Linear& f, const Matrix& x);
/// Without its bias: the derivative of a linear map is itself.
Matrix apply_to_tangent(const Linear& f, const Matrix& dx);

/// N(x), of every `columns` numbers of a row where `columns` divides its length (heads), else of
/// the whole row.
Matrix normed(const Norm& norm, NormKind kind, double epsilon, const Matrix& x,
              std::size_t columns = 0);
Matrix normed_tangent(const Norm& norm, NormKind kind, double epsilon, const Matrix& x,
                      const Matrix& dx, std::size_t columns = 0);

/// W_down act(W_up x), or gated.
struct HiddenBlock {
  const Layer& layer;
  Activation activation;
  Matrix up, gate;  // before the activation
};
Matrix feed_forward(HiddenBlock& block, const Matrix& x);
Matrix feed_forward_tangent(const HiddenBlock& block, const Matrix& dx);

void add(Matrix& x, const Matrix& y);

}  // namespace attractor::models
