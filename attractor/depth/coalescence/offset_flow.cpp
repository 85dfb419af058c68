#include "attractor/depth/coalescence/offset_flow.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/coalescence/linearised_row.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

constexpr double kNode = 0.28867513459481287;  // sqrt 3 / 6
constexpr double kNegligible = 1e-14;          // of an exponent
constexpr double kMostPieces = 16;
constexpr std::size_t kMostSquared = 128;  // dimensions in which matrices are squared

/// One centre at the two nodes of a stretch.
struct Nodes {
  const LinearisedRow &first, &second;
  double h;
};

/// A matrix times e^log.
struct LogMatrix {
  Eigen::MatrixXd matrix;
  double log = 0;
};

Eigen::MatrixXd matrix_of(const LinearisedRow& row, std::size_t dim) {
  const auto d = static_cast<Eigen::Index>(dim);
  Eigen::MatrixXd matrix(d, d);
  row.matrix({matrix.data(), dim * dim});
  return matrix;
}

/// e^m by squaring; the logarithm keeps it in range.
LogMatrix exponential_matrix(Eigen::MatrixXd m) {
  const Eigen::Index d = m.rows();
  const double size = m.norm();
  const int squarings =
      std::max(0, static_cast<int>(std::ceil(std::log2(std::max(size, 1e-300)))) + 1);
  m *= std::ldexp(1.0, -squarings);
  LogMatrix result{.matrix = Eigen::MatrixXd::Identity(d, d)};
  int terms = 1;
  for (double left = m.norm(); left > 1e-18; left *= m.norm() / terms) ++terms;
  for (int k = terms; k >= 1; --k)
    result.matrix = Eigen::MatrixXd::Identity(d, d) + m * result.matrix / k;
  for (int k = 0; k < squarings; ++k) {
    result.matrix = (result.matrix * result.matrix).eval();
    const double largest = result.matrix.cwiseAbs().maxCoeff();
    result.matrix /= largest;
    result.log = 2 * result.log + std::log(largest);
  }
  return result;
}

/// b <- e^{h (p K_1 + q K_2)} b by Taylor's series of short pieces.
void exponential(const Nodes& n, double p, double q, std::span<double> b, std::vector<double>& term,
                 std::vector<double>& next) {
  const double size = n.h * (std::abs(p) * n.first.size() + std::abs(q) * n.second.size());
  const double pieces = std::clamp(std::ceil(size), 1.0, 4096.0);
  for (double piece = 0; piece < pieces; ++piece) {
    term.assign(b.begin(), b.end());
    for (int k = 1; k <= 40; ++k) {
      const double scale = n.h / (pieces * k);
      next.assign(b.size(), 0.0);
      n.first.add_product(term, p * scale, next);
      n.second.add_product(term, q * scale, next);
      term.swap(next);
      for (std::size_t c = 0; c < b.size(); ++c) b[c] += term[c];
      if (norm(term) <= 1e-17 * norm(b)) break;
    }
  }
}

/// The carried vectors of one token of the state, over one stretch.
void carry(const Nodes& n, std::span<const double> centre, std::size_t dim, LogVectors& v) {
  const Sphere sphere(dim);
  const double contraction = 0.5 * n.h * (n.first.rate() + n.second.rate());
  const double most = n.h * std::max(n.first.size(), n.second.size());
  const bool turns = most > kNegligible;
  // A matrix costs less than dim products, once, a series about eight for each vector.
  const bool by_matrix = dim <= kMostSquared && (most > 2 || (turns && 8 * v.log.size() > dim));
  LogMatrix whole;
  if (by_matrix) {
    const Eigen::MatrixXd one = n.h * matrix_of(n.first, dim), two = n.h * matrix_of(n.second, dim);
    whole = exponential_matrix((0.25 + kNode) * one + (0.25 - kNode) * two);
    const LogMatrix last = exponential_matrix((0.25 - kNode) * one + (0.25 + kNode) * two);
    whole.matrix = last.matrix * whole.matrix;
    whole.log += last.log;
  }
  std::vector<double> term, next;
  for (std::size_t k = 0; k < v.log.size(); ++k) {
    const auto b = std::span(v.unit).subspan(k * dim, dim);
    if (by_matrix) {
      Eigen::Map<Eigen::VectorXd> x(b.data(), static_cast<Eigen::Index>(dim));
      x = whole.matrix * x;
      v.log[k] += whole.log;
    } else if (turns) {
      exponential(n, 0.25 + kNode, 0.25 - kNode, b, term, next);
      exponential(n, 0.25 - kNode, 0.25 + kNode, b, term, next);
    }
    sphere.project(centre, b);
    const double length = norm(b);
    v.log[k] = length > 0 ? v.log[k] + contraction + std::log(length) : -kInfinity;
    for (double& c : b) c = length > 0 ? c / length : 0;
  }
}

}  // namespace

void carry_offsets(const Attention& attention, const flow::Stretch& stretch, double theta,
                   TokenGroups& groups) {
  std::vector<std::size_t> several;
  for (std::size_t s = 0; s < groups.below().size(); ++s) {
    Offsets& o = groups.below()[s];
    o.now = o.start;
    if (o.carried() > 0) several.push_back(s);
  }
  if (several.empty() || theta <= 0) return;
  const std::size_t dim = attention.dim, size = groups.count() * dim;
  std::vector<double> first(size), second(size), end(size);
  double pieces = 1;
  for (double piece = 0; piece < pieces; ++piece) {
    const double from = theta * piece / pieces, length = theta / pieces;
    stretch.at(from + length * (0.5 - kNode), first);
    stretch.at(from + length * (0.5 + kNode), second);
    const RowSources a(attention, first, groups.masses(), groups.total());
    const RowSources b(attention, second, groups.masses(), groups.total());
    if (piece == 0 && pieces == 1) {  // cut the stretch where |K| h is large
      double largest = 0;
      for (const std::size_t s : several)
        largest = std::max(largest, LinearisedRow(a, s, stretch.log_unit).size());
      const double wanted = std::ceil(std::min(kMostPieces, largest * stretch.h * theta));
      if (wanted > 1) {
        pieces = wanted;
        piece = -1;
        continue;
      }
    }
    stretch.at(from + length, end);
    parallel_for(several.size(), 1, [&](std::size_t begin, std::size_t last) {
      for (std::size_t k = begin; k < last; ++k) {
        const std::size_t s = several[k];
        const LinearisedRow one(a, s, stretch.log_unit), two(b, s, stretch.log_unit);
        carry({one, two, stretch.h * length}, std::span(end).subspan(s * dim, dim), dim,
              groups.below()[s].now);
      }
    });
  }
}

double log_inner_dissipation(const Attention& attention, std::span<const double> state,
                             const TokenGroups& groups) {
  const double nothing = -kInfinity;
  const std::size_t dim = attention.dim;
  const std::vector<double> offsets = groups.offsets();
  const RowSources sources(attention, state, groups.masses(), groups.total());
  const double unit = attention.rule == Rule::unnormalised ? -attention.beta : 0;
  std::vector<double> velocity(dim), power(groups.count(), 0.0);
  std::vector<std::optional<LinearisedRow>> rows(groups.count());
  double largest = nothing;
  for (std::size_t i = 0; i * dim < offsets.size(); ++i) {
    const std::size_t s = groups.owner()[i];
    const auto xi = std::span(offsets).subspan(i * dim, dim);
    if (groups.below()[s].nodes.empty()) continue;
    if (!rows[s]) rows[s].emplace(sources, s, unit);
    for (std::size_t a = 0; a < dim; ++a) velocity[a] = rows[s]->rate() * xi[a];
    rows[s]->add_product(xi, 1, velocity);
    Sphere(dim).project(state.subspan(s * dim, dim), velocity);
    power[s] += dot(velocity, velocity);
  }
  double sum = 0;
  std::vector<double> logs;
  for (std::size_t s = 0; s < power.size(); ++s) {
    if (!(power[s] > 0)) continue;
    logs.push_back(std::log(power[s] / groups.total()) - 2 * unit +
                   (attention.rule == Rule::softmax ? rows[s]->log_partition() : 0) -
                   (attention.rule == Rule::softmax ? std::log(groups.total()) : 0));
    largest = std::max(largest, logs.back());
  }
  for (const double log : logs) sum += std::exp(log - largest);
  return logs.empty() ? nothing : largest + std::log(sum);
}

}  // namespace attractor::depth
