#include "apps/flow_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <numbers>
#include <optional>

#include "apps/exit_status.hpp"
#include "apps/progress_bar.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/experiment/flow_experiment.hpp"
#include "attractor/experiment/flow_result.hpp"
#include "attractor/experiment/run_directory.hpp"

namespace attractor::apps {
namespace {

using namespace attractor::experiment;

std::atomic<bool> stop_requested{false};

void on_signal(int signal) {
  stop_requested = true;
  std::signal(signal, SIG_DFL);  // a second Ctrl-C ends at once
}

struct Options {
  std::map<std::string, std::string> given;  // parameter -> text from the command line
  std::string out, resume, config;
  std::uint64_t threads = 0;
  double checkpoint_seconds = 10;
  bool json = false, quiet = false, verify = false;
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
  const std::string sampled = o.sampled == 1 ? "estimated from 512 random rows" : "";
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
  row("energy ratio", fmt::format("{:.10g}", o.energy_ratio), sampled);
  row("attention entropy", fmt::format("{:.6g}", o.attention_entropy), "nats");
  row("effective rank", fmt::format("{:.6g}", o.effective_rank),
      fmt::format("span {:.0f}", o.span_dimension));
  row("merges", fmt::format("{}", r.merges.size()),
      r.merges.empty() ? "" : "last at t = " + in_words(r.merges.back().time));
  row("merge error", fmt::format("{:.2g}", r.merge_error), "bound on any token's displacement");
  row("computing", fmt::format("{:.3g} s", seconds), "");
}

void require_memory(const FlowParameters& p) {
  if (p.init == "file" || p.init == "angles") return;
  const double states = p.stepper == "adaptive" ? 12 : 8;
  const double needed = states * 8 * static_cast<double>(p.tokens) * static_cast<double>(p.dim);
  const double present =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > present)
    throw Error(
        fmt::format("{} tokens in dimension {} need {:.1f} GB of memory; this machine has "
                    "{:.1f} GB",
                    p.tokens, p.dim, needed / 1e9, present / 1e9));
}

FlowParameters parameters_of(const Options& options) {
  FlowParameters p;
  const ParameterList all = list(p);
  if (!options.config.empty()) set_from_toml(all, options.config);
  for (const auto& [name, text] : options.given) find(all, name).set(text);
  check(p);
  require_memory(p);
  return p;
}

std::optional<RunDirectory> open_directory(const Options& options, FlowParameters& p) {
  if (!options.resume.empty()) {
    if (!options.given.empty() || !options.config.empty() || !options.out.empty())
      throw Error(
          fmt::format("--resume takes the parameters from {}; give no others", options.resume));
    return RunDirectory::resume(options.resume, p);
  }
  p = parameters_of(options);
  if (options.out.empty()) return std::nullopt;
  make_tokens(start_of(p));  // refuse a bad start before a directory is made
  RunDirectory directory = RunDirectory::create(options.out, p);
  require_space(directory.path(), result_bytes(p.tokens, p.dim, p));
  return directory;
}

// The largest distance of a token to where a run at a hundredth of the tolerance puts it.
double verified_error(const FlowRecord& record, const RunContext& context) {
  FlowParameters finer = record.parameters;
  if (finer.stepper == "adaptive")
    finer.tolerance = std::max(1e-14, finer.tolerance / 100);
  else
    finer.step /= 4;
  const FlowRecord reference = run_flow(
      finer,
      {.directory = {}, .checkpoint_seconds = 0, .stop = context.stop, .report = context.report});
  const auto& a = record.snapshots.back().positions;
  const auto& b = reference.snapshots.back().positions;
  double worst = 0;
  for (std::size_t i = 0; i < record.tokens; ++i)
    worst = std::max(worst, squared_distance(std::span(a).subspan(i * record.dim, record.dim),
                                             std::span(b).subspan(i * record.dim, record.dim)));
  return std::sqrt(worst);
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(2));
  if (std::fflush(stdout) != 0)
    throw Error(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

int run(const Options& options) {
  set_threads(options.threads);
  catch_interrupts();
  const auto begin = std::chrono::steady_clock::now();
  FlowParameters parameters;
  std::optional<RunDirectory> directory = open_directory(options, parameters);
  ProgressBar bar(!options.quiet);
  const RunContext context{.directory = directory ? directory->path() : std::filesystem::path{},
                           .checkpoint_seconds = options.checkpoint_seconds,
                           .stop = interrupted,
                           .report = [&](const FlowProgress& p) {
                             if (bar.due())
                               bar.show(p.fraction,
                                        fmt::format("t = {}, {} distinct tokens, {} steps",
                                                    in_words(p.time), p.distinct_tokens, p.steps));
                           }};
  const FlowRecord record = run_flow(parameters, context);
  if (record.status == flow::Status::interrupted) {
    fmt::print(stderr, "attractor: interrupted at t = {}; {}\n", in_words(record.time),
               directory ? "continue with: attractor flow --resume " + directory->path().string()
                         : "nothing was kept (no --out)");
    return kInterrupted;
  }
  const std::optional<double> error =
      options.verify ? std::optional(verified_error(record, context)) : std::nullopt;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (directory) {
    write_result(record, seconds, directory->path());
    directory->close();
  }
  if (options.json) {
    nlohmann::ordered_json json = summary(record, seconds);
    if (error) json["verified_error"] = *error;
    print_json(json);
  } else {
    print_text(record, seconds);
    if (error)
      fmt::print("  {:<20} {:<16.2g} {}\n", "verified error", *error,
                 "against a run at a hundredth of the tolerance (a quarter of the step)");
    if (directory) fmt::print("\nPage: {}\n", (directory->path() / "index.html").string());
  }
  if (flow::delivered(record.status)) return kOk;
  fmt::print(stderr, "attractor: {} at t = {}: {}\n", flow::name(record.status),
             in_words(record.time), flow::remedy(record.status));
  return kNotDelivered;
}

}  // namespace

bool interrupted() { return stop_requested; }

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

std::function<int()> add_flow_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* flow =
      app.add_subcommand("flow", "Tokens flowing through attention, on a sphere or in R^d");
  FlowParameters defaults;
  for (const Parameter& parameter : list(defaults)) {
    const std::string usual = parameter.text();
    flow->add_option_function<std::string>(
            "--" + parameter.name,
            [options, name = parameter.name](const std::string& text) {
              options->given[name] = text;
            },
            fmt::format("{}\n[{}]{}", parameter.help, parameter.allowed(),
                        usual.empty() ? "" : " default " + usual))
        ->type_name("")
        ->group(parameter.group);
  }
  const std::string group = "Run";
  flow->add_option("--out", options->out, "directory for result.h5, summary.json, figures and page")
      ->type_name("DIR")
      ->group(group);
  flow->add_option("--resume", options->resume, "continue an interrupted run in this directory")
      ->type_name("DIR")
      ->group(group);
  flow->add_option("--config", options->config, "TOML file with the same names; flags override it")
      ->type_name("FILE")
      ->group(group);
  flow->add_option("--threads", options->threads, "threads (0: all cores); never changes a result")
      ->type_name("N")
      ->check(CLI::Range(0, 4096))
      ->group(group);
  flow->add_option("--checkpoint-seconds", options->checkpoint_seconds,
                   "time between checkpoints (default 10)")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e9))
      ->group(group);
  flow->add_flag("--verify", options->verify,
                 "run again, 100 times more accurately, and report the error")
      ->group(group);
  flow->add_flag("--json", options->json, "print one JSON object, nothing else")->group(group);
  flow->add_flag("--quiet", options->quiet, "no progress bar")->group(group);
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
