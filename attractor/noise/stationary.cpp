#include "attractor/noise/stationary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/dense.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/stability/sphere_spectrum.hpp"

namespace attractor::meanfield {
namespace {

constexpr std::size_t kMostDegrees = 1200, kMostNodes = 2048;
constexpr double kNegligibleOrder = 1e-17;  // in S, whose terms are at most G_l
constexpr double kAccepted = 1e-13;
constexpr double kLongestArc = 0.15;  // of arc

void check(const NoisyAttention& m) {
  if (m.dim < 2 || m.dim > 1000)
    throw Error(fmt::format("dim = {} is not allowed: 2 to 1000.", m.dim));
  if (!(m.beta >= 0 && m.beta <= 1e6))
    throw Error(fmt::format("beta = {} is not allowed: 0 to 1e6.", m.beta));
  if (m.mode < 1 || (m.mode > 1 && (m.dim > 2 || m.beta == 0)))
    throw Error(
        fmt::format("mode = {} is not allowed: 1, or more on the circle with beta > 0.", m.mode));
}

std::string too_cold(const NoisyAttention& m) {
  return fmt::format("beta = {} in dimension {} needs more than {} degrees; take a smaller beta.",
                     m.beta, m.dim, kMostDegrees);
}

Eigen::Index index(std::size_t k) { return static_cast<Eigen::Index>(k); }

Eigen::Map<const Eigen::VectorXd> vector(const std::vector<double>& v) {
  return {v.data(), index(v.size())};
}

/// p_l(1) for all degrees below count; its square is the number of harmonics.
std::vector<double> polynomials_at_pole(std::size_t dim, std::size_t count) {
  std::vector<double> p(count);
  Gegenbauer(dim, count).values(1, p);
  return p;
}

/// G_0 = 0, G_1, ... until they are negligible; on the circle with k-fold symmetry G_{kl}.
std::vector<double> couplings(const NoisyAttention& m) {
  for (std::size_t count = 32;; count = std::min(2 * count, kMostDegrees + 1)) {
    const SphereSpectrum s = sphere_spectrum(m.dim, m.beta, (count - 1) * m.mode + 1);
    const std::vector<double> p = polynomials_at_pole(m.dim, count);
    std::vector<double> g = {0};
    bool fell = false;
    for (std::size_t l = 1; l < count && !fell; ++l) {
      const double next = s.pull[l * m.mode] / s.pull[m.mode] * p[l] * p[l];
      if (!std::isfinite(next)) throw Error(too_cold(m));
      fell = next < kNegligibleOrder && next <= g[l - 1];
      if (!fell) g.push_back(next);
    }
    if (fell) return g;
    if (count > kMostDegrees) throw Error(too_cold(m));
  }
}

}  // namespace

double log_critical_noise(const NoisyAttention& m) {
  check(m);
  const SphereSpectrum s = sphere_spectrum(m.dim, m.beta, m.mode + 1);
  const double scale = m.rule == Rule::unnormalised ? m.beta + s.log_scale : 0;
  return std::log(s.pull[m.mode]) + scale;
}

/// q_l at the moved nodes (a row each) and the logarithms of their weights.
struct StationarySolver::Table {
  Eigen::MatrixXd q;
  Eigen::VectorXd log_weight;
};

/// f as probabilities of the nodes.
struct StationarySolver::Law {
  Eigen::VectorXd potential, response;  // U; h = s dU/dS
  Eigen::VectorXd probability;
  Eigen::VectorXd mean;  // E[q_l]
  double log_mass = 0;
};

/// One more equation: normal . (point - anchor) = distance.
struct StationarySolver::Target {
  std::vector<double> normal, anchor;
  double distance = 0;
};

/// Rows and columns are scaled by sqrt(G_l), where the matrix of T is as good as symmetric.
struct StationarySolver::Newton {
  Eigen::VectorXd scale;    // sqrt(G_l), l >= 1
  Eigen::MatrixXd map;      // T
  Eigen::VectorXd heating;  // derivative of the fixed-point map by ln s

  /// The change of the point that takes away `residual` of the moments and adds `distance`.
  Eigen::VectorXd solve(const Eigen::VectorXd& residual, const Eigen::VectorXd& normal,
                        double distance) const {
    const Eigen::Index count = map.rows();
    Eigen::MatrixXd jacobian(count + 1, count + 1);
    jacobian.row(0) << normal(0), normal.tail(count).cwiseQuotient(scale).transpose();
    jacobian.col(0).tail(count) = heating;
    jacobian.bottomRightCorner(count, count) = map - Eigen::MatrixXd::Identity(count, count);
    Eigen::VectorXd right(count + 1);
    right << distance, -scale.cwiseProduct(residual);
    Eigen::VectorXd step = lu_solve(jacobian, right);
    step.tail(count) = step.tail(count).cwiseQuotient(scale);
    return step;
  }
};

StationarySolver::StationarySolver(const NoisyAttention& model, std::function<bool()> stop)
    : model_(model), stop_(std::move(stop)), basis_((check(model), model.dim), 1) {
  coupling_ = couplings(model);
  basis_ = Gegenbauer(model.dim, degrees());
  at_pole_ = polynomials_at_pole(model.dim, degrees());
  log_critical_ = meanfield::log_critical_noise(model);
  if (model.rule == Rule::softmax)
    share_ = sphere_spectrum(model.dim, model.beta, model.mode + 1).ratio[model.mode];
}

StationarySolver::Table StationarySolver::table(std::size_t nodes, double shrink) {
  auto found = rules_.find(nodes);
  if (found == rules_.end()) found = rules_.emplace(nodes, gauss_rule(model_.dim, nodes)).first;
  const GaussRule& rule = found->second;
  Table table{.q = Eigen::MatrixXd(index(nodes), index(degrees())),
              .log_weight = Eigen::VectorXd(index(nodes))};
  const double move = (1 - shrink) / (1 + shrink);
  const double power = static_cast<double>(model_.dim) - 1;
  std::vector<double> p(degrees());
  for (std::size_t k = 0; k < nodes; ++k) {
    const double u = rule.nodes[k], stretch = 1 + move * u;
    basis_.values((u + move) / stretch, p);
    for (std::size_t l = 0; l < degrees(); ++l) table.q(index(k), index(l)) = p[l] / at_pole_[l];
    table.log_weight(index(k)) =
        std::log(rule.weights[k]) + power * (0.5 * std::log1p(-move * move) - std::log(stretch));
  }
  return table;
}

StationarySolver::Law StationarySolver::law(const Table& table,
                                            const std::vector<double>& point) const {
  const double inverse_ratio = std::exp(-point[0]);
  const Eigen::ArrayXd s = table.q * vector(coupling_).cwiseProduct(vector(point));
  Law law;
  if (share_ > 0) {
    // Rounding must not make Z negative where it is smaller than the rounding of its peak.
    const double floor = kNegligibleOrder * (1 + share_ * s.maxCoeff());
    const Eigen::ArrayXd z = (share_ * s).max(floor - 1);
    law.potential = inverse_ratio / share_ * z.log1p();
    law.response = 1 / (1 + z);
  } else {
    law.potential = inverse_ratio * s;
    law.response = Eigen::VectorXd::Ones(s.size());
  }
  const Eigen::ArrayXd exponent = law.potential + table.log_weight;
  const double top = exponent.maxCoeff();
  law.probability = (exponent - top).exp();
  const double sum = law.probability.sum();
  law.probability /= sum;
  law.log_mass = top + std::log(sum);
  law.mean = table.q.transpose() * law.probability;
  return law;
}

StationarySolver::Newton StationarySolver::linearised(const Table& table, const Law& law,
                                                      const std::vector<double>& point) const {
  const auto count = index(degrees()) - 1;
  Newton newton;
  newton.scale = vector(coupling_).tail(count).cwiseSqrt();
  // Centred before multiplying: the covariances of a concentrated state are far below its moments.
  const Eigen::MatrixXd left =
      ((table.q.rightCols(count).rowwise() - law.mean.tail(count).transpose()).array().colwise() *
       law.probability.array())
          .matrix() *
      newton.scale.asDiagonal();
  const Eigen::MatrixXd right =
      (table.q.rightCols(count).array().colwise() * law.response.array()).matrix() *
      newton.scale.asDiagonal();
  newton.map = std::exp(-point[0]) * (left.transpose() * right);
  newton.heating = -(left.transpose() * law.potential);
  return newton;
}

namespace {

/// The largest eigenvalue of a matrix whose eigenvalues are real and not negative: 4096 steps of
/// the power method by repeated squaring, then one more.
double largest_eigenvalue(const Eigen::MatrixXd& matrix) {
  Eigen::MatrixXd power = matrix;
  for (int doubling = 0; doubling < 12; ++doubling) {
    const double size = power.cwiseAbs().maxCoeff();
    if (!(size > 0)) return 0;
    power = (power / size) * (power / size);
  }
  Eigen::Index column = 0;
  power.colwise().squaredNorm().maxCoeff(&column);
  const Eigen::VectorXd x = power.col(column).normalized();
  return x.dot(matrix * x);
}

}  // namespace

// Points are (ln s, y_1, y_2, ...).

bool StationarySolver::converge(const Table& table, const Target& target,
                                std::vector<double>& point) const {
  const auto count = index(degrees()) - 1;
  const Eigen::VectorXd normal = vector(target.normal);
  constexpr int kMostSteps = 12;
  for (int steps = 0; steps < kMostSteps && !stopped(); ++steps) {
    const Law now = law(table, point);
    const double missing = target.distance - normal.dot(vector(point) - vector(target.anchor));
    const Eigen::VectorXd step =
        linearised(table, now, point)
            .solve((now.mean - vector(point)).tail(count), normal, missing);
    const double size = step.cwiseAbs().maxCoeff();
    if (!(size < 1)) return false;
    for (std::size_t l = 0; l < degrees(); ++l) point[l] += step(index(l));
    if (size < 1e-9) return true;  // the next one would be below rounding
  }
  return false;
}

StationaryState StationarySolver::describe(const Table& table, const Target& target,
                                           const std::vector<double>& point) const {
  const Law now = law(table, point);
  const Newton newton = linearised(table, now, point);
  const auto count = index(degrees()) - 1;
  StationaryState state{.order = point[1], .noise_ratio = std::exp(point[0])};
  state.log_mass = now.log_mass;
  state.entropy = now.probability.dot(now.potential) - now.log_mass;
  state.moments = point;
  state.moments[0] = 1;
  double interaction = 0;
  for (std::size_t l = 1; l < degrees(); ++l) interaction += coupling_[l] * point[l] * point[l];
  state.excess_energy = model_.rule == Rule::unnormalised
                            ? state.noise_ratio * state.entropy - interaction / 2
                            : kNan;
  state.gain = largest_eigenvalue(newton.map);
  const Eigen::VectorXd normal = vector(target.normal);
  Eigen::VectorXd tangent = newton.solve(Eigen::VectorXd::Zero(count), normal, 1);
  tangent /= std::sqrt(tangent.dot(vector(metric(point)).cwiseProduct(tangent)));
  state.tangent.assign(tangent.data(), tangent.data() + tangent.size());
  return state;
}

std::optional<StationaryState> StationarySolver::solve(const Target& target,
                                                       std::vector<double> guess) {
  // At the pole angles shrink by the square root of this: twice the width of f on the circle. A
  // narrow crowd on a wide background wants less of it, and more nodes.
  const double order = std::clamp(guess[1], 0.0, kMostOrder);
  double shrink = std::min(1.0, 4 * (1 - order) / (1 + order));
  for (std::size_t nodes = degrees() + 40; nodes <= kMostNodes && !stopped(); nodes *= 2) {
    const Table here = table(nodes, shrink);
    if (!converge(here, target, guess)) return std::nullopt;
    const Eigen::VectorXd residual = law(table(2 * nodes, shrink), guess).mean - vector(guess);
    const double worst = residual.tail(residual.size() - 1).cwiseAbs().maxCoeff();
    if (worst < kAccepted) {
      StationaryState state = describe(here, target, guess);
      state.residual = worst;
      return state;
    }
    shrink = std::sqrt(shrink);
  }
  return std::nullopt;
}

/// Of arc length: ln s counts as it is, moments as they count in the interaction, relative to it
/// once that is large. (A crowd of 1e-8 of the tokens may rule the field, yet hardly changes y_1.)
std::vector<double> StationarySolver::metric(const std::vector<double>& point) const {
  double interaction = 1;
  for (std::size_t l = 1; l < degrees(); ++l) interaction += coupling_[l] * point[l] * point[l];
  std::vector<double> weights = coupling_;
  for (double& weight : weights) weight /= interaction;
  weights[0] = 1;
  return weights;
}

namespace {

/// (ln s, y_1, y_2, ...).
std::vector<double> point_of(const StationaryState& state) {
  std::vector<double> point = state.moments;
  point[0] = std::log(state.noise_ratio);
  return point;
}

}  // namespace

std::optional<StationaryState> StationarySolver::first() {
  // y_2 is of order R^2 / (1 - lambda_2/lambda_1).
  const double order = 0.02 * (1 - second_ratio());
  Target target{.normal = std::vector<double>(degrees()), .anchor = std::vector<double>(degrees())};
  target.normal[1] = 1;
  target.distance = order;
  std::vector<double> guess(degrees());
  guess[1] = order;
  return solve(target, std::move(guess));
}

std::optional<StationaryState> StationarySolver::step(const StationaryState& from, double length) {
  Target target{.normal = from.tangent, .anchor = point_of(from), .distance = length};
  std::vector<double> guess = target.anchor;
  const std::vector<double> weights = metric(target.anchor);
  for (std::size_t l = 0; l < degrees(); ++l) {
    guess[l] += length * from.tangent[l];
    target.normal[l] *= weights[l];
  }
  auto next = solve(target, std::move(guess));
  if (!next) return next;
  const double along = vector(target.normal).dot(vector(next->tangent));
  return along > 0.9 ? next : std::nullopt;  // a sharp turn is one onto another branch
}

std::optional<StationaryState> StationarySolver::between(const StationaryState& from,
                                                         const StationaryState& to, double part) {
  Target target{.normal = point_of(to), .anchor = point_of(from)};
  std::vector<double> guess = target.anchor;
  const std::vector<double> weights = metric(target.anchor);
  double square = 0;
  for (std::size_t l = 0; l < degrees(); ++l) {
    const double difference = target.normal[l] - target.anchor[l];
    guess[l] += part * difference;
    target.normal[l] = weights[l] * difference;
    square += difference * target.normal[l];
  }
  target.distance = part * square;
  return solve(target, std::move(guess));
}

std::optional<StationaryState> StationarySolver::at_order(double order) {
  if (!(order > 0 && order <= kMostOrder))
    throw Error(fmt::format("order = {} is not allowed: above 0, at most 1 - 1e-6.", order));
  std::optional<StationaryState> last = first();
  double length = 0.01 * (1 - second_ratio());
  while (last && last->order < order) {
    const auto next = step(*last, length);
    if (next && next->order >= order) break;
    if (!next && length < 1e-8) return std::nullopt;
    length *= next ? 1.5 : 0.5;
    length = std::min(length, kLongestArc);
    if (next) last = next;
  }
  if (!last) return last;
  Target target{.normal = std::vector<double>(degrees()), .anchor = std::vector<double>(degrees())};
  target.normal[1] = 1;
  target.distance = order;
  std::vector<double> guess = point_of(*last);
  const double length_to = (order - last->order) / last->tangent[1];
  for (std::size_t l = 0; l < degrees(); ++l) guess[l] += length_to * last->tangent[l];
  return solve(target, std::move(guess));
}

double StationarySolver::second_ratio() const {
  return degrees() > 2 ? coupling_[2] / (at_pole_[2] * at_pole_[2]) : 0;
}

StationaryState StationarySolver::uniform(double noise_ratio) const {
  StationaryState state{.order = 0, .noise_ratio = noise_ratio};
  state.gain = 1 / noise_ratio;
  state.excess_energy = model_.rule == Rule::unnormalised ? 0 : kNan;
  state.moments.assign(degrees(), 0);
  state.moments[0] = 1;
  state.tangent.assign(degrees(), 0);
  state.tangent[1] = 1;
  return state;
}

double StationarySolver::free_energy(const StationaryState& state) const {
  const double uniform =
      model_.beta > 0 ? sphere_spectrum(model_.dim, model_.beta, 1).lambda0() / (2 * model_.beta)
                      : 0;
  return std::exp(log_critical_) * state.excess_energy - uniform;
}

double StationarySolver::log_density(const StationaryState& state, double t) const {
  std::vector<double> p(degrees());
  basis_.values(t, p);
  double s = 0, peak = 0;
  for (std::size_t l = 1; l < degrees(); ++l) {
    s += coupling_[l] * state.moments[l] * (p[l] / at_pole_[l]);
    peak += coupling_[l] * state.moments[l];
  }
  if (share_ == 0) return s / state.noise_ratio - state.log_mass;
  const double floor = kNegligibleOrder * (1 + share_ * peak);
  return std::log1p(std::max(share_ * s, floor - 1)) / (share_ * state.noise_ratio) -
         state.log_mass;
}

}  // namespace attractor::meanfield
