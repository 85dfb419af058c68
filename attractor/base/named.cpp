#include "attractor/base/named.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attractor/base/error.hpp"

namespace attractor {

std::optional<std::size_t> place_of(std::string_view name,
                                    std::span<const std::string_view> names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return {};
  return static_cast<std::size_t>(at - names.begin());
}

void refuse_name(std::string_view what, std::string_view name,
                 std::span<const std::string_view> allowed) {
  throw Error(fmt::format("{} '{}' is unknown; allowed: {}", what, name, fmt::join(allowed, ", ")));
}

}  // namespace attractor
