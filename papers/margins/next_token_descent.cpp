#include "papers/margins/next_token_descent.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "attractor/space/space.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::papers {
namespace {

std::vector<Edge> edges_of(const Corpus& c, const Reach& reach) {
  std::vector<Edge> edges;
  for (const Sequence& s : c.sequences)
    for (const std::size_t t : s.tokens) {
      const bool known = std::any_of(edges.begin(), edges.end(), [&](const Edge& e) {
        return e.last == s.last() && e.above == s.label && e.below == t;
      });
      if (t != s.label && !known)
        edges.push_back({s.last(), s.label, t, !reach.together(s.last(), s.label, t)});
    }
  return edges;
}

solve::HardMargin margin_of(const std::vector<double>& rows, std::size_t dim) {
  const std::vector<double> bounds(rows.size() / dim, 1);
  return solve::hard_margin(solve::DenseConstraints(rows, bounds, dim));
}

/// The asking token and the components at both ends of an edge.
using Components = std::array<std::size_t, 3>;
using Numbers = std::map<Components, std::size_t>;  // of rows g

Components components(const Reach& reach, std::size_t last, std::size_t above, std::size_t below) {
  return {last, reach.component(last, above), reach.component(last, below)};
}

/// The distinct rows g, and which one an edge has.
Numbers add_rows(const Corpus& c, const Reach& reach, GraphSvm& r) {
  Numbers numbers;
  for (const Edge& e : r.edges) {
    if (!e.higher) continue;
    if (!numbers.emplace(components(reach, e.last, e.above, e.below), numbers.size()).second)
      continue;
    const std::vector<double> g = r.cyclic.outside(c.row(e.above, e.below, e.last));
    r.g.insert(r.g.end(), g.begin(), g.end());
  }
  return numbers;
}

/// Adds (1/n) sum_t s_t (e_y - e_t) e_k^T, minus the gradient. Weights s come from the library.
void step_down(const Corpus& c, const std::vector<double>& weight, std::vector<double>& w) {
  const double n = static_cast<double>(c.sequences.size());
  std::vector<double> move(c.dim);
  auto s = weight.begin();
  for (const Sequence& sequence : c.sequences) {
    std::fill(move.begin(), move.end(), 0);
    for (const std::size_t t : sequence.tokens) {
      for (std::size_t a = 0; a < c.dim; ++a)
        move[a] += *s * (c.token(sequence.label)[a] - c.token(t)[a]) / n;
      ++s;
    }
    const std::span<const double> asking = c.token(sequence.last());
    for (std::size_t a = 0; a < c.dim; ++a)
      for (std::size_t b = 0; b < c.dim; ++b) w[a * c.dim + b] += move[a] * asking[b];
  }
}

double loss_of(const Corpus& c, const std::vector<double>& weight) {
  double loss = 0;
  auto s = weight.begin();
  for (const Sequence& sequence : c.sequences)
    for (const std::size_t t : sequence.tokens) {
      if (t == sequence.label) loss -= std::log(*s);
      ++s;
    }
  return loss / static_cast<double>(c.sequences.size());
}

}  // namespace

std::vector<double> Fitted::outside(std::span<const double> vector) const {
  std::vector<double> left(vector.begin(), vector.end());
  for (int pass = 0; pass < 2; ++pass)  // twice is enough (Kahan)
    for (const std::vector<double>& unit : basis_) {
      const double share = dot(unit, left);
      for (std::size_t k = 0; k < left.size(); ++k) left[k] -= share * unit[k];
    }
  return left;
}

void Fitted::add(std::span<const double> row, double product) {
  std::vector<double> unit = outside(row);
  const double length = norm(unit);
  if (length <= 1e-9 * norm(row)) return;
  for (double& x : unit) x /= length;
  const double missing = (product - dot(row, point_)) / length;
  for (std::size_t k = 0; k < unit.size(); ++k) point_[k] += missing * unit[k];
  basis_.push_back(std::move(unit));
}

GraphSvm graph_svm_of(const Corpus& c) {
  const Reach reach(c);
  const Luce luce(c, reach);
  const std::size_t dim = c.dim * c.dim;
  GraphSvm r{.edges = edges_of(c, reach), .cyclic = Fitted(dim), .tight = Fitted(dim)};
  std::vector<double> every;
  for (const Edge& e : r.edges) {
    const std::vector<double> row = c.row(e.above, e.below, e.last);
    every.insert(every.end(), row.begin(), row.end());
    const double odds = luce.weight(e.last, e.above) / luce.weight(e.last, e.below);
    if (!e.higher) r.cyclic.add(row, std::log(odds));
  }
  r.every_edge = margin_of(every, dim).status;
  const Numbers numbers = add_rows(c, reach, r);
  r.svm = margin_of(r.g, dim);

  std::vector<double> pull(numbers.size(), 0);  // c_g
  const double n = static_cast<double>(c.sequences.size());
  for (const Sequence& s : c.sequences) {
    r.least_loss -= std::log(luce.share(s)) / n;
    for (const std::size_t t : s.tokens)
      if (!reach.together(s.last(), s.label, t))
        pull[numbers.at(components(reach, s.last(), s.label, t))] +=
            std::exp(-dot(c.row(s.label, t, s.last()), r.cyclic.point())) * luce.share(s) / n;
  }
  Fitted all(dim);
  for (const solve::Multiplier& m : r.svm.support)
    r.tight.add(std::span(r.g).subspan(m.index * dim, dim), std::log(pull[m.index] / m.value));
  for (std::size_t k = 0; k < r.g.size(); k += dim) all.add(std::span(r.g).subspan(k, dim), 0);
  r.complete = r.tight.rank() == all.rank();
  return r;
}

std::vector<double> predicted(const GraphSvm& t, double tau) {
  std::vector<double> w = t.svm.p;
  for (std::size_t k = 0; k < w.size(); ++k)
    w[k] = w[k] * std::log(tau) + t.cyclic.point()[k] + t.tight.point()[k];
  return w;
}

double Descent::finite_error(const Look& at) const {
  const std::vector<double> outside = theory.cyclic.outside(at.w);
  double square = 0;
  for (std::size_t k = 0; k < outside.size(); ++k) {
    const double error = at.w[k] - outside[k] - theory.cyclic.point()[k];
    square += error * error;
  }
  return std::sqrt(square);
}

std::vector<double> Descent::growth() const {
  std::vector<double> w = last().w;
  for (std::size_t k = 0; k < w.size(); ++k)
    w[k] = (w[k] - decade_before().w[k]) / std::log(last().tau / decade_before().tau);
  return w;
}

Descent descend(const Corpus& corpus, int decades, const Effort& effort) {
  Descent d{.corpus = corpus, .theory = graph_svm_of(corpus)};
  // Its loss plays no part: losses of the library have one head for all inputs.
  const training::Problem problem = problem_of(corpus);
  const training::Objective objective(problem, training::Loss::linear, training::Train::W);
  std::vector<double> w = objective.start();
  training::Evaluation e;
  for (int k = 0, step = 0; k <= 16 * decades && !effort.context.stopped(); ++k) {
    const int until = static_cast<int>(std::round(std::pow(10, k / 16.0)));
    for (; step < until; ++step) {
      objective.evaluate(w, e);
      step_down(corpus, e.weight, w);
    }
    objective.evaluate(w, e);
    d.looks.push_back(
        {static_cast<double>(until), loss_of(corpus, e.weight) - d.theory.least_loss, w});
  }
  return d;
}

}  // namespace attractor::papers
