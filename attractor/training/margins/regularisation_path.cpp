#include "attractor/training/margins/regularisation_path.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/solve/ball_minimum.hpp"
#include "attractor/space/space.hpp"
#include "attractor/training/kinks/held_descent.hpp"
#include "attractor/training/kinks/kinked_minimum.hpp"
#include "attractor/training/resolved_loss.hpp"

namespace attractor::training {
namespace {

using Weights = std::vector<double>;

Weights scaled(std::span<const double> direction, double length) {
  Weights w(direction.begin(), direction.end());
  const double own = norm(w);
  for (double& x : w) x *= own > 0 ? length / own : 0;
  return w;
}

// `near`: the start is a low point already.
solve::BallMinimum minimise(const Objective& objective, std::span<const double> start,
                            double radius, double widest_step, const std::function<bool()>& stop,
                            bool near = false) {
  return objective.problem().head.kinked() && objective.trained().attention != AttentionPart::none
             ? kinked_minimum(objective, start, radius,
                              {.widest_step = widest_step, .near = near, .stop = stop})
             : smooth_minimum(objective, start, radius, {.widest_step = widest_step, .stop = stop});
}

struct Start {
  Weights weights;
  bool near = false;  // a low point already: keep to its surroundings
};

// Low points anywhere in the ball, each the best of some: what suits a head that is not linear may
// lie well inside, at any scale down to that on which softmax becomes uniform.
void add_low_points(const Objective& objective, const PathOptions& options, double radius,
                    std::vector<Start>& all) {
  constexpr std::uint64_t kOf = 50;
  const Stream stream(options.seed, "low starts of the regularisation path");
  Evaluation e;
  objective.evaluate(Weights(objective.dim(), 0.0), e);
  const double least = std::min(radius, 1 / weight_scale(objective, e));
  for (std::uint64_t k = 0; k < 3 * options.random_starts; ++k) {
    Start best{.near = true};
    double lowest = kInfinity;
    for (std::uint64_t j = 0; j < kOf; ++j) {
      Weights w(objective.dim());
      stream.normals(k * kOf + j, w);
      const double inwards = std::max(0.0, 1.25 * stream.uniform(k * kOf + j, 1U << 20U) - 0.25);
      w = scaled(w, radius * std::pow(least / radius, inwards));
      objective.evaluate(w, e);
      if (objective.loss(e) < lowest) lowest = objective.loss(e), best.weights = std::move(w);
    }
    if (!best.weights.empty()) all.push_back(std::move(best));
  }
}

// Starts of one radius: the last solution, what the caller knows, random directions, low points.
std::vector<Start> starts(const Objective& objective, const PathOptions& options,
                          const Weights& last, double radius) {
  std::vector<Start> all;
  if (!last.empty()) all.push_back({scaled(last, radius)});
  for (const Weights& direction : options.directions) all.push_back({scaled(direction, radius)});
  const Stream stream(options.seed, "starts of the regularisation path");
  for (std::uint64_t k = 0; k < options.random_starts; ++k) {
    Weights w(objective.dim());
    stream.normals(k, w);
    all.push_back({scaled(w, radius)});
  }
  if (!objective.problem().head.linear()) add_low_points(objective, options, radius, all);
  return all;
}

struct Found {
  solve::BallMinimum minimum;
  std::uint64_t evaluations = 0;
};

// Lower; or as low as L tells, and nearer to a stationary point where the other is far from one.
bool better(const Objective& objective, const solve::BallMinimum& a, const solve::BallMinimum& b) {
  if (!objective.problem().head.linear() && std::max(a.residual, b.residual) > 1e-6) {
    Evaluation ea, eb;
    objective.evaluate(a.x, ea);
    objective.evaluate(b.x, eb);
    const double la = objective.loss(ea), lb = objective.loss(eb);
    if (std::abs(la - lb) <= 1e-13 * (std::abs(la) + std::abs(lb))) return a.residual < b.residual;
  }
  return lower(objective, a.x, b.x);
}

// Local minima worth following to larger balls, best first.
class Pool {
 public:
  explicit Pool(const Objective& objective) : objective_(objective) {}

  void add(const solve::BallMinimum& m) {
    const auto same = [&](const solve::BallMinimum& other) {
      return squared_distance(other.x, m.x) <= 1e-10 * dot(m.x, m.x);
    };
    if (std::any_of(minima_.begin(), minima_.end(), same)) return;
    const auto at = std::find_if(minima_.begin(), minima_.end(),
                                 [&](const auto& other) { return better(objective_, m, other); });
    minima_.insert(at, m);
    if (minima_.size() > kMost) minima_.pop_back();
  }

  // To a larger ball: from where they are, and pushed out to its boundary.
  void grow(double radius, const std::function<bool()>& stop) {
    const std::vector<solve::BallMinimum> from = std::exchange(minima_, {});
    for (const solve::BallMinimum& m : from) {
      if (stop && stop()) return;
      if (!m.on_boundary) add(m);
      if (m.on_boundary) add(minimise(objective_, m.x, radius, 0.5, stop, true));
      add(minimise(objective_, scaled(m.x, radius), radius, 0.5, stop, true));
    }
  }

  const std::vector<solve::BallMinimum>& minima() const { return minima_; }

 private:
  static constexpr std::size_t kMost = 6;
  const Objective& objective_;
  std::vector<solve::BallMinimum> minima_;
};

Found best_of(const Objective& objective, const PathOptions& options, const PathPoint* last,
              double radius, Pool* pool = nullptr) {
  Found found;
  const auto take = [&](solve::BallMinimum m) {
    found.evaluations += m.evaluations;
    if (pool) pool->add(m);
    if (found.minimum.x.empty() || better(objective, m, found.minimum))
      found.minimum = std::move(m);
  };
  // The last solution is one of this ball's points; inside its own ball, it is a minimum already.
  if (last && !last->on_boundary)
    take({.x = last->weights, .residual = last->residual, .on_boundary = false});
  else if (last)
    take(minimise(objective, last->weights, radius, 0.5, options.stop));
  if (pool)
    for (const solve::BallMinimum& m : std::vector(pool->minima())) take(m);
  for (const Start& start : starts(objective, options, last ? last->weights : Weights{}, radius)) {
    take(minimise(objective, start.weights, radius, 0.5, options.stop, start.near));
    if (options.stop && options.stop()) break;
  }
  return found;
}

// What is best in a large ball mostly continues what is good in a smaller one, and is hard to find
// anew: the valleys of L there are 1 / R wide. So minima are followed through balls that grow by 2.
Found follow(const Objective& objective, const PathOptions& options, const PathPoint* last,
             double radius, Pool& pool) {
  Evaluation e;
  objective.evaluate(Weights(objective.dim(), 0.0), e);
  double from = last ? last->radius : 1 / weight_scale(objective, e);
  if (!last && from < radius) best_of(objective, options, nullptr, from, &pool);
  const double factor = std::max(2.0, std::pow(radius / from, 1.0 / 20));
  for (from *= factor; from < radius; from *= factor) pool.grow(from, options.stop);
  pool.grow(radius, options.stop);
  return best_of(objective, options, last, radius, &pool);
}

// ---- A cone: |w| = R and angle(w, centre) <= cone. Inside it, or on its rim.

// An orthonormal basis of what is orthogonal to `unit`, from a Householder reflection: columns.
class Complement {
 public:
  explicit Complement(Weights unit) : h_(std::move(unit)) {
    h_[0] += h_[0] >= 0 ? 1 : -1;
    squared_ = dot(h_, h_);
  }
  /// The vector with coordinates c (one less than the dimension).
  Weights vector(std::span<const double> c) const {
    Weights w(h_.size(), 0.0);
    std::copy(c.begin(), c.end(), w.begin() + 1);
    return reflect(w);
  }
  Weights coordinates(std::span<const double> w) const {
    const Weights c = reflect({w.begin(), w.end()});
    return {c.begin() + 1, c.end()};
  }

 private:
  Weights reflect(Weights w) const {
    const double factor = 2 * dot(h_, w) / squared_;
    for (std::size_t k = 0; k < w.size(); ++k) w[k] -= factor * h_[k];
    return w;
  }
  Weights h_;
  double squared_;
};

solve::BallMinimum on_rim(const Objective& objective, const Weights& centre, double cone,
                          double radius, const std::function<bool()>& stop) {
  const Complement complement(centre);
  ResolvedLoss function(objective);
  const auto at = [&](std::span<const double> c) {
    Weights w = complement.vector(scaled(c, std::sin(cone) * radius));
    for (std::size_t k = 0; k < w.size(); ++k) w[k] += std::cos(cone) * radius * centre[k];
    return w;
  };
  const double rim = std::sin(cone) * radius;
  const solve::BallFunction f{
      .f =
          [&](std::span<const double> c, std::span<double> gradient) {
            Weights full(objective.dim());
            const double value = function.value(at(c), full), length = norm(c);
            const Weights own = complement.coordinates(full);
            const double along = dot(own, c) / (length * length);  // only the direction of c counts
            for (std::size_t k = 0; k < own.size(); ++k)
              gradient[k] = (own[k] - along * c[k]) * rim / length;
            return value;
          },
      .rebase = [&](std::span<const double> c) { function.rebase(at(c)); }};
  solve::BallMinimum best;
  for (double side : {1.0, -1.0}) {  // in the plane the rim is two points
    Weights start(objective.dim() - 1, 0.0);
    start[0] = side * rim;
    solve::BallMinimum m{.x = start, .residual = 0};
    if (start.size() > 1) m = solve::ball_minimum(f, start, rim, {.stop = stop});
    m.x = at(m.x);
    if (best.x.empty() || lower(objective, m.x, best.x)) best = std::move(m);
  }
  return best;
}

Found in_cone(const Objective& objective, const PathOptions& options, double radius) {
  const Weights centre = scaled(options.directions.at(0), 1);
  Found found{.minimum = minimise(objective, scaled(centre, radius), radius, options.cone / 4,
                                  options.stop)};
  solve::BallMinimum rim = on_rim(objective, centre, options.cone, radius, options.stop);
  found.evaluations = found.minimum.evaluations + rim.evaluations;
  const double cosine = dot(found.minimum.x, centre) / norm(found.minimum.x);
  if (cosine < std::cos(options.cone) || lower(objective, rim.x, found.minimum.x))
    found.minimum = std::move(rim);
  return found;
}

// ---- Points of the path.

PathPoint describe(const Objective& objective, Found found, double radius) {
  PathPoint point{.radius = radius,
                  .on_boundary = found.minimum.on_boundary,
                  .residual = found.minimum.residual,
                  .evaluations = found.evaluations};
  Evaluation e;
  objective.evaluate(found.minimum.x, e);
  point.weights = std::move(found.minimum.x);
  point.loss = objective.loss(e);
  point.selected = e.chosen;
  const double size = norm(objective.blocks()[0].of(e.descent));
  point.log10_ridge =
      !point.on_boundary || size == 0
          ? -kInfinity
          : (e.log_scale[0] + std::log(size) - std::log(radius)) / std::numbers::ln10;
  return point;
}

// Searches of larger balls may have found better weights that lie in a smaller one already.
void take_from_larger(const Objective& objective, std::vector<PathPoint>& path) {
  for (std::size_t k = path.size(); k-- > 1;) {
    PathPoint& smaller = path[k - 1];
    if (norm(path[k].weights) >= smaller.radius ||
        !lower(objective, path[k].weights, smaller.weights))
      continue;
    const double radius = smaller.radius;
    const std::uint64_t evaluations = smaller.evaluations;
    smaller = path[k];
    smaller.radius = radius;
    smaller.evaluations = evaluations;
    smaller.on_boundary = false;
    smaller.log10_ridge = -kInfinity;
  }
}

// v and w in turn until neither moves: w for the scores of v, then v for the attention of w.
PathPoint alternate(const Objective& joint, const PathOptions& options, Weights v, Weights w,
                    double radius) {
  const double head_radius = options.head_ratio * radius;
  Problem at_w = joint.problem(), at_v = joint.problem();
  const Trained attention{joint.trained().attention, false};
  std::vector<double>& own =
      attention.attention == AttentionPart::prompt ? at_w.prompt : at_w.weights;
  PathPoint point;
  for (int turn = 0; turn < 1000; ++turn) {
    at_v.head.v = v;
    const Objective for_w(at_v, joint.loss(), attention);
    PathOptions fewer = options;
    if (turn > 0) fewer.directions.clear(), fewer.random_starts = 0;
    const PathPoint present{.weights = w};  // a start, no minimum for this v
    Found found = best_of(for_w, fewer, w.empty() ? nullptr : &present, radius);
    const double moved = w.empty() ? radius : std::sqrt(squared_distance(w, found.minimum.x));
    at_w.head.v = v;
    own = w = found.minimum.x;
    const Objective for_v(at_w, joint.loss(), {AttentionPart::none, true});
    const solve::BallMinimum head = minimise(for_v, v, head_radius, 0.5, options.stop);
    const double turned = std::sqrt(squared_distance(v, head.x));
    v = head.x;
    const std::uint64_t before = point.evaluations;
    point = describe(for_w, std::move(found), radius);
    point.evaluations += before + head.evaluations;
    if (turned <= 1e-12 * head_radius && moved <= 1e-12 * radius) break;
    if (options.stop && options.stop()) break;
  }
  point.head_radius = head_radius;
  point.head = v;
  return point;
}

Weights joined(const PathPoint& point) {
  Weights all = point.weights;
  all.insert(all.end(), point.head.begin(), point.head.end());
  return all;
}

// The best of alternations from the last v, the given one and random ones.
PathPoint joint_point(const Objective& joint, const PathOptions& options, const PathPoint* last,
                      double radius) {
  const double head_radius = options.head_ratio * radius;
  std::vector<std::pair<Weights, Weights>> from;  // v, w
  if (last) from.emplace_back(scaled(last->head, head_radius), scaled(last->weights, radius));
  from.emplace_back(scaled(joint.problem().head.v, head_radius), Weights{});
  const Stream stream(options.seed, "starts of v on the regularisation path");
  for (std::uint64_t k = 0; k < options.random_starts; ++k) {
    Weights v(joint.problem().head.units());
    stream.normals(k, v);
    from.emplace_back(scaled(v, head_radius), Weights{});
  }
  PathPoint best;
  for (auto& [v, w] : from) {
    PathPoint point = alternate(joint, options, std::move(v), std::move(w), radius);
    if (best.weights.empty() || lower(joint, joined(point), joined(best))) best = std::move(point);
    if (options.stop && options.stop()) break;
  }
  Evaluation e;
  joint.evaluate(joined(best), e);
  best.loss = joint.loss(e);
  return best;
}

}  // namespace

std::vector<PathPoint> regularisation_path(const Objective& objective, const PathOptions& options) {
  const AttentionPart part = objective.trained().attention;
  if (part != AttentionPart::prompt && part != AttentionPart::weights)
    throw Error("a regularisation path is for p or W");
  if (options.cone > 0 && (objective.trained().head || options.directions.empty()))
    throw Error("a local path needs the direction of a choice, and v frozen");
  if (options.cone > 0 && objective.dim() < 2)
    throw Error("a local path needs at least two weights");
  std::vector<PathPoint> path;
  Pool pool(objective);
  for (double radius : options.radii) {
    if (options.stop && options.stop()) break;
    const PathPoint* last = path.empty() ? nullptr : &path.back();
    if (objective.trained().head)
      path.push_back(joint_point(objective, options, last, radius));
    else if (options.cone > 0)
      path.push_back(describe(objective, in_cone(objective, options, radius), radius));
    else if (objective.problem().head.linear())
      path.push_back(describe(objective, best_of(objective, options, last, radius), radius));
    else
      path.push_back(describe(objective, follow(objective, options, last, radius, pool), radius));
  }
  if (options.cone == 0 && !objective.trained().head) take_from_larger(objective, path);
  return path;
}

}  // namespace attractor::training
