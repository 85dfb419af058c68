// A sweep and the directory that keeps it: run.toml says where it was started, study.toml what it
// is, shard which part of it, units/ what is done. Whoever runs sweeps (the command line, Python)
// begins or resumes one here, runs it, and makes a page of its result.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attractor/commands/result.hpp"
#include "attractor/files/run_directory.hpp"
#include "attractor/study/schedule.hpp"
#include "attractor/study/study.hpp"

namespace attractor::lab {

/// Of a file; throws Error as parse_study() does.
Study read_study(const std::string& file);

struct KeptSweep {
  Study study{};
  Shard shard{};
  std::string files_from{};
  std::filesystem::path path{};
  std::optional<RunDirectory> directory{};  // rank 0
};

/// A new one. `name` of the study, for the command that run.toml repeats; shard: "3/8", or empty
/// for all. Throws Error if the directory cannot be it.
KeptSweep begin_sweep(Study study, const std::string& name, const std::filesystem::path& out,
                      const std::string& shard, Existing existing = Existing::kept);
KeptSweep resume_sweep(const std::filesystem::path& path);

/// run_sweep() of sweep.hpp.
bool run_kept(const KeptSweep& sweep, std::size_t workers, const std::function<bool()>& stop,
              const std::function<void(std::size_t completed, std::size_t most)>& report);

/// Of all units in the directory. Writes nothing.
Result result_of(const KeptSweep& sweep);
/// What it is the result of.
Call call_of(const KeptSweep& sweep);

/// The whole sweep of shards that are all complete, in a new directory.
KeptSweep merge_shards(const std::vector<std::string>& from, const std::filesystem::path& out,
                       Existing existing = Existing::kept);

}  // namespace attractor::lab
