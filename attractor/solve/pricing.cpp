#include "attractor/solve/pricing.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"

namespace attractor::solve {

std::vector<std::size_t> Pricing::worst(std::span<const double> p,
                                        std::span<const std::size_t> active, double lift) {
  struct Worst {
    double distance = 0;
    std::size_t row = 0;
  };
  constraints_.products(p, products_);
  for (const std::size_t j : active) products_[j] = kInfinity;
  const double norm = length(p);
  std::vector<Worst> worst(constraints_.groups());
  for (std::size_t j = 0; j < products_.size(); ++j) {
    const double missing = constraints_.bound(j) + lift * norms_[j] - products_[j];
    if (!(missing > 0) || norms_[j] == 0) continue;
    const double distance = missing / norms_[j];
    Worst& held = worst[constraints_.group(j)];
    const double rounding = kRounding * (norm + std::abs(constraints_.bound(j)) / norms_[j]);
    if (distance > rounding && distance > held.distance) held = {distance, j};
  }
  std::erase_if(worst, [](const Worst& w) { return w.distance == 0; });
  std::sort(worst.begin(), worst.end(), [](const Worst& a, const Worst& b) {
    return a.distance != b.distance ? a.distance > b.distance : a.row < b.row;
  });
  if (const std::size_t most = std::max<std::size_t>(64, 2 * p.size()); worst.size() > most)
    worst.resize(most);
  std::vector<std::size_t> rows;
  rows.reserve(worst.size());
  for (const Worst& w : worst) rows.push_back(w.row);
  return rows;
}

}  // namespace attractor::solve
