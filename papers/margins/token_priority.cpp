#include "papers/margins/token_priority.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"

namespace attractor::papers {

std::vector<double> Corpus::row(std::size_t above, std::size_t below, std::size_t last) const {
  std::vector<double> result;
  for (std::size_t a = 0; a < dim; ++a)
    for (std::size_t b = 0; b < dim; ++b)
      result.push_back((embedding[above * dim + a] - embedding[below * dim + a]) *
                       embedding[last * dim + b]);
  return result;
}

Corpus random_corpus(std::uint64_t seed) {
  Corpus c{.vocabulary = 6, .dim = 8, .embedding = std::vector<double>(48), .sequences = {}};
  const Stream embeddings(seed, "embeddings"), order(seed, "sequences"), labels(seed, "labels");
  for (std::size_t t = 0; t < c.vocabulary; ++t) {
    const std::span<double> e = std::span(c.embedding).subspan(t * c.dim, c.dim);
    embeddings.normals(t, e);
    const double length = norm(e);
    for (double& x : e) x /= length;
  }
  for (std::size_t i = 0; i < 12; ++i) {
    std::vector<std::size_t> tokens = {0, 1, 2, 3, 4, 5};
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(i % 2));
    for (std::size_t k = 0; k < 3; ++k) std::swap(tokens[k], tokens[k + order.below(5 - k, i, k)]);
    tokens[3] = i % 2;
    tokens.resize(4);
    const std::size_t label = tokens[labels.below(4, i, 0)];
    c.sequences.push_back({std::move(tokens), label});
  }
  return c;
}

training::Problem problem_of(const Corpus& c) {
  const std::size_t n = c.sequences.size();
  training::Problem p{.inputs = n,
                      .tokens = c.sequences[0].tokens.size(),
                      .dim = c.dim,
                      .labels = std::vector<double>(n, 1),
                      .head = {.v = std::vector<double>(c.dim, 1)},
                      .weights = std::vector<double>(c.dim * c.dim, 0),
                      .prompt = std::vector<double>(c.dim, 0)};
  const auto append = [&](std::vector<double>& to, std::size_t t) {
    to.insert(to.end(), c.token(t).begin(), c.token(t).end());
  };
  for (const Sequence& s : c.sequences) {
    for (const std::size_t t : s.tokens) append(p.x, t);
    append(p.queries, s.last());
  }
  return p;
}

Reach::Reach(const Corpus& c) : size_(c.vocabulary), path_(size_ * size_ * size_, false) {
  for (const Sequence& s : c.sequences)
    for (const std::size_t t : s.tokens) path_[at(s.last(), s.label, t)] = true;
  for (std::size_t last = 0; last < size_; ++last)
    for (std::size_t m = 0; m < size_; ++m)
      for (std::size_t a = 0; a < size_; ++a)
        for (std::size_t b = 0; b < size_; ++b)
          if (path_[at(last, a, m)] && path_[at(last, m, b)]) path_[at(last, a, b)] = true;
}

bool Reach::together(std::size_t last, std::size_t a, std::size_t b) const {
  return a == b || (path_[at(last, a, b)] && path_[at(last, b, a)]);
}

std::size_t Reach::component(std::size_t last, std::size_t t) const {
  std::size_t first = 0;
  while (!together(last, first, t)) ++first;
  return first;
}

/// w_t = labels t / sum over sequences with t of 1 / sum_u w_u.
Luce::Luce(const Corpus& c, const Reach& reach)
    : size_(c.vocabulary), reach_(reach), weight_(size_ * size_, 1) {
  double change = 1;
  for (int round = 0; round < 100'000 && change > 1e-15; ++round) {
    std::vector<double> labels(weight_.size(), 0), chances(weight_.size(), 0);
    for (const Sequence& s : c.sequences) {
      labels[s.last() * size_ + s.label] += 1;
      for (const std::size_t t : s.tokens)
        if (reach_.together(s.last(), s.label, t)) chances[s.last() * size_ + t] += 1 / total(s);
    }
    change = 0;
    for (std::size_t k = 0; k < weight_.size(); ++k) {
      if (labels[k] == 0) continue;  // such a token is a component of its own
      const double next = labels[k] / chances[k];
      change = std::max(change, std::abs(std::log(next / weight_[k])));
      weight_[k] = next;
    }
  }
}

double Luce::total(const Sequence& s) const {
  double sum = 0;
  for (const std::size_t t : s.tokens)
    if (reach_.together(s.last(), s.label, t)) sum += weight(s.last(), t);
  return sum;
}

}  // namespace attractor::papers
