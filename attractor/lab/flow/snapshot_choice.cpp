#include "attractor/lab/flow/snapshot_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attractor/base/error.hpp"

namespace attractor::lab {

SnapshotChoice::SnapshotChoice(const FlowSetup& setup, std::size_t planned, std::size_t tokens,
                               std::size_t dim)
    : count_(snapshot_count(setup, tokens, dim)),
      planned_(planned),
      asked_(setup.snapshots.has_value()) {
  if (asked_ && planned_ > 1 && count_ > planned_)
    throw Error(fmt::format(
        "snapshots = {} is not allowed; allowed: 2 to {}, the number of times at which this run is "
        "measured (outputs = {} and the start)",
        count_, planned_, outputs_of(setup)));
  if (planned_ > 0) {
    for (std::size_t k = 0; k < count_; ++k) indices_.push_back(k * (planned_ - 1) / (count_ - 1));
    return;
  }
  for (std::size_t level = tokens / 2; level > 5; level /= 2) levels_.push_back(level);
  for (std::size_t level = std::min<std::size_t>(5, tokens - 1); level >= 1; --level)
    levels_.push_back(level);
  if (levels_.size() + 1 > count_)
    levels_.erase(levels_.begin(), levels_.end() - static_cast<std::ptrdiff_t>(count_ - 1));
}

std::size_t SnapshotChoice::stride(std::size_t output) const {
  std::size_t s = 1;
  while (output / s + 1 > 2 * count_) s *= 2;
  return s;
}

bool SnapshotChoice::wants(std::size_t output, std::size_t taken, std::size_t before,
                           std::size_t now) const {
  if (output == 0) return true;
  if (planned_ > 0) return taken < indices_.size() && indices_[taken] <= output;
  if (asked_) return output % stride(output) == 0;
  return std::any_of(levels_.begin(), levels_.end(),
                     [&](std::size_t level) { return now <= level && level < before; });
}

void SnapshotChoice::thin(std::size_t output, std::vector<Snapshot>& kept) const {
  if (!thins() || output == 0 || stride(output) == stride(output - 1)) return;
  for (std::size_t k = 1; 2 * k < kept.size(); ++k) kept[k] = std::move(kept[2 * k]);
  kept.resize((kept.size() + 1) / 2);
}

void SnapshotChoice::finish(std::vector<Snapshot>& kept) const {
  if (!thins() || kept.size() <= count_) return;
  std::vector<Snapshot> chosen;
  for (std::size_t k = 0; k < count_; ++k)
    chosen.push_back(std::move(kept[k * (kept.size() - 1) / (count_ - 1)]));
  kept = std::move(chosen);
}

}  // namespace attractor::lab
