#include "apps/bridge_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/parameter_options.hpp"
#include "apps/progress_bar.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/experiment/bridge_experiment.hpp"
#include "attractor/experiment/bridge_result.hpp"
#include "attractor/experiment/example_parameters.hpp"
#include "attractor/experiment/run_directory.hpp"

namespace attractor::apps {
namespace {

using namespace attractor::experiment;

struct Options {
  BridgeParameters parameters;
  std::vector<std::string> given;  // names of parameters
  std::optional<std::string> out;
  std::uint64_t threads = 0;
  bool json = false, quiet = false;
};

std::string digits(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "-";
}

std::string when(double log_time) {
  if (std::isnan(log_time)) return "not reached in this run";
  return std::isinf(log_time) ? "from the start" : fmt::format("at ln t = {:.6g}", log_time);
}

void print_text(const BridgeRecord& r) {
  const std::string name = r.parameters.train;
  fmt::print("{}\n\n", command(r.parameters));
  const auto row = [](std::string_view what, const std::string& value) {
    fmt::print("  {:<30} {}\n", what, value);
  };
  row("selected tokens", fmt::format("{}", fmt::join(r.training.selected, " ")));
  if (r.training.at_minimum)
    row("", "at a minimum of finite norm: attention mixes tokens, none is selected");
  row(fmt::format("growth d|{}| / d ln t", name),
      fmt::format("{}, theory |{}^mm| = {}", digits(r.theory.slope), name, digits(r.theory.norm)));
  row("transition to selection",
      fmt::format("|{}| = {}, {}", name, digits(r.theory.transition_norm),
                  when(r.theory.transition_log_time)));
  row("all selected weights >= 1/2", when(r.theory.half_log_time));
  fmt::print("\n  {:>9} {:>11} {:>11} {:>11} {:>9} {:>9} {:>12} {:>12} {:>12}\n", "ln t",
             "|" + name + "|=beta", "weight", "bound", "entropy", "clusters", "mean cosine",
             "energy", "first merge");
  for (const BridgeCheckpoint& c : r.checkpoints)
    fmt::print(
        "  {:>9.4g} {:>11.6g} {:>11.6g} {:>11.6g} {:>9.4g} {:>9.0f} {:>12.6g} {:>12.6g} "
        "{:>12}\n",
        c.training.log_time, c.training.norm, c.training.softmax_min, c.training.bound,
        c.start.attention_entropy, c.end.clusters, c.end.mean_cosine, c.end.energy_ratio,
        c.first_merge ? digits(*c.first_merge) : "-");
}

int complain(const std::string& text) {
  fmt::print(stderr, "attractor: {}\n", text);
  return kNotDelivered;
}

// The numerics could not deliver: why, and what to do.
int verdict(const BridgeRecord& r) {
  if (!flow::delivered(r.status)) {
    const bool training = r.checkpoints.empty();
    return complain(fmt::format("{} {}: {}", flow::name(r.status),
                                training ? "in training" : "in a flow of tokens",
                                training ? "lower --log10-time or raise --train-tolerance"
                                         : "lower --time or raise --tolerance"));
  }
  if (!r.training.svm->feasible())
    return complain(
        "no weights separate the tokens that lead now; attention has not settled: raise "
        "--log10-time or start elsewhere (p0)");
  return kOk;
}

RunDirectory create(const Options& options) {
  BridgeParameters parameters = options.parameters;
  const std::string here = std::filesystem::current_path().string();
  return RunDirectory::create(*options.out, stored_list(parameters),
                              {.name = "bridge",
                               .command = command(parameters),
                               .started_in = here,
                               .inputs = InputFiles(problem_files(parameters.data), here)});
}

int interrupted_run(const std::optional<RunDirectory>& directory) {
  fmt::print(stderr, "attractor: interrupted; {}\n",
             directory ? "run again with another --out" : "nothing was kept (no --out)");
  return kInterrupted;
}

void print(const BridgeRecord& record, const Options& options, double seconds,
           const std::optional<RunDirectory>& directory) {
  if (options.json) {
    fmt::print("{}\n", summary(record, seconds).dump(2));
    return;
  }
  if (record.checkpoints.empty()) return;
  print_text(record);
  if (directory) fmt::print("\nPage: {}\n", (directory->path() / "index.html").string());
}

int run(const Options& options) {
  set_threads(options.threads);
  catch_interrupts();
  const auto begin = std::chrono::steady_clock::now();
  if (options.parameters.data.empty())
    throw Error("a problem file is missing; see attractor bridge --help and attractor problem");
  check_use(options.parameters, options.given);
  validate(options.parameters);
  std::optional<RunDirectory> directory;
  if (options.out) directory.emplace(create(options));
  ProgressBar bar(!options.quiet);
  const BridgeRecord record =
      run_bridge(options.parameters,
                 {.stop = interrupted, .report = [&](double done, const std::string& note) {
                    if (bar.due()) bar.show(done, note);
                  }});
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (record.status == flow::Status::interrupted) return interrupted_run(directory);
  if (directory && !record.checkpoints.empty()) {
    write_bridge_result(record, seconds, directory->path());
    directory->close();
  }
  print(record, options, seconds, directory);
  return verdict(record);
}

}  // namespace

std::function<int()> add_bridge_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* bridge = app.add_subcommand(
      "bridge", "Train attention, and let what it has learnt so far move tokens through depth");
  bridge->add_option("data", options->parameters.data, "problem, as attractor select takes it")
      ->type_name("FILE");
  for (const Parameter& parameter : list(options->parameters))
    add_parameter(*bridge, parameter, [options, parameter](const std::string& text) {
      options->given.push_back(parameter.name);
      parameter.set(text);
    });
  add_path(*bridge, "out", options->out, "DIR",
           "directory for result.h5, summary.json, figures and page");
  const Parameter threads{.name = "threads",
                          .group = "Run",
                          .help = "threads, 0: all cores; never changes a result",
                          .target = &options->threads,
                          .most = 4096};
  add_parameter(*bridge, threads,
                [options, threads](const std::string& text) { threads.set(text); });
  bridge->add_flag("--json", options->json, "print one JSON object, nothing else")->group("Run");
  bridge->add_flag("--quiet", options->quiet, "no progress bar")->group("Run");
  bridge->footer(
      "Examples:\n"
      "  attractor problem authors-like --out data.json\n"
      "  attractor bridge data.json --out bridge\n"
      "  attractor bridge data.json --log10-time 100 --dim 2 --tokens 200 --time 30 --json\n"
      "  attractor problem self-attention --out self.json && attractor bridge self.json --train W\n"
      "A bridge cannot be resumed; an interrupted one is run again with another --out. "
      "Theory: docs/theory/bridge.md.");
  return [options] { return run(*options); };
}

}  // namespace attractor::apps
