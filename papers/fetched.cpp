#include "papers/fetched.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

namespace attractor::papers {
namespace fs = std::filesystem;

fs::path fetched_folder() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? std::string(value) : std::string();
  };
  if (const std::string own = set("ATTRACTOR_MODELS"); !own.empty()) return own;
  const std::string cache = set("XDG_CACHE_HOME");
  const fs::path base = cache.empty() ? fs::path(set("HOME")) / ".cache" : fs::path(cache);
  return base / "attractor" / "models";
}

bool is_fetched(const std::string& name) {
  std::error_code ignored;
  return fs::is_directory(fetched_folder() / name, ignored);
}

std::string what_is_missing(const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (!is_fetched(name)) missing.push_back(name);
  if (missing.empty()) return "";
  return fmt::format("{} {} not in {}; tools/models {} fetches {}", fmt::join(missing, ", "),
                     missing.size() > 1 ? "are" : "is", fetched_folder().string(),
                     fmt::join(missing, " "), missing.size() > 1 ? "them" : "it");
}

}  // namespace attractor::papers
