// The gallery: a card with thumbnail and verdict for each entry that was run.
#pragma once

#include <filesystem>
#include <vector>

#include "papers/reproduce.hpp"

namespace attractor::papers {

/// Writes directory/index.html and directory/summary.json; the entries' pages are there already.
void write_gallery(const std::vector<Verdict>& verdicts, bool quick,
                   const std::filesystem::path& directory);

}  // namespace attractor::papers
