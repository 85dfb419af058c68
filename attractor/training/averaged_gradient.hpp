// Methods that move the weights by a rescaled average of past gradients. With g = -grad L,
//
//   m' = b1 m + (1 - b1) g,   s' = b2 s + (1 - b2) g^2   (entry by entry),   k = 1, 2, ...
//
//   adam   w' = w + h (m' / (1 - b1^k)) / (sqrt(s' / (1 - b2^k)) + epsilon)      Kingma, Ba 2014
//   sign   w' = w + h sign(m')                                   signSGD; Signum if b1 > 0
//   muon   W' = W + h U V^T,   m' = U S V^T                                      Jordan et al. 2024
//
// muon takes every trained block as a matrix (W: d x d, K and Q: d x rank) and knows none for a
// vector. Its polar factor is exact, not some steps of an iteration.
//
// On separable data g falls like e^{-margin |w|}, below every double, while all three move on: m
// and sqrt(s) of a block are kept over e^scale with their largest entry 1, and the scale with them.
// Only epsilon has a size of its own, and stops adam where gradients fall below it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/training/objective.hpp"
#include "attractor/training/update.hpp"

namespace attractor::training {

struct AverageOptions {
  Update rule = Update::adam;
  double beta1 = 0.9, beta2 = 0.999;  // beta2: adam
  double epsilon = 0;                 // adam
};

class AveragedGradient {
 public:
  /// A view of the objective. Throws Error if the rule has no meaning for what is trained.
  AveragedGradient(const Objective& objective, const AverageOptions& options);

  /// How many numbers a state keeps beside the weights.
  std::size_t size() const { return size_; }
  void start(std::span<double> kept) const;
  /// One step with the gradient that `e` saw: what is kept after it, and (w' - w) / h.
  void advance(const Evaluation& e, std::span<const double> kept, std::span<double> next,
               std::span<double> move) const;

 private:
  bool keeps() const { return size_ > 0; }
  bool squares() const { return options_.rule == Update::adam; }
  struct Averages {
    std::vector<double> mean{}, square{};  // over e^scale and e^{2 scale}
    double scale = 0;
  };
  Averages averages(std::size_t block, const Evaluation& e, std::span<const double> kept) const;
  void rescale(const Block& block, const Averages& now, std::span<const double> next,
               std::span<double> move) const;

  const Objective& objective_;
  AverageOptions options_;
  std::size_t dim_, size_ = 0;
};

/// U V^T of A = U S V^T, row by row. Singular values below `least` of the largest count as 0:
/// doubles do not hold their directions.
std::vector<double> polar_factor(std::span<const double> A, std::size_t rows, std::size_t columns,
                                 double least = 1e-12);

}  // namespace attractor::training
