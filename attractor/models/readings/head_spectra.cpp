#include "attractor/models/readings/head_spectra.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/dense.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::models {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

/// Rows [begin, begin + count) of W, their columns multiplied by a gain.
MatrixXd rows_of(const Linear& w, std::size_t begin, std::size_t count,
                 const std::vector<float>& gain) {
  MatrixXd m(static_cast<Index>(count), static_cast<Index>(w.weights.inputs()));
  for (std::size_t r = 0; r < count; ++r)
    for (std::size_t c = 0; c < w.weights.inputs(); ++c)
      m(static_cast<Index>(r), static_cast<Index>(c)) =
          static_cast<double>(w.weights.at(begin + r, c)) *
          (gain.empty() ? 1.0 : static_cast<double>(gain[c]));
  return m;
}

MatrixXd columns_of(const Linear& w, std::size_t begin, std::size_t count) {
  MatrixXd m(static_cast<Index>(w.weights.outputs()), static_cast<Index>(count));
  for (std::size_t r = 0; r < w.weights.outputs(); ++r)
    for (std::size_t c = 0; c < count; ++c)
      m(static_cast<Index>(r), static_cast<Index>(c)) =
          static_cast<double>(w.weights.at(r, begin + c));
  return m;
}

/// Of L^T R, both small x d: the eigenvalues are those of R L^T.
MatrixPortrait portrait(const MatrixXd& left, const MatrixXd& right) {
  const MatrixXd small = right * left.transpose();
  const double squares = (left * left.transpose()).cwiseProduct(right * right.transpose()).sum();
  const double turned = small.cwiseProduct(small.transpose()).sum();  // tr (L^T R)^2
  MatrixPortrait p{.size = std::sqrt(squares),
                   .trace = small.trace(),
                   .antisymmetric = kNan,
                   .rotation = kNan,
                   .positive = kNan};
  if (squares > 0) p.antisymmetric = (squares - turned) / (2 * squares);
  double imaginary = 0, all = 0, up = 0, sizes = 0;
  for (const std::complex<double>& l : general_eigenvalues(small)) {
    p.eigenvalues.push_back(l);
    imaginary += l.imag() * l.imag();
    all += std::norm(l);
    up += std::max(l.real(), 0.0);
    sizes += std::abs(l.real());
    p.radius = std::max(p.radius, std::abs(l));
  }
  std::stable_sort(p.eigenvalues.begin(), p.eigenvalues.end(),
                   [](const auto& a, const auto& b) { return std::abs(a) > std::abs(b); });
  if (all > 0) p.rotation = imaginary / all;
  if (sizes > 0) p.positive = up / sizes;
  return p;
}

}  // namespace

HeadSpectra spectra(const Architecture& a, const Layer& layer, std::size_t head) {
  static const std::vector<float> kNoGain;
  const std::vector<float>& gain = a.place == NormPlace::pre ? layer.attention_norm.gain : kNoGain;
  const std::size_t dim = a.head_dim, group = head / (a.heads / a.key_heads);
  MatrixXd query = rows_of(layer.query, head * dim, dim, gain);
  query /= std::sqrt(static_cast<double>(dim));
  const MatrixXd key = rows_of(layer.key, group * dim, dim, gain);
  const MatrixXd value = rows_of(layer.value, group * dim, dim, gain);
  const MatrixXd output = columns_of(layer.output, head * dim, dim);
  return {.logits = portrait(query, key), .values = portrait(output.transpose(), value)};
}

}  // namespace attractor::models
