// A command of the registry on the command line: where its files are, what it prints and keeps, and
// which exit status that is.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/out_directory.hpp"
#include "apps/progress_bar.hpp"
#include "apps/terminal.hpp"
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/named.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/commands/registry.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/files/checkpoint_file.hpp"
#include "attractor/files/load_inputs.hpp"
#include "attractor/files/output_files.hpp"
#include "attractor/files/parameter_file.hpp"
#include "attractor/files/run_directory.hpp"
#include "attractor/lab/wrap.hpp"
#include "attractor/ranks/ranks.hpp"

namespace attractor::apps {
namespace {

using namespace attractor::lab;

struct Options {
  Settings given;  // parameters on the command line
  std::string out, resume, config;
  RunOptions run;
  double checkpoint_seconds = 10;
  bool overwrite = false, no_figures = false;
  std::string figures = "svg";
};

ParameterList list(Options& o) {
  ParameterList l;
  l.group("Run");
  l.add("out", o.out, "new directory for result.h5, summary.json, figures and page")
      .allow("a directory")
      .not_empty();
  l.add("overwrite", o.overwrite, kOverwriteHelp);
  l.add("resume", o.resume, "continue an interrupted run").allow("its directory").not_empty();
  l.add("config", o.config, "TOML file with the names of the parameters; flags override it")
      .allow("a file")
      .not_empty();
  add_threads(o.run, l);
  l.add("checkpoint-seconds", o.checkpoint_seconds, "time between checkpoints").within(0, 1e9);
  add_json(o.run, l);
  add_quiet(o.run, l);
  l.add("no-figures", o.no_figures,
        "write result.h5 and summary.json only: no page, nothing is drawn");
  l.add("figures", o.figures, "files of the figures beside the page, comma-separated")
      .allow("of svg, pdf, png")
      .not_empty();
  l.short_help({"out", "resume", "json"});
  return l;
}

/// What is written beside the numbers; throws Error on formats that there are not.
PageOptions page_options(const Options& options) {
  PageOptions page{.page = !options.no_figures, .formats = {}};
  for (std::size_t at = 0; at <= options.figures.size();) {
    const std::size_t end = std::min(options.figures.find(',', at), options.figures.size());
    page.formats.push_back(named<report::Format>("figures", options.figures.substr(at, end - at)));
    at = end + 1;
  }
  if (page.page) report::require_formats(page.formats);
  return page;
}

// ---- Before a run: its parameters, where its files are meant from, and its directory if any.

struct Prepared {
  std::unique_ptr<Request> request;
  std::string files_from{};
  std::optional<RunDirectory> directory{};
};

bool is_shared(const Command& command) { return command.on_ranks && ranks::count() > 1; }

/// Sets what was given; the names of it.
std::vector<std::string> set_given(const Options& options, const ParameterList& parameters) {
  std::vector<std::string> names;
  for (const auto& [name, text] : options.given) {
    find(parameters, name).set(text);
    names.push_back(name);
  }
  return names;
}

Prepared resumed(const Command& command, const Options& options) {
  Prepared run{.request = command.make()};
  const ParameterList parameters = run.request->parameters();
  const bool changes =
      std::any_of(options.given.begin(), options.given.end(),
                  [&](const auto& setting) { return find(parameters, setting.first).stored; });
  if (changes || !options.config.empty() || !options.out.empty() || options.overwrite)
    throw Error(
        fmt::format("--resume takes the parameters from {}; give no others", options.resume));
  run.directory.emplace(resume_directory(options.resume, parameters, command.name));
  set_given(options, parameters);
  run.files_from = run.directory->origin().started_in;
  if (is_shared(command)) run.request->share();
  load_inputs(parameters, run.files_from);
  prepare(*run.request, {});
  return run;
}

Prepared begun(const Command& command, const Options& options) {
  require_out(options.out, options.overwrite);
  Prepared run{.request = command.make()};
  const ParameterList parameters = run.request->parameters();
  if (!options.config.empty()) {
    require_command(options.config, command.name);
    run.files_from = set_from_toml(parameters, options.config);
  }
  const std::vector<std::string> names = set_given(options, parameters);
  if (is_shared(command)) run.request->share();
  load_inputs(parameters, run.files_from);
  require_outputs(parameters, run.files_from);
  prepare(*run.request, names);
  if (options.out.empty()) return run;
  require_space(options.out, run.request->bytes());
  if (run.files_from.empty()) run.files_from = std::filesystem::current_path().string();
  const std::unique_ptr<Request> usual = command.make();
  run.directory.emplace(
      create_directory(options.out, options.overwrite, parameters,
                       {.name = command.name,
                        .command = call_of(command, *run.request, *usual).command(),
                        .started_in = run.files_from,
                        .inputs = InputFiles(input_files(parameters), run.files_from)}));
  return run;
}

Prepared prepare(const Command& command, const Options& options) {
  page_options(options);
  return !options.resume.empty() ? resumed(command, options) : begun(command, options);
}

/// Rank 0 prepares: what it refuses is refused everywhere, what it makes of the options is shared.
Prepared prepare_together(const Command& command, const Options& options) {
  std::optional<Prepared> run;
  std::string refusal;
  try {
    run.emplace(ranks::rank() == 0 ? prepare(command, options)
                                   : Prepared{.request = command.make()});
  } catch (const std::exception& error) {
    refusal = error.what();
  }
  refusal = ranks::broadcast(refusal);
  if (!refusal.empty()) throw Error(refusal);
  for (const Parameter& parameter : run->request->parameters()) {
    const std::string text = ranks::broadcast(parameter.text());
    if (text != parameter.text()) parameter.set(text);
  }
  run->files_from = ranks::broadcast(run->files_from);
  if (ranks::rank() > 0) {
    run->request->share();
    load_inputs(run->request->parameters(), run->files_from);
    prepare(*run->request, {});
  }
  return std::move(*run);
}

// ---- The run.

/// A machine's cores are shared by its ranks, unless each was given its own by who started them.
std::size_t threads_of(const RunOptions& options) {
  if (options.threads > 0 || ranks::count() == 1) return options.threads;
  set_threads(0);
  const bool all = threads() >= static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
  return all ? std::max<std::size_t>(1, threads() / ranks::neighbours()) : 0;
}

Result computed(const Prepared& prepared, const Options& options) {
  ProgressBar bar(!options.run.quiet && ranks::rank() == 0);
  std::shared_ptr<CheckpointStore> checkpoints;
  if (prepared.directory)
    checkpoints = std::make_shared<CheckpointFile>(prepared.directory->path() / "checkpoint.bin");
  return prepared.request->run({.checkpoints = checkpoints,
                                .checkpoint_seconds = options.checkpoint_seconds,
                                .stop = interrupted,
                                .report =
                                    [&](double done, const std::string& note) {
                                      if (bar.due()) bar.show(done, note);
                                    },
                                .due = [&] { return bar.due(); }});
}

/// What was refused while computing and has kept nothing leaves no directory behind.
void leave(const Options& options, Prepared& prepared) {
  std::error_code ignored;
  if (prepared.directory && options.resume.empty() &&
      !std::filesystem::exists(prepared.directory->path() / "checkpoint.bin", ignored))
    prepared.directory->abandon();
}

std::string how_to_go_on(const Command& command, const Prepared& prepared) {
  return fmt::format("attractor {} --resume {}", command.name,
                     shell_word(prepared.directory->path().string()));
}

std::string when_there_is_room(const Error& error, const Command& command,
                               const Prepared& prepared) {
  return fmt::format("{}; when there is room again: {}", error.what(),
                     how_to_go_on(command, prepared));
}

int say_interrupted(const Command& command, const Prepared& prepared, const Result& answer) {
  say(fmt::format("interrupted {}; {}", answer.interrupted,
                  prepared.directory ? "continue with: " + how_to_go_on(command, prepared)
                                     : "nothing was kept (no --out)"));
  return kInterrupted;
}

void keep(const Command& command, Prepared& prepared, const Result& answer, const Call& call,
          double seconds, const PageOptions& page) {
  try {
    write_outputs(answer, prepared.files_from);
    write_result(answer, call, seconds, prepared.directory->path(), page);
  } catch (const Error& error) {
    throw Error(when_there_is_room(error, command, prepared));
  }
  prepared.directory->close();
}

/// What 128k and its likes were read as; nothing if there are none.
std::string counts_in_full(const Options& options, Request& request) {
  const ParameterList parameters = request.parameters();
  std::string read;
  for (const auto& [name, text] : options.given)
    if (const Parameter& p = find(parameters, name);
        p.counted && text.find_first_of("kKMG") != text.npos)
      read += fmt::format("{}{} {} is {}", read.empty() ? "" : ", ", name, text, p.text());
  return read.empty() ? "" : read + " (k = 1024, M = 1024^2; powers of ten: 1e3, 1e6).\n";
}

/// Files are meant from the directory of the configuration that named them, if there was one.
std::string again(const Call& call, const Prepared& prepared) {
  const bool elsewhere = !prepared.files_from.empty() && !input_files(call.now).empty() &&
                         std::filesystem::weakly_canonical(prepared.files_from) !=
                             std::filesystem::weakly_canonical(std::filesystem::current_path());
  return elsewhere ? fmt::format("cd {} && {}", shell_word(prepared.files_from), call.command())
                   : "";
}

int deliver(const Command& command, Prepared& prepared, const Result& answer,
            const Options& options, double seconds) {
  const std::unique_ptr<Request> usual = command.make();
  Call call = call_of(command, *prepared.request, *usual);
  call.again = again(call, prepared);
  const PageOptions page = page_options(options);
  const bool with_page = page.page;
  if (prepared.directory)
    keep(command, prepared, answer, call, seconds, page);
  else
    write_outputs(answer, prepared.files_from);
  if (options.run.json) {
    fmt::print("{}\n", summary(answer, call, seconds).dump(2));
  } else {
    const std::size_t width = text_width();
    fmt::print("{}\n{}Computed in {:.3g} s.\n", text(answer, width),
               wrapped(counts_in_full(options, *prepared.request), 0, width), seconds);
    if (prepared.directory)
      fmt::print("{}: {}\n", with_page ? "Page" : "Result",
                 (prepared.directory->path() / (with_page ? "index.html" : "result.h5")).string());
  }
  if (answer.not_delivered.empty()) return kOk;
  say(answer.not_delivered);
  return kNotDelivered;
}

int run_prepared(const Command& command, const Options& options, Prepared& prepared,
                 std::chrono::steady_clock::time_point begin) {
  Result answer;
  try {
    answer = computed(prepared, options);
  } catch (const WriteError& error) {
    if (!prepared.directory) throw;
    throw Error(when_there_is_room(error, command, prepared));
  } catch (...) {
    leave(options, prepared);
    throw;
  }
  if (ranks::rank() > 0) return kOk;  // rank 0 speaks for all
  if (!answer.interrupted.empty()) return say_interrupted(command, prepared, answer);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return deliver(command, prepared, answer, options, seconds);
}

int run(const Command& command, const Options& options) {
  set_threads(threads_of(options.run));
  catch_interrupts();
  const auto begin = std::chrono::steady_clock::now();
  if (!is_shared(command)) {
    Prepared prepared = prepare(command, options);
    return run_prepared(command, options, prepared, begin);
  }
  Prepared prepared = prepare_together(command, options);
  try {
    return run_prepared(command, options, prepared, begin);
  } catch (const std::exception& error) {  // of this rank: the others would wait for it for ever
    fmt::print(stderr, "attractor: {} (rank {})\n", error.what(), ranks::rank());
    ranks::abort(kBadInput);
  }
}

class CommandCall final : public ToolCall {
 public:
  explicit CommandCall(const Command& command) : command_(command), usual_(command.make()) {}

  ParameterList parameters() override {
    ParameterList all = usual_->parameters();
    all.append(list(options_));
    return all;
  }

  int run(const Settings& given) override {
    const ParameterList own = list(options_);
    for (const auto& [name, text] : given) {
      const bool is_own = std::any_of(own.begin(), own.end(),
                                      [&, &n = name](const Parameter& p) { return p.name == n; });
      if (is_own)
        find(own, name).set(text);
      else
        options_.given.emplace_back(name, text);
    }
    return apps::run(command_, options_);
  }

 private:
  const Command& command_;
  std::unique_ptr<Request> usual_;
  Options options_{};
};

}  // namespace

Tool command_tool(const Command& command) {
  return {.name = command.name,
          .about = command.about,
          .examples = command.examples,
          .make = [&command] { return std::make_unique<CommandCall>(command); },
          .on_ranks = command.on_ranks};
}

}  // namespace attractor::apps
