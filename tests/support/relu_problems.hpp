// Random problems with ReLU heads, and what holds at a minimum of a loss with kinks, told without
// the code that knows about kinks: gradients around the point and its neighbours' losses.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/solve/min_norm_point.hpp"
#include "attractor/space/space.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::training {

enum class Kinked { relu, absolute, leaky };  // the last two are pairs of ReLUs

struct ReluCase {
  std::size_t inputs = 2, tokens = 4, dim = 2, units = 3;
  Loss loss = Loss::logistic;
  Kinked kind = Kinked::relu;
};

inline Problem relu_problem(const ReluCase& c, std::uint64_t seed) {
  const Stream stream(seed, "ReLU problems");
  const auto draw = [&](std::uint64_t item, std::size_t count, double size) {
    std::vector<double> values(count);
    stream.normals(item, values);
    for (double& x : values) x *= size;
    return values;
  };
  Problem p{.inputs = c.inputs, .tokens = c.tokens, .dim = c.dim};
  p.x = draw(0, c.inputs * c.tokens * c.dim, 1);
  p.labels = draw(1, c.inputs, 1);
  if (c.loss != Loss::squared)
    for (double& y : p.labels) y = y < 0 ? -1 : 1;
  p.head.activation = Activation::relu;
  p.head.hidden = draw(2, c.units * c.dim, 1.5);
  p.head.bias = draw(3, c.units, 0.7);
  p.head.v = draw(4, c.units, 1);
  p.prompt = draw(5, c.dim, 0.5);
  if (c.kind != Kinked::relu) {  // relu(x) + relu(-x), relu(x) - 0.1 relu(-x)
    const double factor = c.kind == Kinked::absolute ? 1 : -0.1;
    for (std::size_t k = 0; k < c.units * c.dim; ++k) p.head.hidden.push_back(-p.head.hidden[k]);
    for (std::size_t k = 0; k < c.units; ++k) {
      p.head.bias.push_back(-p.head.bias[k]);
      p.head.v.push_back(factor * p.head.v[k]);
    }
  }
  check(p);
  return p;
}

inline double loss_of(const Objective& objective, std::span<const double> w) {
  Evaluation e;
  objective.evaluate(w, e);
  return objective.loss(e);
}

inline std::vector<double> descent_of(const Objective& objective, std::span<const double> w) {
  Evaluation e;
  objective.evaluate(w, e);
  for (std::size_t k = 0; k < objective.blocks().size(); ++k) {
    const Block& b = objective.blocks()[k];
    for (std::size_t j = b.begin; j < b.begin + b.size; ++j)
      e.descent[j] *= std::exp(e.log_scale[k]);
  }
  return e.descent;
}

struct Stationarity {
  double smallest = 0;  // norm of the smallest element of the hull of gradients around
  double largest = 0;   // norm of the largest gradient around
  double fall = 0;      // by how much a neighbour's loss is lower, at most; basins may be small
};

inline Stationarity look_around(const Objective& objective, std::span<const double> w) {
  const Stream stream(1, "around");
  const std::size_t dim = w.size();
  const auto neighbour = [&](std::uint64_t k, double distance) {
    std::vector<double> x(dim);
    stream.normals(k, x);
    const double length = norm(x);
    for (std::size_t j = 0; j < dim; ++j) x[j] = w[j] + distance * x[j] / length;
    return x;
  };
  Stationarity found;
  std::vector<double> gradients;
  std::uint64_t draw = 0;
  for (std::size_t k = 0; k < 50 + 30 * dim; ++k) {
    const std::vector<double> g = descent_of(objective, neighbour(draw++, 1e-6));
    found.largest = std::max(found.largest, norm(g));
    gradients.insert(gradients.end(), g.begin(), g.end());
  }
  found.smallest = solve::min_norm_point(gradients, dim).norm;
  const double here = loss_of(objective, w);
  for (double distance : {1e-5, 1e-4, 1e-3})
    for (int k = 0; k < 200; ++k)
      found.fall = std::max(found.fall, here - loss_of(objective, neighbour(draw++, distance)));
  return found;
}

}  // namespace attractor::training
