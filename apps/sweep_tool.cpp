// `sweep` and `merge`: studies of any command, and the parts of one.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/out_directory.hpp"
#include "apps/progress_bar.hpp"
#include "apps/terminal.hpp"
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/files/run_directory.hpp"
#include "attractor/ranks/ranks.hpp"
#include "attractor/study/sweep.hpp"
#include "attractor/study/sweep_result.hpp"

namespace attractor::apps {
namespace {

namespace fs = std::filesystem;
using namespace attractor::lab;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostStudyBytes = 1 << 24;

struct SweepOptions {
  std::string study, out, resume, shard;
  std::uint64_t workers = 0;
  bool overwrite = false;
  RunOptions run{};
};

void add(SweepOptions& o, ParameterList& l) {
  l.group("Run");
  l.add("study", o.study, "TOML file; docs/howto/sweeps.md").allow("a file").first();
  l.add("out", o.out, "directory for units, result.h5, summary.json, figures and page")
      .allow("a directory")
      .not_empty();
  l.add("overwrite", o.overwrite, kOverwriteHelp);
  l.add("resume", o.resume, "continue a sweep that was ended in any way")
      .allow("its directory")
      .not_empty();
  l.add("shard", o.shard,
        "only the points of part I of K, for job arrays; join parts with attractor merge")
      .allow("I/K")
      .not_empty();
  add_threads(o.run, l);
  l.add("workers", o.workers, "units at once, 0: one for each thread; 1: a unit has all threads")
      .within(0, 4096);
  add_json(o.run, l);
  add_quiet(o.run, l);
}

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

// ---- Directories: run.toml says where the sweep was started, study.toml what it is, shard which
// part of it.

struct PreparedSweep {
  Study study;
  Shard shard;
  std::string files_from;
  fs::path path;
  std::optional<RunDirectory> directory;  // rank 0
};

Study stored_study(const fs::path& path) {
  if (!fs::exists(path / "study.toml"))
    throw Error(fmt::format("{} holds no study.toml: it is no sweep, or one that had not begun",
                            path.string()));
  return parse_study(read_file(path / "study.toml", kMostStudyBytes),
                     (path / "study.toml").string());
}

Shard stored_shard(const fs::path& path) {
  if (!fs::exists(path / "shard")) return {};
  return parse_shard(read_file(path / "shard", 100));
}

PreparedSweep resume(const SweepOptions& options) {
  if (!options.study.empty() || !options.out.empty() || !options.shard.empty() || options.overwrite)
    throw Error(fmt::format("--resume takes the study from {}; give no other", options.resume));
  PreparedSweep run{.path = options.resume};
  if (ranks::rank() == 0) {
    run.directory.emplace(resume_directory(options.resume, {}, "sweep"));
    run.files_from = run.directory->origin().started_in;
  }
  run.study = stored_study(run.path);
  run.shard = stored_shard(run.path);
  return run;
}

PreparedSweep start(const SweepOptions& options) {
  if (options.study.empty())
    throw Error("a study is missing: attractor sweep study.toml --out DIR; see --help");
  if (options.out.empty())
    throw Error("--out is missing: a sweep keeps every unit in a directory, so that it can resume");
  PreparedSweep run{.study = parse_study(read_file(options.study, kMostStudyBytes), options.study),
                    .path = options.out};
  if (!options.shard.empty()) run.shard = parse_shard(options.shard);
  run.files_from = fs::current_path().string();
  if (ranks::rank() != 0) return run;
  const std::string command = fmt::format("attractor sweep {} --out {}", shell_word(options.study),
                                          shell_word(options.out));
  run.directory.emplace(
      create_directory(options.out, options.overwrite, {},
                       {.name = "sweep",
                        .command = command,
                        .started_in = run.files_from,
                        .inputs = InputFiles(study_files(run.study), run.files_from)}));
  if (!options.shard.empty()) write_file(run.path / "shard", options.shard);
  write_file(run.path / "study.toml", run.study.text);
  return run;
}

/// What rank 0 alone is refused (a directory that exists) ends all ranks.
PreparedSweep prepare(const SweepOptions& options) {
  try {
    return !options.resume.empty() ? resume(options) : start(options);
  } catch (const Error& error) {
    if (ranks::count() == 1) throw;
    if (ranks::rank() == 0) fmt::print(stderr, "attractor: {}\n", error.what());
    ranks::abort(kBadInput);
  }
}

// ---- Results.

/// The study lies in the directory of its sweep.
Call call_of(const fs::path& path) {
  std::string place = path.string();
  while (place.size() > 1 && place.back() == '/') place.pop_back();
  return {.program = "attractor sweep study.toml",
          .again = fmt::format("attractor sweep {} --out {}", shell_word(place + "/study.toml"),
                               shell_word(place + "_again"))};
}

int finish(const Study& study, const fs::path& path, const Call& call, double seconds, bool json) {
  const Result answer = result_of(study, read_journals(path, study.units()));
  write_result(answer, call, seconds, path);
  if (json)
    fmt::print("{}\n", summary(answer, call, seconds).dump(2));
  else
    fmt::print("{}\nPage: {}\n", text(answer, text_width()), (path / "index.html").string());
  if (answer.not_delivered.empty()) return kOk;
  fmt::print(stderr, "attractor: {}\n", answer.not_delivered);
  return kNotDelivered;
}

int finish_shard(const PreparedSweep& run, const SweepOptions& options) {
  const Json json{{"shard", fmt::format("{}/{}", run.shard.index + 1, run.shard.count)},
                  {"unit_count", read_journals(run.path, run.study.units()).size()},
                  {"directory", run.path.string()}};
  write_file(run.path / "summary.json", json.dump(2) + "\n");
  if (options.run.json)
    fmt::print("{}\n", json.dump(2));
  else
    fmt::print("Shard {}/{} is complete in {}. When all are: attractor merge DIR... --out DIR\n",
               run.shard.index + 1, run.shard.count, run.path.string());
  return kOk;
}

int run(const SweepOptions& options) {
  set_threads(options.run.threads);
  catch_interrupts();
  const auto begin = Clock::now();
  PreparedSweep run = prepare(options);
  run.files_from = ranks::broadcast(run.files_from);
  bool complete = false;
  {
    ProgressBar bar(!options.run.quiet && ranks::rank() == 0);
    const SweepContext context{.directory = run.path,
                               .files_from = run.files_from,
                               .inputs = read_origin(run.path / "run.toml").inputs,
                               .shard = run.shard,
                               .workers = options.workers,
                               .stop = interrupted,
                               .report = [&](std::size_t done, std::size_t most) {
                                 if (!bar.due()) return;
                                 bar.show(static_cast<double>(done) / static_cast<double>(most),
                                          fmt::format("{} of {} units", done, most));
                               }};
    complete = run_sweep(run.study, context);
  }
  if (ranks::rank() != 0) return complete ? kOk : kInterrupted;
  if (!complete) {
    fmt::print(stderr, "attractor: interrupted; continue with: attractor sweep --resume {}\n",
               run.path.string());
    return kInterrupted;
  }
  if (run.shard.count > 1) return finish_shard(run, options);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return finish(run.study, run.path, call_of(run.path), seconds, options.run.json);
}

// ---- Merge.

struct MergeOptions {
  std::vector<std::string> from;
  std::string out;
  bool overwrite = false;
  RunOptions run{};
};

void add(MergeOptions& o, ParameterList& l) {
  l.group("Run");
  l.add("from", o.from, "directories of all shards").allow("directories").first();
  l.add("out", o.out, "directory for the whole sweep").allow("a directory").not_empty();
  l.add("overwrite", o.overwrite, kOverwriteHelp);
  add_json(o.run, l);
}

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
std::map<std::size_t, UnitResult> joined(const MergeOptions& options, const Study& study) {
  std::map<std::size_t, UnitResult> units;
  for (const std::string& directory : options.from) {
    if (stored_study(directory).text != study.text)
      throw Error(fmt::format("{} and {} hold different studies", options.from.front(), directory));
    require_same_inputs(options.from.front(), directory);
    units.merge(read_journals(directory, study.units()));
  }
  const Schedule schedule(study, {}, units);
  if (!schedule.done())
    throw Error(fmt::format("{} of {} units are missing; a shard is not complete or not given",
                            schedule.most() - schedule.completed(), schedule.most()));
  return units;
}

int run(const MergeOptions& options) {
  if (options.from.empty()) throw Error("directories of shards are missing; see --help");
  if (options.out.empty()) throw Error("--out is missing: the directory for the whole sweep");
  if (options.overwrite)
    for (const std::string& shard : options.from) require_elsewhere(options.out, shard);
  const auto begin = Clock::now();
  const Study study = stored_study(options.from.front());
  const std::map<std::size_t, UnitResult> units = joined(options, study);
  const Call call = call_of(options.out);
  RunOrigin origin = stored_origin(options.from.front());
  origin.command = call.command();
  RunDirectory directory = create_directory(options.out, options.overwrite, {}, std::move(origin));
  write_file(directory.path() / "study.toml", study.text);
  {
    Journal journal(directory.path(), "process");
    for (const auto& [unit, result] : units) journal.append(result);
  }
  return finish(study, directory.path(), call,
                std::chrono::duration<double>(Clock::now() - begin).count(), options.run.json);
}

}  // namespace

Tool sweep_tool() {
  return {
      .name = "sweep",
      .about = "Any command over a grid, a list or a Latin hypercube of its parameters",
      .examples =
          "  attractor sweep study.toml --out clusters\n"
          "  attractor sweep study.toml --shard 3/8 --out part3\n"
          "  mpirun -n 64 attractor sweep study.toml --out clusters     (built with MPI)\n"
          "After Ctrl-C or a crash, attractor sweep --resume clusters goes on. A study: command = "
          "\"flow\"; measure = [\"clusters\"]; replicates = 8; [fixed] dim = 2; [grid] beta = [1, "
          "4, 9]. "
          "All of it: docs/howto/sweeps.md.",
      .make = [] { return std::make_unique<OptionsCall<SweepOptions>>(); },
      .on_ranks = true};
}

Tool merge_tool() {
  return {.name = "merge",
          .about = "Join the shards of a sweep",
          .examples =
              "  attractor sweep study.toml --shard 1/2 --out part1\n"
              "  attractor sweep study.toml --shard 2/2 --out part2\n"
              "  attractor merge part1 part2 --out whole",
          .make = [] { return std::make_unique<OptionsCall<MergeOptions>>(); }};
}

}  // namespace attractor::apps
