#include "attractor/study/sweep_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/ranks/ranks.hpp"
#include "attractor/study/sweep.hpp"
#include "attractor/study/sweep_result.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostStudyBytes = 1 << 24;

Shard parse_shard(const std::string& text) {
  const auto refuse = [&] {
    throw Error(
        fmt::format("shard = '{}' is not allowed; allowed: i/k with 1 <= i <= k <= 100000", text));
  };
  std::size_t index = 0, count = 0;
  const std::size_t slash = text.find('/');
  if (slash == text.npos) refuse();
  const char *begin = text.data(), *middle = begin + slash, *end = begin + text.size();
  const auto first = std::from_chars(begin, middle, index);
  const auto second = std::from_chars(middle + 1, end, count);
  if (first.ec != std::errc{} || first.ptr != middle || second.ec != std::errc{} ||
      second.ptr != end || index < 1 || index > count || count > 100000)
    refuse();
  return {index - 1, count};
}

Study stored_study(const fs::path& path) {
  if (!fs::exists(path / "study.toml"))
    throw Error(fmt::format("{} holds no study.toml: it is no sweep, or one that had not begun",
                            path.string()));
  return read_study((path / "study.toml").string());
}

Shard stored_shard(const fs::path& path) {
  if (!fs::exists(path / "shard")) return {};
  return parse_shard(read_file(path / "shard", 100));
}

// ---- Shards.

/// What the run.toml of a shard says.
RunOrigin stored_origin(const fs::path& path) {
  RunOrigin origin = read_origin(path / "run.toml");
  if (origin.name.empty())
    throw Error(fmt::format("{} does not name its command: an older version wrote it",
                            (path / "run.toml").string()));
  return origin;
}

void require_same_inputs(const fs::path& first, const fs::path& other) {
  const std::vector<InputFile> ours = stored_origin(first).inputs.files(),
                               theirs = stored_origin(other).inputs.files();
  if (ours == theirs) return;
  std::string name = "other files";
  for (std::size_t k = 0; k < std::min(ours.size(), theirs.size()); ++k)
    if (ours[k] != theirs[k]) name = ours[k].name;
  throw Error(fmt::format("{} and {} were not computed from the same data: {} had changed",
                          first.string(), other.string(), name));
}

/// The units of all directories; throws Error if they are not parts of one complete study.
std::map<std::size_t, UnitResult> joined(const std::vector<std::string>& from, const Study& study) {
  std::map<std::size_t, UnitResult> units;
  for (const std::string& directory : from) {
    if (stored_study(directory).text != study.text)
      throw Error(fmt::format("{} and {} hold different studies", from.front(), directory));
    require_same_inputs(from.front(), directory);
    units.merge(read_journals(directory, study.units()));
  }
  const Schedule schedule(study, {}, units);
  if (!schedule.done())
    throw Error(fmt::format("{} of {} units are missing; a shard is not complete or not given",
                            schedule.most() - schedule.completed(), schedule.most()));
  return units;
}

}  // namespace

Study read_study(const std::string& file) {
  return parse_study(read_file(file, kMostStudyBytes), file);
}

KeptSweep begin_sweep(Study study, const std::string& name, const fs::path& out,
                      const std::string& shard, Existing existing) {
  KeptSweep sweep{.study = std::move(study), .path = out};
  if (!shard.empty()) sweep.shard = parse_shard(shard);
  sweep.files_from = fs::current_path().string();
  if (ranks::rank() != 0) return sweep;
  const std::string command =
      fmt::format("attractor sweep {} --out {}", shell_word(name), shell_word(out.string()));
  sweep.directory.emplace(
      RunDirectory::create(sweep.path, {},
                           {.name = "sweep",
                            .command = command,
                            .started_in = sweep.files_from,
                            .inputs = InputFiles(study_files(sweep.study), sweep.files_from)},
                           existing));
  if (!shard.empty()) write_file(sweep.path / "shard", shard);
  write_file(sweep.path / "study.toml", sweep.study.text);
  return sweep;
}

KeptSweep resume_sweep(const fs::path& path) {
  KeptSweep sweep{.path = path};
  if (ranks::rank() == 0) {
    sweep.directory.emplace(RunDirectory::resume(path, {}, "sweep"));
    sweep.files_from = sweep.directory->origin().started_in;
  }
  sweep.study = stored_study(path);
  sweep.shard = stored_shard(path);
  return sweep;
}

bool run_kept(const KeptSweep& sweep, std::size_t workers, const std::function<bool()>& stop,
              const std::function<void(std::size_t completed, std::size_t most)>& report) {
  return run_sweep(sweep.study, {.directory = sweep.path,
                                 .files_from = sweep.files_from,
                                 .inputs = read_origin(sweep.path / "run.toml").inputs,
                                 .shard = sweep.shard,
                                 .workers = workers,
                                 .stop = stop,
                                 .report = report});
}

Result result_of(const KeptSweep& sweep) {
  return result_of(sweep.study, read_journals(sweep.path, sweep.study.units()));
}

/// The study lies in the directory of its sweep.
Call call_of(const KeptSweep& sweep) {
  std::string place = sweep.path.string();
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  return {.program = "attractor sweep study.toml",
          .again = fmt::format("attractor sweep {} --out {}", shell_word(place + "/study.toml"),
                               shell_word(place + "_again"))};
}

KeptSweep merge_shards(const std::vector<std::string>& from, const fs::path& out,
                       Existing existing) {
  KeptSweep whole{.study = stored_study(from.front()), .path = out};
  const std::map<std::size_t, UnitResult> units = joined(from, whole.study);
  RunOrigin origin = stored_origin(from.front());
  origin.command = call_of(whole).command();
  whole.directory.emplace(RunDirectory::create(out, {}, std::move(origin), existing));
  write_file(whole.path / "study.toml", whole.study.text);
  Journal journal(whole.path, "process");
  for (const auto& [unit, result] : units) journal.append(result);
  return whole;
}

}  // namespace attractor::lab
