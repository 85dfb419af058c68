#include "apps/flow_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <utility>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/parameter_options.hpp"
#include "apps/progress_bar.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/experiment/flow_distributed.hpp"
#include "attractor/experiment/flow_experiment.hpp"
#include "attractor/experiment/flow_result.hpp"
#include "attractor/experiment/flow_verify.hpp"
#include "attractor/experiment/json.hpp"
#include "attractor/experiment/run_directory.hpp"
#include "attractor/ranks/ranks.hpp"

namespace attractor::apps {
namespace {

using namespace attractor::experiment;

struct Options {
  std::map<std::string, std::string> given;  // parameter -> text from the command line
  std::optional<std::string> out, resume, config;
  RunOptions run;
  bool verify = false;
};

std::string in_words(const flow::Time& time) {
  const double log10 = time.log() / std::numbers::ln10;
  if (std::isinf(log10)) return "0";
  if (std::abs(log10) < 5) return fmt::format("{:.6g}", time.value());
  const double exponent = std::floor(log10);
  return fmt::format("{:.4f}e{:+.0f}", std::pow(10, log10 - exponent), exponent);
}

void print_text(const FlowRecord& r, double seconds) {
  const observe::Observation& o = r.series.back();
  fmt::print("{}\n\n", command(r.parameters));
  const auto row = [](std::string_view name, const std::string& value, std::string_view note) {
    fmt::print("  {:<20} {:<16} {}\n", name, value, note);
  };
  const std::string sampled = o.sampled == 1 ? "estimated from random rows" : "";
  row("status", std::string(flow::name(r.status)), "");
  row("time", in_words(r.time), fmt::format("{} steps, {} rejected", r.steps, r.rejected));
  row("tokens", fmt::format("{} in d = {}", r.tokens, r.dim),
      fmt::format("{:.0f} distinct", o.distinct_tokens));
  row("clusters", fmt::format("{:.0f}", o.clusters),
      fmt::format("cosine >= {:.9g}; largest {:.0f}", r.cluster_cosine, o.largest_cluster));
  row("mean cosine", fmt::format("{:.10g}", o.mean_cosine),
      fmt::format("1 - mean = {:.4g}", o.one_minus_mean_cosine));
  row("close pairs", fmt::format("{:.6g}", o.pair_fraction),
      fmt::format("cosine >= {}{}", r.parameters.pair_threshold,
                  o.sampled == 1 ? fmt::format(", +- {:.2g}", o.pair_fraction_error) : ""));
  row("order parameter", fmt::format("{:.10g}", o.order_parameter), "");
  if (std::isfinite(o.energy_ratio))
    row("energy ratio", fmt::format("{:.10g}", o.energy_ratio), sampled);
  row("attention entropy", fmt::format("{:.6g}", o.attention_entropy), "nats");
  row("effective rank", fmt::format("{:.6g}", o.effective_rank),
      fmt::format("span {:.0f}", o.span_dimension));
  if (ranks::count() == 1)  // several do not follow them
    row("merges", fmt::format("{}", r.merges.size()),
        r.merges.empty() ? "" : "last at t = " + in_words(r.merges.back().time));
  row("merge error", fmt::format("{:.2g}", r.merge_error),
      "what coalescence may shift a token, in total");
  if (r.loosened > 0)
    row("tolerance", fmt::format("{:.2g}", r.loosened),
        "instead of the one asked for: below it lies the error of a velocity");
  row("computing", fmt::format("{:.3g} s", seconds), "");
}

void require_memory(const FlowParameters& p) {
  if (p.init == "file" || p.init == "angles") return;
  const flow::Tableau method = flow::tableau_named(stepper_of(p));
  double states = std::max(8.0, static_cast<double>(method.stages() + method.dense_a.size()) + 5);
  if (ranks::count() > 1) {  // all tokens on each rank at the start, and on rank 0 to observe them
    const auto here = static_cast<double>(ranks::neighbours());
    states = states * here / static_cast<double>(ranks::count()) + here + 3;
  }
  const double needed = states * 8 * static_cast<double>(p.tokens) * static_cast<double>(p.dim);
  const double present =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > present)
    throw Error(
        fmt::format("{} tokens in dimension {} need {:.1f} GB of memory; this machine has "
                    "{:.1f} GB",
                    p.tokens, p.dim, needed / 1e9, present / 1e9));
}

// A run before it starts: its parameters, where its files are meant from, and its directory if any.
struct Prepared {
  FlowParameters parameters;
  std::string files_from;
  std::optional<RunDirectory> directory;
};

void read_parameters(const Options& options, Prepared& run) {
  const ParameterList all = list(run.parameters);
  if (options.config) {
    require_command(*options.config, "flow");
    run.files_from = set_from_toml(all, *options.config);
  }
  std::vector<std::string> names;
  for (const auto& [name, text] : options.given) {
    find(all, name).set(text);
    names.push_back(name);
  }
  check(run.parameters);
  check_use(run.parameters, names);
  require_memory(run.parameters);
}

void require_size(const Options& options, const std::string& name, std::size_t made) {
  const auto given = options.given.find(name);
  if (given != options.given.end() &&
      std::strtod(given->second.c_str(), nullptr) != static_cast<double>(made))
    throw Error(fmt::format("--{} {} does not fit the given tokens, which have {}", name,
                            given->second, made));
}

Prepared prepare(const Options& options) {
  Prepared run;
  if (options.resume) {
    if (!options.given.empty() || options.config || options.out)
      throw Error(
          fmt::format("--resume takes the parameters from {}; give no others", *options.resume));
    run.directory.emplace(RunDirectory::resume(*options.resume, list(run.parameters), "flow"));
    run.files_from = run.directory->origin().started_in;
    if (ranks::count() > 1) validate_distributed(run.parameters, run.files_from);
    return run;
  }
  read_parameters(options, run);
  const FlowSize size = ranks::count() > 1 ? validate_distributed(run.parameters, run.files_from)
                                           : validate(run.parameters, run.files_from);
  require_size(options, "tokens", size.tokens);
  require_size(options, "dim", size.dim);
  if (!options.out) return run;
  require_space(*options.out, result_bytes(size.tokens, size.dim, run.parameters));
  if (run.files_from.empty()) run.files_from = std::filesystem::current_path().string();
  run.directory.emplace(
      RunDirectory::create(*options.out, list(run.parameters),
                           {.name = "flow",
                            .command = command(run.parameters),
                            .started_in = run.files_from,
                            .inputs = InputFiles(input_files(run.parameters), run.files_from)}));
  return run;
}

// Rank 0 prepares: what it refuses is refused everywhere, what it makes of the options is shared.
Prepared prepare_together(const Options& options) {
  std::optional<Prepared> run;
  std::string refusal;
  try {
    run.emplace(ranks::rank() == 0 ? prepare(options) : Prepared{});
  } catch (const std::exception& error) {
    refusal = error.what();
  }
  refusal = ranks::broadcast(refusal);
  if (!refusal.empty()) throw Error(refusal);
  share(run->parameters);
  run->files_from = ranks::broadcast(run->files_from);
  return std::move(*run);
}

FlowRecord run_here(const FlowParameters& parameters, const RunContext& context) {
  return ranks::count() > 1 ? run_flow_distributed(parameters, context)
                            : run_flow(parameters, context);
}

// A machine's cores are shared by its ranks, unless each was given its own by who started them.
std::size_t threads_of(const RunOptions& options) {
  if (options.threads > 0 || ranks::count() == 1) return options.threads;
  set_threads(0);
  const bool all = threads() >= static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
  return all ? std::max<std::size_t>(1, threads() / ranks::neighbours()) : 0;
}

Verification verify(const FlowRecord& record, RunContext context) {
  context.directory.clear();
  const FlowRecord reference =
      run_here(finer(record.parameters, record.tokens, record.dim), context);
  if (ranks::rank() > 0) return {.status = reference.status};  // rank 0 compares
  if (reference.status == flow::Status::interrupted) return {.status = reference.status};
  return compare(record, reference);
}

std::string equilibrium_words(const FlowRecord& r) {
  if (!r.grows) return "";
  if (!*r.grows) return ", and no perturbation of them grows";
  return fmt::format(", a perturbation of them grows e-fold in t = {}",
                     in_words(flow::Time(1, -r.log10_growth * std::numbers::ln10)));
}

int not_delivered(flow::Status status, const flow::Time& time,
                  const std::optional<RunDirectory>& directory, const std::string& more = "") {
  if (status == flow::Status::interrupted) {
    fmt::print(stderr, "attractor: interrupted at t = {}; {}\n", in_words(time),
               directory ? "continue with: attractor flow --resume " + directory->path().string()
                         : "nothing was kept (no --out)");
    return kInterrupted;
  }
  fmt::print(stderr, "attractor: {} at t = {}{}: {}\n", flow::name(status), in_words(time), more,
             flow::remedy(status));
  return kNotDelivered;
}

void keep(const FlowRecord& record, double seconds, RunDirectory& directory) {
  try {
    write_result(record, seconds, directory.path());
  } catch (const Error& error) {
    throw Error(fmt::format("{}; when there is room again: attractor flow --resume {}",
                            error.what(), directory.path().string()));
  }
  directory.close();
}

bool goes_on_forever(const FlowRecord& record) {
  return std::isinf(end_of(record.parameters).mantissa());
}

bool has_lengths(const FlowRecord& record) { return !record.snapshots.back().norms.empty(); }

void add_verification(const Verification& v, const FlowRecord& record, Json& json) {
  json["verified_error"] = number(v.error);
  if (has_lengths(record)) json["verified_length_error"] = number(v.length_error);
  if (goes_on_forever(record)) json["verified_time_error"] = number(v.time_error);
  json["verified_without_coalescence"] = !v.coalesced;
}

void print_verification(const Verification& v, const FlowRecord& record) {
  const auto row = [](std::string_view name, double value, std::string_view note) {
    fmt::print("  {:<20} {:<16.2g} {}\n", name, value, note);
  };
  row("verified error", v.error,
      v.coalesced ? "largest distance to a finer run, which coalesced tokens too"
                  : "largest distance to a finer run");
  if (has_lengths(record)) row("verified lengths", v.length_error, "largest relative error");
  if (goes_on_forever(record))
    row("verified time", v.time_error, "relative error of the time of the last merger");
}

void print(const FlowRecord& record, const Options& options, double seconds,
           const std::optional<Verification>& verified,
           const std::optional<RunDirectory>& directory) {
  if (options.run.json) {
    Json json = summary(record, seconds);
    if (verified) add_verification(*verified, record, json);
    fmt::print("{}\n", json.dump(2));
    return;
  }
  print_text(record, seconds);
  if (verified) print_verification(*verified, record);
  if (directory) fmt::print("\nPage: {}\n", (directory->path() / "index.html").string());
}

int verdict(const FlowRecord& record, const std::optional<RunDirectory>& directory) {
  if (!flow::delivered(record.status))
    return not_delivered(record.status, record.time, directory, equilibrium_words(record));
  if (record.layer_status == LayerStatus::complete) return kOk;
  fmt::print(stderr, "attractor: {}\n",
             record.layer_status == LayerStatus::sinkhorn_unconverged
                 ? "Sinkhorn's iteration did not reach doubly stochastic weights; lower --beta"
                 : "logits left the range of double precision; shorten --time or lower --beta");
  return kNotDelivered;
}

int run_prepared(const Options& options, Prepared& prepared,
                 std::chrono::steady_clock::time_point begin) {
  ProgressBar bar(!options.run.quiet && ranks::rank() == 0);
  const RunContext context{
      .directory = prepared.directory ? prepared.directory->path() : std::filesystem::path{},
      .files_from = prepared.files_from,
      .checkpoint_seconds = options.run.checkpoint_seconds,
      .stop = interrupted,
      .report = [&](const FlowProgress& p) {
        if (bar.due())
          bar.show(p.fraction, fmt::format("t = {}, {} distinct tokens, {} steps", in_words(p.time),
                                           p.distinct_tokens, p.steps));
      }};
  if (options.verify) {  // refused before any work is done
    const FlowSize size = ranks::count() > 1
                              ? validate_distributed(prepared.parameters, prepared.files_from)
                              : validate(prepared.parameters, prepared.files_from);
    check(finer(prepared.parameters, size.tokens, size.dim));
  }
  const FlowRecord record = run_here(prepared.parameters, context);
  std::optional<Verification> verified;
  if (options.verify && flow::delivered(record.status)) verified = verify(record, context);
  if (ranks::rank() > 0) return kOk;  // rank 0 speaks for all
  if (record.status == flow::Status::interrupted)
    return not_delivered(record.status, record.time, prepared.directory);
  if (verified && verified->status == flow::Status::interrupted)
    return not_delivered(verified->status, record.time, prepared.directory);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (prepared.directory) keep(record, seconds, *prepared.directory);
  print(record, options, seconds, verified, prepared.directory);
  if (verified && !verified->delivered()) {
    fmt::print(stderr, "attractor: the finer run of --verify failed ({}): {}\n",
               flow::name(verified->status), flow::remedy(verified->status));
    return kNotDelivered;
  }
  return verdict(record, prepared.directory);
}

int run(const Options& options) {
  set_threads(threads_of(options.run));
  catch_interrupts();
  const auto begin = std::chrono::steady_clock::now();
  Prepared prepared = ranks::count() > 1 ? prepare_together(options) : prepare(options);
  if (ranks::count() == 1) return run_prepared(options, prepared, begin);
  try {
    return run_prepared(options, prepared, begin);
  } catch (const std::exception& error) {  // of this rank: the others would wait for it for ever
    fmt::print(stderr, "attractor: {} (rank {})\n", error.what(), ranks::rank());
    ranks::abort(kBadInput);
  }
}

}  // namespace

std::function<int()> add_flow_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* flow =
      app.add_subcommand("flow", "Tokens flowing through attention, on a sphere or in R^d");
  FlowParameters defaults;
  for (const Parameter& parameter : list(defaults))
    add_parameter(*flow, parameter, [options, name = parameter.name](const std::string& text) {
      options->given[name] = text;
    });
  add_path(*flow, "out", options->out, "DIR",
           "directory for result.h5, summary.json, figures and page");
  add_path(*flow, "resume", options->resume, "DIR", "continue an interrupted run");
  add_path(*flow, "config", options->config, "FILE",
           "TOML file with the names of the parameters; flags override it");
  flow->add_flag("--verify", options->verify,
                 "run again with tolerance / 100 (or step / 4), in double precision and without "
                 "coalescence "
                 "where that is possible, and report the largest differences")
      ->group("Run");
  add_run_options(*flow, options->run);
  flow->footer(
      "Examples:\n"
      "  attractor flow --tokens 64 --dim 3 --beta 40 --time inf --out collapse\n"
      "  attractor flow --init equiangular --tokens 8 --dim 8 --beta 2 --time 3 --tolerance 1e-12 "
      "--json\n"
      "  attractor flow --stepper layers --step 0.1 --tokens 32 --dim 16 --beta 5 --time 30\n"
      "Times are in units of one attention layer of step 1. "
      "Files: docs/report_format.md; theory: docs/theory/.");
  return [options] { return run(*options); };
}

}  // namespace attractor::apps
