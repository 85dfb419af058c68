#include "experiments/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attractor/base/error.hpp"
#include "experiments/entries.hpp"

namespace attractor::experiments {

const std::vector<Entry>& catalogue() {
  static const std::vector<Entry> entries = {
      phase_circle(),
  };
  return entries;
}

const Entry& entry_named(const std::string& id) {
  const std::vector<Entry>& all = catalogue();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.id == id; });
  if (at != all.end()) return *at;
  std::vector<std::string> ids;
  for (const Entry& e : all) ids.push_back(e.id);
  throw Error(
      fmt::format("'{}' is not in the catalogue; allowed: all, {}", id, fmt::join(ids, ", ")));
}

}  // namespace attractor::experiments
