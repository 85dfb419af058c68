#include "attractor/training/margins/margin_approach.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

double cosine_between(std::span<const double> a, std::span<const double> b) {
  const double lengths = norm(a) * norm(b);
  return lengths > 0 && a.size() == b.size() ? dot(a, b) / lengths : kNan;
}

// The two secants; empty if the weights have not grown fourfold.
struct Secants {
  std::vector<double> last{}, before{};
};

Secants secants(const Trail& trail) {
  if (trail.empty()) return {};
  const std::vector<double>& end = trail.back();
  const auto last_within = [&](double length) {
    std::size_t found = trail.size();
    for (std::size_t k = 0; k < trail.size(); ++k)
      if (norm(trail[k]) <= length) found = k;
    return found;
  };
  const std::size_t half = last_within(norm(end) / 2), quarter = last_within(norm(end) / 4);
  if (half >= trail.size() || quarter >= half) return {};
  Secants found;
  for (std::size_t a = 0; a < end.size(); ++a) {
    found.last.push_back(end[a] - trail[half][a]);
    found.before.push_back(trail[half][a] - trail[quarter][a]);
  }
  return found;
}

std::string verdict_of(const std::vector<MarginApproach>& norms) {
  std::string approached;
  std::size_t count = 0, left = 0;
  for (const MarginApproach& n : norms) {
    if (n.approached) ++count, approached = n.norm;
    if (n.left) ++left;
  }
  if (count == 1 && left + 1 == norms.size()) return approached;
  return left == norms.size() ? "none" : "undecided";
}

}  // namespace

double margin_of(const Objective& objective, std::span<const std::size_t> chosen,
                 std::span<const double> w, const MarginNorm& norm) {
  const Problem& p = objective.problem();
  const std::size_t d = p.dim;
  const bool matrix = objective.trained().attention != AttentionPart::prompt;
  // u = W q_i: what the tokens of input i are multiplied with; W is the problem's if p is trained.
  const auto map = matrix ? w : std::span<const double>(p.weights);
  double least = kInfinity;
  for (std::size_t i = 0; i < p.inputs; ++i) {
    std::span<const double> q = w;
    if (matrix) {
      q = objective.given_queries();
      if (q.size() > d) q = q.subspan(i * d, d);
    }
    std::vector<double> u(q.begin(), q.end());
    for (std::size_t a = 0; a < d && !map.empty(); ++a) u[a] = dot(map.subspan(a * d, d), q);
    for (std::size_t t = 0; t < p.tokens; ++t) {
      if (t == chosen[i]) continue;
      double lead = 0;
      for (std::size_t a = 0; a < d; ++a)
        lead += (p.token(i, chosen[i])[a] - p.token(i, t)[a]) * u[a];
      least = std::min(least, lead);
    }
  }
  return least / norm(w);
}

MarginVerdict compare_margins(const Objective& objective, std::span<const std::size_t> chosen,
                              std::span<const double> v, const Trail& trail, double within,
                              const std::vector<MarginNorm>& norms) {
  const bool matrix = objective.trained().attention != AttentionPart::prompt;
  const Secants far = secants(trail);
  MarginVerdict all;
  for (const MarginNorm& norm : norms) {
    MarginApproach n{.norm = name(norm, matrix),
                     .cosine = kNan,
                     .far_cosine = kNan,
                     .share = kNan,
                     .error = kNan};
    n.svm = AttSvm(objective, norm).solve({chosen.begin(), chosen.end()}, v);
    if (n.svm.feasible() && !trail.empty()) n.cosine = cosine_between(trail.back(), n.svm.solution);
    if (n.svm.feasible() && !far.last.empty()) {
      const auto share = [&](const std::vector<double>& w) {
        return margin_of(objective, chosen, w, norm) * n.svm.norm;
      };
      n.far_cosine = cosine_between(far.last, n.svm.solution);
      n.share = share(far.last);
      n.error = std::abs(n.share - share(far.before)) + n.svm.relative_gap;
      n.approached = 1 - n.share + n.error <= within;
      n.left = 1 - n.share - n.error > within;
    }
    all.norms.push_back(std::move(n));
  }
  if (!trail.empty()) all.verdict = verdict_of(all.norms);
  return all;
}

}  // namespace attractor::training
