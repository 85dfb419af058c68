// Sequences of embedded tokens with one of their tokens as label, their token-priority graphs, and
// Luce's choice model on these (Li, Huang, Ildiz, Rawat, Oymak, arXiv 2403.08081).
//
// The graph of token k has an edge y -> t for every sequence that ends in k and has label y, and
// every other token t of it. Tokens with paths both ways form a strongly connected component. On
// one component labels are choices: with probability w_y / sum_u w_u, u in the component and in the
// sequence. The likelihood has one maximum in the differences of ln w, because there is a path from
// every token to every other (Ford 1957); Zermelo's iteration finds it.
#pragma once

#include <cstdint>
#include <vector>

#include "attractor/training/problem.hpp"

namespace attractor::papers {

struct Sequence {
  std::vector<std::size_t> tokens;  // distinct; the last one asks
  std::size_t label;                // one of them
  std::size_t last() const { return tokens.back(); }
};

struct Corpus {
  std::size_t vocabulary, dim;
  std::vector<double> embedding;  // vocabulary x dim, unit vectors
  std::vector<Sequence> sequences;
  std::span<const double> token(std::size_t t) const {
    return std::span(embedding).subspan(t * dim, dim);
  }
  /// (e_above - e_below) e_last^T, dim x dim.
  std::vector<double> row(std::size_t above, std::size_t below, std::size_t last) const;
};

/// Twelve sequences of four out of six tokens in R^8, two of which ask; labels at random.
Corpus random_corpus(std::uint64_t seed);
/// As a problem of attention: W is to be trained, values play no part.
training::Problem problem_of(const Corpus& corpus);

/// For each asking token and pair: is there a path from the one to the other?
class Reach {
 public:
  explicit Reach(const Corpus& corpus);
  bool together(std::size_t last, std::size_t a, std::size_t b) const;
  /// The first token of the component of t.
  std::size_t component(std::size_t last, std::size_t t) const;

 private:
  std::size_t at(std::size_t last, std::size_t a, std::size_t b) const {
    return (last * size_ + a) * size_ + b;
  }
  std::size_t size_;
  std::vector<bool> path_;
};

/// Most likely weights w. A view of the graphs.
class Luce {
 public:
  Luce(const Corpus& corpus, const Reach& reach);
  double weight(std::size_t last, std::size_t t) const { return weight_[last * size_ + t]; }
  /// w_y / sum_u w_u of a sequence and its label.
  double share(const Sequence& s) const { return weight(s.last(), s.label) / total(s); }

 private:
  double total(const Sequence& s) const;
  std::size_t size_;
  const Reach& reach_;
  std::vector<double> weight_;
};

}  // namespace attractor::papers
