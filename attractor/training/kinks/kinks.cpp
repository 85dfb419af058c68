#include "attractor/training/kinks/kinks.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/dense.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

using Vector = Eigen::VectorXd;
constexpr double kSame = 1e-13;  // coefficients in proportion

// The earlier input with the same tokens and query, or itself.
std::vector<std::size_t> twins(const Problem& p) {
  std::vector<std::size_t> twin(p.inputs);
  const std::size_t row = p.tokens * p.dim;
  const auto same = [&](std::size_t i, std::size_t j) {
    const auto x = p.x.begin();
    const auto q = p.queries.begin();
    return std::equal(x + i * row, x + (i + 1) * row, x + j * row) &&
           (p.queries.empty() || std::equal(q + i * p.dim, q + (i + 1) * p.dim, q + j * p.dim));
  };
  for (std::size_t i = 0; i < p.inputs; ++i) {
    twin[i] = 0;
    while (twin[i] < i && (twin[twin[i]] != twin[i] || !same(i, twin[i]))) ++twin[i];
  }
  return twin;
}

}  // namespace

Kinks::Kinks(const Objective& objective) : objective_(objective) {
  const Problem& p = objective.problem();
  if (!p.head.kinked() || objective.trained().attention == AttentionPart::none) return;
  direction_ = p.head.hidden;
  if (direction_.empty()) {
    direction_.assign(p.dim * p.dim, 0.0);
    for (std::size_t k = 0; k < p.dim; ++k) direction_[k * (p.dim + 1)] = 1;
  }
  const std::vector<std::size_t> twin = twins(p);
  for (std::size_t i = 0; i < p.inputs; ++i)
    for (std::size_t k = 0; k < p.head.units(); ++k)
      if (p.head.activation.of(k) == Activation::relu) add(i, k, twin);
}

// Joins the group of a unit with U and b in proportion, or founds one.
void Kinks::add(std::size_t input, std::size_t unit, std::span<const std::size_t> twin) {
  const Problem& p = objective_.problem();
  const auto direction = [&](std::size_t k) {
    return std::span(direction_).subspan(k * p.dim, p.dim);
  };
  const auto bias = [&](std::size_t k) { return p.head.bias.empty() ? 0.0 : p.head.bias[k]; };
  const auto own = direction(unit);
  if (norm(own) == 0) return;  // constant
  for (Group& group : groups_) {
    const Member& first = group.members[0];
    if (twin[first.input] != twin[input]) continue;
    const auto other = direction(first.unit);
    const double factor = dot(own, other) / dot(other, other);
    double apart = std::abs(bias(unit) - factor * bias(first.unit));
    for (std::size_t a = 0; a < p.dim; ++a)
      apart = std::max(apart, std::abs(own[a] - factor * other[a]));
    if (factor == 0 || apart > kSame * (norm(own) + std::abs(bias(unit)))) continue;
    group.members.push_back({input, unit, factor});
    return;
  }
  double longest = 0;
  for (std::size_t t = 0; t < p.tokens; ++t) longest = std::max(longest, norm(p.token(input, t)));
  groups_.push_back({{{input, unit, 1}}, norm(own) * longest + std::abs(bias(unit))});
}

double Kinks::height(std::size_t kink, const Evaluation& e) const {
  const Group& group = groups_[kink];
  const Member& first = group.members[0];
  const double h = e.hidden[first.input * objective_.problem().head.units() + first.unit];
  return group.scale > 0 ? h / group.scale : 0;
}

std::vector<Side> Kinks::sides(const Evaluation& e) const {
  std::vector<Side> sides(size());
  for (std::size_t a = 0; a < size(); ++a) sides[a] = height(a, e) > 0 ? Side::on : Side::off;
  return sides;
}

Piece Kinks::piece(std::span<const Side> sides) const {
  const std::size_t units = objective_.problem().head.units();
  Piece piece(objective_.problem().inputs * units, -1);
  const auto& head = objective_.problem().head;
  for (std::size_t k = 0; k < piece.size(); ++k)  // units that no weights switch
    if (!head.bias.empty() && head.bias[k % units] > 0) piece[k] = 1;
  for (std::size_t a = 0; a < size(); ++a)
    for (const Member& m : groups_[a].members)
      piece[m.input * units + m.unit] = (sides[a] == Side::on) == (m.factor > 0) ? 1 : -1;
  return piece;
}

Surfaces Kinks::surfaces(std::span<const std::size_t> kinks, std::span<const double> state,
                         const Evaluation& e, double log_unit) const {
  const Problem& p = objective_.problem();
  const std::span<const double> v = objective_.head_weights(state);
  Surfaces all;
  std::vector<double> normal(objective_.dim());
  for (std::size_t a : kinks) {
    const Group& group = groups_[a];
    const Member& first = group.members[0];
    const double log_slope = objective_.output_slope(
        first.input, std::span(direction_).subspan(first.unit * p.dim, p.dim), state, e, normal);
    if (log_slope == -kInfinity) continue;
    double jump = 0;
    for (const Member& m : group.members)  // of a unit that switches off, too: twice the sign
      jump += e.pull_sign[m.input] * std::exp(e.pull_log[m.input] + log_slope + log_unit) *
              v[m.unit] * std::abs(m.factor);
    all.kink.push_back(a);
    all.normal.insert(all.normal.end(), normal.begin(), normal.end());
    all.log_slope.push_back(log_slope - std::log(group.scale));
    all.jump.push_back(jump / static_cast<double>(p.inputs));
  }
  return all;
}

std::vector<double> descent_in_unit(const Objective& objective, const Evaluation& e,
                                    double log_unit) {
  std::vector<double> descent = e.descent;
  for (std::size_t k = 0; k < objective.blocks().size(); ++k) {
    const Block& b = objective.blocks()[k];
    const double factor = std::exp(e.log_scale[k] + log_unit);
    for (std::size_t j = b.begin; j < b.begin + b.size; ++j)
      descent[j] = e.descent[j] == 0 ? 0 : factor * e.descent[j];
  }
  return descent;
}

double log_gradient(const Objective& objective, const Evaluation& e) {
  double top = -kInfinity, sum = 0;
  for (double scale : e.log_scale) top = std::max(top, scale);
  for (std::size_t k = 0; k < objective.blocks().size(); ++k) {
    const double part = norm(objective.blocks()[k].of(e.descent)) * std::exp(e.log_scale[k] - top);
    sum += part * part;
  }
  return sum > 0 ? top + std::log(sum) / 2 : -kInfinity;
}

namespace {

// The descent and the columns j_a n_a, in coordinates in which the metric is Euclidean.
struct Scaled {
  Vector root;  // of the metric
  Vector descent;
  Eigen::MatrixXd columns;

  Scaled(std::span<const double> d, const Surfaces& s, std::span<const double> metric)
      : root(Vector::Ones(static_cast<Eigen::Index>(d.size()))) {
    const auto dim = static_cast<Eigen::Index>(d.size()), m = static_cast<Eigen::Index>(s.size());
    for (std::size_t k = 0; k < metric.size(); ++k)
      root[static_cast<Eigen::Index>(k)] = std::sqrt(metric[k]);
    descent = Eigen::Map<const Vector>(d.data(), dim).cwiseProduct(root);
    columns = Eigen::Map<const RowMatrix>(s.normal.data(), m, dim).transpose();
    columns = root.asDiagonal() * columns;
    for (Eigen::Index a = 0; a < m; ++a) columns.col(a) *= s.jump[static_cast<std::size_t>(a)];
  }

  // l that makes descent + columns l of the `free` ones shortest; the others stay.
  Vector shortest(Vector l, const std::vector<Eigen::Index>& free) const {
    Eigen::MatrixXd some(columns.rows(), static_cast<Eigen::Index>(free.size()));
    for (std::size_t k = 0; k < free.size(); ++k)
      some.col(static_cast<Eigen::Index>(k)) = columns.col(free[k]).normalized(), l[free[k]] = 0;
    const Vector fixed = descent + columns * l;
    const Vector best = PivotedQr(some).solve(-fixed);
    for (std::size_t k = 0; k < free.size(); ++k)
      l[free[k]] = best[static_cast<Eigen::Index>(k)] / columns.col(free[k]).norm();
    return l;
  }

  // Moves l towards that until a bound is met: which, or -1.
  Eigen::Index approach(const std::vector<Eigen::Index>& free, Vector& l) const {
    if (free.empty()) return -1;
    const Vector goal = shortest(l, free);
    double step = 1;
    Eigen::Index blocks = -1;
    for (Eigen::Index a : free) {
      const double bound = goal[a] < 0 ? 0 : 1;
      if (goal[a] >= 0 && goal[a] <= 1) continue;
      const double reach = (bound - l[a]) / (goal[a] - l[a]);
      if (reach < step || blocks < 0) step = std::min(step, reach), blocks = a;
    }
    l += step * (goal - l);
    if (blocks >= 0) l[blocks] = goal[blocks] < 0 ? 0 : 1;
    return blocks;
  }

  // z itself, from the plain descent; what rounding leaves of a sum that cancels is 0.
  SmallestDescent at(const Vector& l, std::span<const double> d, const Surfaces& s) const {
    SmallestDescent result{.descent = {d.begin(), d.end()}, .share = {l.begin(), l.end()}};
    double size = norm(d);
    for (std::size_t a = 0; a < s.size(); ++a) {
      const double factor = l[static_cast<Eigen::Index>(a)] * s.jump[a];
      size += std::abs(factor);
      for (std::size_t k = 0; k < d.size(); ++k)
        result.descent[k] += factor * s.normal[a * d.size() + k];
    }
    if (norm(result.descent) < 4e-16 * size)
      std::fill(result.descent.begin(), result.descent.end(), 0.0);
    return result;
  }
};

}  // namespace

// Bounded least squares by an active set (Stark and Parker 1995): free the bound that pulls most,
// solve for the free ones, stop at the first bound that is met on the way.
SmallestDescent smallest_descent(std::span<const double> d, const Surfaces& s,
                                 std::span<const double> metric) {
  const Scaled system(d, s, metric);
  const auto m = static_cast<Eigen::Index>(s.size());
  Vector l = Vector::Zero(m);
  std::vector<bool> is_free(s.size(), false), refused(s.size(), false);
  for (std::size_t turn = 0; turn < 20 + 10 * s.size(); ++turn) {
    const Vector z = system.descent + system.columns * l;
    const Vector slope = system.columns.transpose() * z;  // of |z|^2 / 2
    Eigen::Index enters = -1;
    double most = 0;
    for (Eigen::Index a = 0; a < m; ++a) {
      const auto k = static_cast<std::size_t>(a);
      const double pull = l[a] > 0 ? slope[a] : -slope[a], length = system.columns.col(a).norm();
      if (is_free[k] || refused[k] || pull <= 1e-13 * length * (z.norm() + length)) continue;
      if (pull / length > most) most = pull / length, enters = a;
    }
    if (enters < 0) break;
    is_free[static_cast<std::size_t>(enters)] = true;
    const double before = z.norm();
    for (Eigen::Index blocks = enters; blocks >= 0;) {
      std::vector<Eigen::Index> free;
      for (Eigen::Index a = 0; a < m; ++a)
        if (is_free[static_cast<std::size_t>(a)]) free.push_back(a);
      blocks = system.approach(free, l);
      if (blocks >= 0) is_free[static_cast<std::size_t>(blocks)] = false;
    }
    const bool better = (system.descent + system.columns * l).norm() < before;
    if (better)
      refused.assign(s.size(), false);
    else
      refused[static_cast<std::size_t>(enters)] = true;
  }
  return system.at(l, d, s);
}

SmallestDescent sliding_descent(std::span<const double> d, const Surfaces& s,
                                std::span<const double> metric) {
  const Scaled system(d, s, metric);
  if (s.size() == 0) return {.descent = {d.begin(), d.end()}};
  std::vector<Eigen::Index> all;
  for (std::size_t a = 0; a < s.size(); ++a) all.push_back(static_cast<Eigen::Index>(a));
  return system.at(system.shortest(Vector::Zero(static_cast<Eigen::Index>(s.size())), all), d, s);
}

std::vector<double> move_onto(const Surfaces& s, std::span<const double> heights, std::size_t dim) {
  const auto m = static_cast<Eigen::Index>(s.size());
  const Eigen::Map<const RowMatrix> normals(s.normal.data(), m, static_cast<Eigen::Index>(dim));
  Vector distance(m);
  for (Eigen::Index a = 0; a < m; ++a) {
    const auto k = static_cast<std::size_t>(a);
    distance[a] = -heights[k] * std::exp(-s.log_slope[k]);
  }
  const Vector move = shortest_solution(normals, distance);
  return {move.begin(), move.end()};
}

}  // namespace attractor::training
