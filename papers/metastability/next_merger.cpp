#include "papers/metastability/next_merger.hpp"

#include <cmath>
#include <numbers>

#include "attractor/reductions/cluster_pair.hpp"

namespace attractor::papers {

Merger next_merger(const std::vector<Cluster>& clusters, bool closed, double beta, double cosine) {
  using namespace meanfield;
  const std::size_t n = clusters.size();
  const auto gap = [&](std::size_t k) {  // to the next one
    const double turn = k % n + 1 == n ? 2 * std::numbers::pi : 0;
    return clusters[(k + 1) % n].angle - clusters[k % n].angle + turn;
  };
  const auto mass = [&](std::size_t k) { return clusters[k % n].mass; };
  const auto pull = [&](std::size_t k) {
    return std::exp(beta * (std::cos(gap(k)) - 1)) * std::sin(gap(k));
  };
  Merger first{.wait = HUGE_VAL};
  for (std::size_t k = 0; k < (closed ? n : n - 1); ++k) {
    if (gap(k) > std::numbers::pi) continue;
    const double a = mass(k), b = mass(k + 1);
    const ClusterPair pair{.beta = beta, .mass1 = a / (a + b), .mass2 = b / (a + b)};
    const double wait =
        merge_time(pair, PairAngle::of(gap(k)), PairAngle::of_cosine(cosine)).value();
    if (wait >= first.wait) continue;
    double apart = 0;
    if (n > 2 && (closed || k > 0)) apart += mass(k + n - 1) / a * pull(k + n - 1);
    if (n > 2 && (closed || k + 2 < n)) apart += mass(k + 2) / b * pull(k + 1);
    first = {k, wait, apart / ((b / a + a / b) * pull(k))};
  }
  return first;
}

}  // namespace attractor::papers
