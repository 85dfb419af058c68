// Scripts by which shells complete commands, options and the words they take, written from the
// lists of parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tool.hpp"
#include "attractor/base/named.hpp"

namespace attractor::apps {

enum class Shell { bash, zsh, fish };

inline std::span<const std::string_view> names(Shell) {
  static constexpr std::string_view kNames[] = {"bash", "zsh", "fish"};
  return kNames;
}

std::string completion(Shell shell, const std::vector<Tool>& tools);

}  // namespace attractor::apps
