#include "attractor/commands/select/select_words.hpp"

#include <algorithm>

namespace attractor::lab {

std::string attention_name(const SelectRecord& r) {
  return training::Trained(r.setup.train).attention == training::AttentionPart::prompt ? "p" : "W";
}

std::vector<std::size_t> basin_counts(const training::Basins& basins) {
  std::vector<std::size_t> counts(basins.limits.size() + 1, 0);
  for (const training::BasinStart& s : basins.starts)
    ++counts[std::min(s.limit, basins.limits.size())];
  return counts;
}

std::string token_list(std::span<const std::size_t> chosen) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(chosen.size(), kShown); ++i)
    text += (i > 0 ? " " : "") + std::to_string(chosen[i]);
  return chosen.size() > kShown ? text + " …" : text;
}

}  // namespace attractor::lab
