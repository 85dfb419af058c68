#include "attractor/drawing/label_places.hpp"

#include <algorithm>

namespace attractor::report {

std::vector<double> label_places(const std::vector<LabelWish>& wishes, double low, double high) {
  // Without their own sizes labels may touch: offsets take the sizes out.
  std::vector<double> offset;
  double below = 0;
  for (const LabelWish& w : wishes) {
    offset.push_back(below + w.size / 2);
    below += w.size;
  }
  struct Pool {
    double sum;
    std::size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    pools.push_back({wishes[i].at - offset[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      pools[pools.size() - 2].sum += pools.back().sum;
      pools[pools.size() - 2].count += pools.back().count;
      pools.pop_back();
    }
  }
  std::vector<double> places;
  const double most = std::max(low, high - below);
  for (const Pool& pool : pools)
    for (std::size_t k = 0; k < pool.count; ++k)
      places.push_back(std::clamp(pool.mean(), low, most) + offset[places.size()]);
  return places;
}

}  // namespace attractor::report
