#include "apps/select_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/parameter_options.hpp"
#include "apps/progress_bar.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/experiment/example_parameters.hpp"
#include "attractor/experiment/margin_words.hpp"
#include "attractor/experiment/run_directory.hpp"
#include "attractor/experiment/select_experiment.hpp"
#include "attractor/experiment/select_figures.hpp"
#include "attractor/experiment/select_result.hpp"

namespace attractor::apps {
namespace {

using namespace attractor::experiment;

struct Options {
  SelectParameters parameters;
  bool given = false;  // any parameter
  std::optional<std::string> out, resume;
  RunOptions run;
};

void row(std::string_view name, const std::string& value) {
  fmt::print("  {:<26} {}\n", name, value);
}

std::string yes(bool value) { return value ? "yes" : "no"; }

void print_training(const SelectRecord& r) {
  row("status", std::string(flow::name(r.status)));
  row("steps", fmt::format("{}{}", r.steps,
                           r.saturated ? ", then the gradient is zero in double precision" : ""));
  if (r.at_minimum)
    row("", "at a minimum of finite norm: attention mixes tokens, none is selected");
  row("loss", fmt::format("{:.10g}", r.loss));
  if (!r.attention.empty())
    row(fmt::format("|{}|", r.parameters.train == "p" || r.parameters.train == "v,p" ? "p" : "W"),
        fmt::format("{:.10g}", norm(r.attention)));
  row("smallest selected weight", fmt::format("{:.6g}", r.softmax_min));
}

void print_margin(const SelectRecord& r) {
  const training::MaxMargin& svm = *r.svm;
  row("locally optimal", yes(svm.locally_optimal));
  row("globally optimal", yes(svm.globally_optimal));
  if (!svm.feasible()) {
    row("Att-SVM", "infeasible: " + infeasible_words(svm));
    return;
  }
  row("Att-SVM margin",
      fmt::format("{:.12g}  (relative duality gap {:.1g}{})", svm.margin(), svm.relative_gap,
                  svm.rank > 0 ? fmt::format(", rank {}", svm.rank) : ""));
  row("norm of its solution", bounds_words(svm));
  for (const std::string& words : {slack_words(svm), reach_words(svm)})
    if (!words.empty()) row("", words);
  if (r.trained) {
    row("cosine of weights to it", fmt::format("{:.12g}", r.cosine));
    row("cosine of -grad to it", fmt::format("{:.12g}", r.velocity_cosine));
  }
  for (const training::TokenMargin& t : svm.rivals)
    row("may take over later",
        fmt::format("input {}, token {}: better score, margin {:.6g}", t.input, t.token, t.margin));
  if (r.relaxed && r.relaxed->feasible())
    row("relaxed Att-SVM",
        fmt::format("margin {:.12g}, cosine {:.12g}", r.relaxed->margin(), r.relaxed_cosine));
}

void print_exact(const SelectRecord& r) {
  const solve::ExactMargin& exact = *r.exact;
  if (!exact.proved) return row("exact check", "not proved: " + exact.why_not);
  if (!exact.infeasible)
    return row("exact check", "|p|^2 = " + exact.squared_norm.exact + ", proved");
  row("exact check",
      "infeasible, proved: sum of multiplier (k_selected - k_token) is exactly 0 for");
  const std::size_t others = r.problem.tokens - 1;
  for (std::size_t k = 0; k < exact.support.size(); ++k) {
    const std::size_t input = exact.support[k] / others, t = exact.support[k] % others;
    row("", fmt::format("input {}, token {}: {}", input, t < r.selected[input] ? t : t + 1,
                        exact.lambda[k].exact));
  }
}

void print_path(const SelectRecord& r) {
  for (std::size_t k = 0; k < r.path.size(); ++k) {
    const std::string turned = r.path_svm->feasible() ? fmt::format("{:.4g}", 1 - r.path_cosine[k])
                                                      : "none: its tokens are inseparable";
    row(k == 0 ? "regularisation path" : "",
        fmt::format("R = {:<8.6g} loss {:<14.10g} 1 - cosine to max-margin {}{}", r.path[k].radius,
                    r.path[k].loss, turned, r.path[k].on_boundary ? "" : ", inside the ball"));
  }
}

void print_basins(const SelectRecord& r) {
  if (!r.basins) return;
  const std::vector<std::size_t> counts = basin_counts(*r.basins);
  row("basins", fmt::format("{} starts", r.basins->starts.size()));
  for (std::size_t k = 0; k < r.basins->limits.size(); ++k)
    row("", fmt::format("{} end with {}", counts[k], fmt::join(r.basins->limits[k].chosen, " ")));
  if (counts.back() > 0) row("", fmt::format("{} did not settle on tokens", counts.back()));
}

void print_text(const SelectRecord& r) {
  fmt::print("{}\n\n", command(r.parameters));
  if (r.trained) print_training(r);
  row("selected tokens", fmt::format("{}", fmt::join(r.selected, " ")));
  if (r.svm) print_margin(r);
  if (r.label && r.label->svm.status != solve::MarginStatus::infeasible)
    row("label margin",
        fmt::format("{:.12g}, cosine of v {:.12g}", r.label->margin(), r.head_cosine));
  if (r.exact) print_exact(r);
  if (r.local) {
    row("locally optimal choices",
        fmt::format("{}{}", r.local->found.size(),
                    r.local->complete ? "" : " found, maybe more exist"));
    for (const training::MaxMargin& svm : r.local->found)
      row("", fmt::format("{}  margin {:.6g}{}", fmt::join(svm.chosen, " "), svm.margin(),
                          svm.globally_optimal ? ", globally optimal" : ""));
  }
  print_path(r);
  print_basins(r);
}

int complain(const std::string& text) {
  fmt::print(stderr, "attractor: {}\n", text);
  return kNotDelivered;
}

// The numerics could not deliver: why, and what to do.
int verdict(const SelectRecord& r) {
  if (r.trained && !flow::delivered(r.status))
    return complain(
        fmt::format("{} after {} steps: {}", flow::name(r.status), r.steps,
                    r.parameters.optimizer == "flow"
                        ? "lower --log10-time, raise --tolerance, or use --optimizer ngd"
                        : "lower --step or --steps, or use --optimizer flow"));
  if (r.trained && r.steps == 0)
    return complain(
        "the gradient is zero at the start, so nothing moves: v = 0, K = Q = 0, equal scores, or a "
        "start where softmax has saturated");
  if (!r.svm) return kOk;
  const bool may_ask =
      !r.exact && r.parameters.mirror == 2 &&
      training::trained_named(r.parameters.train).attention == training::AttentionPart::prompt;
  if (!r.svm->feasible()) {
    if (r.trained)
      return complain(
          "no weights separate the tokens that lead now; attention has not settled: "
          "train longer (--steps, --log10-time) or start elsewhere (p0)");
    return complain(infeasible_words(*r.svm) +
                    (may_ask && !r.svm->proved_infeasible() ? "; --exact decides" : ""));
  }
  if (r.svm->status != solve::MarginStatus::optimal)
    return complain(
        fmt::format("the max-margin solution is certified only to a relative gap of {:.1g}; tokens "
                    "are nearly inseparable or scaled very differently{}",
                    r.svm->relative_gap, may_ask ? "; --exact closes the gap" : ""));
  for (const training::PathPoint& point : r.path)
    if (!(point.residual <= 1e-4))
      return complain(
          fmt::format("the path at R = {:.6g} is a minimum only to a residual of {:.1g}; raise "
                      "--path-starts, or the loss has a flat valley there",
                      point.radius, point.residual));
  if (r.exact && !r.exact->proved)
    return complain("the exact check proved nothing: " + r.exact->why_not);
  return kOk;
}

// A run before it starts: its parameters, where its files are meant from, and its directory if any.
struct Prepared {
  SelectParameters parameters;
  std::string files_from;
  std::optional<RunDirectory> directory;
};

Prepared prepare(const Options& options) {
  Prepared run{.parameters = options.parameters};
  if (options.resume) {
    if (options.given || options.out || !options.parameters.data.empty())
      throw Error(
          fmt::format("--resume takes the parameters from {}; give no others", *options.resume));
    run.directory.emplace(
        RunDirectory::resume(*options.resume, stored_list(run.parameters), "select"));
    run.files_from = run.directory->origin().started_in;
    return run;
  }
  if (run.parameters.data.empty())
    throw Error("a problem file is missing; see attractor select --help and attractor problem");
  if (!options.out) return run;
  validate(run.parameters);
  run.files_from = std::filesystem::current_path().string();
  run.directory.emplace(RunDirectory::create(
      *options.out, stored_list(run.parameters),
      {.name = "select",
       .command = command(run.parameters),
       .started_in = run.files_from,
       .inputs = InputFiles(problem_files(run.parameters.data), run.files_from)}));
  return run;
}

int interrupted_at(const SelectRecord& record, const std::optional<RunDirectory>& directory) {
  fmt::print(stderr, "attractor: interrupted after {} steps; {}\n", record.steps,
             directory ? "continue with: attractor select --resume " + directory->path().string()
                       : "nothing was kept (no --out)");
  return kInterrupted;
}

void keep(const SelectRecord& record, double seconds, RunDirectory& directory) {
  try {
    write_select_result(record, seconds, directory.path());
  } catch (const Error& error) {
    throw Error(fmt::format("{}; when there is room again: attractor select --resume {}",
                            error.what(), directory.path().string()));
  }
  directory.close();
}

int run(const Options& options) {
  set_threads(options.run.threads);
  catch_interrupts();
  const auto begin = std::chrono::steady_clock::now();
  Prepared prepared = prepare(options);
  ProgressBar bar(!options.run.quiet);
  const SelectRecord record = run_select(
      prepared.parameters,
      {.directory = prepared.directory ? prepared.directory->path() : std::filesystem::path{},
       .files_from = prepared.files_from,
       .checkpoint_seconds = options.run.checkpoint_seconds,
       .stop = interrupted,
       .report = [&](double done, const std::string& note) {
         if (bar.due()) bar.show(done, note);
       }});
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (record.status == flow::Status::interrupted) return interrupted_at(record, prepared.directory);
  if (prepared.directory) keep(record, seconds, *prepared.directory);
  if (options.run.json)
    fmt::print("{}\n", summary(record, seconds).dump(2));
  else
    print_text(record);
  if (prepared.directory && !options.run.json)
    fmt::print("\nPage: {}\n", (prepared.directory->path() / "index.html").string());
  return verdict(record);
}

}  // namespace

std::function<int()> add_select_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* select = app.add_subcommand(
      "select", "Train attention: which tokens does it select, with which max-margin certificate");
  select
      ->add_option(
          "data", options->parameters.data,
          "problem: JSON {\"X\": [n][T][d], \"Y\": [n], \"v\": [d], \"W\": [d][d], \"z\": "
          "[n][d], \"p0\": [d], ...}, HDF5, a directory of .npy files, or example:NAME (see "
          "attractor problem --list), example:multi,inputs=6")
      ->type_name("FILE");
  for (const Parameter& parameter : list(options->parameters))
    add_parameter(*select, parameter, [options, parameter](const std::string& text) {
      options->given = true;
      parameter.set(text);
    });
  add_path(*select, "out", options->out, "DIR",
           "directory for result.h5, summary.json, figures and page");
  add_path(*select, "resume", options->resume, "DIR", "continue an interrupted run");
  add_run_options(*select, options->run);
  select->footer(
      "Examples:\n"
      "  attractor problem single-local --out data.json\n"
      "  attractor select data.json --optimizer ngd --step 0.1 --steps 1000 --json\n"
      "  attractor select data.json --optimizer flow --log10-time 100 --local\n"
      "  attractor select data.json --choice 1 --exact\n"
      "Theory: docs/theory/selection.md.");
  return [options] { return run(*options); };
}

}  // namespace attractor::apps
