// `sweep` and `merge`: studies of any command, and the parts of one.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

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
#include "attractor/ranks/ranks.hpp"
#include "attractor/study/journal.hpp"
#include "attractor/study/sweep_directory.hpp"

namespace attractor::apps {
namespace {

using namespace attractor::lab;
using Clock = std::chrono::steady_clock;

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

// ---- Directories.

Existing existing(bool overwrite) { return overwrite ? Existing::replaced : Existing::kept; }

KeptSweep resume(const SweepOptions& options) {
  if (!options.study.empty() || !options.out.empty() || !options.shard.empty() || options.overwrite)
    throw Error(fmt::format("--resume takes the study from {}; give no other", options.resume));
  return in_words_of_flags(options.resume, [&] { return resume_sweep(options.resume); });
}

KeptSweep start(const SweepOptions& options) {
  if (options.study.empty())
    throw Error("a study is missing: attractor sweep study.toml --out DIR; see --help");
  if (options.out.empty())
    throw Error("--out is missing: a sweep keeps every unit in a directory, so that it can resume");
  Study study = read_study(options.study);
  if (options.overwrite)
    for (const std::string& file : study_files(study)) require_elsewhere(options.out, file);
  return in_words_of_flags(options.out, [&] {
    return begin_sweep(std::move(study), options.study, options.out, options.shard,
                       existing(options.overwrite));
  });
}

/// What rank 0 alone is refused (a directory that exists) ends all ranks.
KeptSweep prepare(const SweepOptions& options) {
  try {
    return !options.resume.empty() ? resume(options) : start(options);
  } catch (const Error& error) {
    if (ranks::count() == 1) throw;
    if (ranks::rank() == 0) say(error.what());
    ranks::abort(kBadInput);
  }
}

// ---- Results.

int finish(const KeptSweep& sweep, Clock::time_point begin, bool json) {
  const Result answer = result_of(sweep);
  const Call call = call_of(sweep);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  write_result(answer, call, seconds, sweep.path);
  if (json)
    fmt::print("{}\n", summary(answer, call, seconds).dump(2));
  else
    fmt::print("{}\nPage: {}\n", text(answer, text_width()), (sweep.path / "index.html").string());
  if (answer.not_delivered.empty()) return kOk;
  say(answer.not_delivered);
  return kNotDelivered;
}

int finish_shard(const KeptSweep& run, const SweepOptions& options) {
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
  KeptSweep run = prepare(options);
  run.files_from = ranks::broadcast(run.files_from);
  bool complete = false;
  {
    ProgressBar bar(!options.run.quiet && ranks::rank() == 0);
    complete = run_kept(run, options.workers, interrupted, [&](std::size_t done, std::size_t most) {
      if (!bar.due()) return;
      bar.show(static_cast<double>(done) / static_cast<double>(most),
               fmt::format("{} of {} units", done, most));
    });
  }
  if (ranks::rank() != 0) return complete ? kOk : kInterrupted;
  if (!complete) {
    say(fmt::format("interrupted; continue with: attractor sweep --resume {}",
                    shell_word(run.path.string())));
    return kInterrupted;
  }
  if (run.shard.count > 1) return finish_shard(run, options);
  return finish(run, begin, options.run.json);
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

int run(const MergeOptions& options) {
  if (options.from.empty()) throw Error("directories of shards are missing; see --help");
  if (options.out.empty()) throw Error("--out is missing: the directory for the whole sweep");
  if (options.overwrite)
    for (const std::string& shard : options.from) require_elsewhere(options.out, shard);
  const auto begin = Clock::now();
  const KeptSweep whole = in_words_of_flags(options.out, [&] {
    return merge_shards(options.from, options.out, existing(options.overwrite));
  });
  return finish(whole, begin, options.run.json);
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
