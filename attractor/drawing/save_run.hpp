// A result that somebody holds, as the directory that the command line would have left: run.toml,
// result.h5, page, figures, summary.json. result.h5 has the bytes of that run.
#pragma once

#include <filesystem>
#include <string>

#include "attractor/commands/result.hpp"

namespace attractor::lab {

/// name: of the command. Arrays and problems that came from no file are kept in inputs/, so that
/// run.toml repeats the run. Throws Error unless the directory is new or empty.
void save_run(const Result& answer, const Call& call, const std::string& name, double wall_seconds,
              const std::filesystem::path& directory, bool with_page);

}  // namespace attractor::lab
