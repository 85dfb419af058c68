// The catalogue of published results, in the order of the papers: one file for each in a folder by
// idea, and its name in the list of catalogue.cpp.
//
//   attractor reproduce --list
//   attractor reproduce phase-circle --quick --out DIR
#pragma once

#include <string>
#include <vector>

#include "papers/entry.hpp"

namespace attractor::papers {

const std::vector<Entry>& catalogue();
/// What it is of each entry: id, title, source, shows.
Json catalogue_json();
/// Throws Error naming the ids if there is none like it.
const Entry& entry_named(const std::string& id);

}  // namespace attractor::papers
