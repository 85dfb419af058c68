#include "apps/select_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <memory>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/parameter_options.hpp"
#include "attractor/experiment/select_experiment.hpp"

namespace attractor::apps {
namespace {

using namespace attractor::experiment;

struct Options {
  SelectParameters parameters;
  bool json = false;
};

void print_text(const SelectRecord& r) {
  const auto row = [](std::string_view name, const std::string& value) {
    fmt::print("  {:<24} {}\n", name, value);
  };
  row("status", std::string(flow::name(r.status)));
  row("steps", fmt::format("{}{}", r.steps,
                           r.saturated ? ", then the gradient is zero in double precision" : ""));
  row("loss", fmt::format("{:.10g}", r.loss));
  row("|p|", fmt::format("{:.10g}", norm(r.p)));
  row("selected tokens", fmt::format("{}", fmt::join(r.best.chosen, " ")));
  row("smallest selected weight", fmt::format("{:.6g}", r.softmax_min));
  row("locally optimal", r.best.locally_optimal ? "yes" : "no");
  row("globally optimal", r.best.globally_optimal ? "yes" : "no");
  if (!r.best.feasible()) {
    row("Att-SVM",
        fmt::format("infeasible, certificate residual {:.2g}", r.best.svm.farkas_residual));
    return;
  }
  row("Att-SVM margin", fmt::format("{:.12g}  (relative duality gap {:.1g})", r.best.margin(),
                                    r.best.svm.relative_gap));
  row("cosine of p to it", fmt::format("{:.12g}", r.cosine_to_svm));
  row("cosine of -grad to it", fmt::format("{:.12g}", r.velocity_cosine));
  for (const training::TokenMargin& t : r.best.rivals)
    row("may take over later",
        fmt::format("input {}, token {}: better score, margin {:.6g}", t.input, t.token, t.margin));
}

int run(const Options& options) {
  catch_interrupts();
  const auto begin = std::chrono::steady_clock::now();
  const SelectRecord record = run_select(options.parameters, interrupted);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (record.status == flow::Status::interrupted) {
    fmt::print(stderr, "attractor: interrupted after {} steps; nothing was kept\n", record.steps);
    return kInterrupted;
  }
  if (options.json)
    fmt::print("{}\n", summary(record, seconds).dump(2));
  else
    print_text(record);
  if (!flow::delivered(record.status)) {
    fmt::print(stderr,
               "attractor: {} after {} steps: lower --step or --steps, or use --optimizer flow\n",
               flow::name(record.status), record.steps);
    return kNotDelivered;
  }
  if (!record.best.feasible()) {
    fmt::print(stderr,
               "attractor: no p separates the tokens that have most weight now; attention has not "
               "settled: train longer (--steps, --log10-time) or start elsewhere (p0)\n");
    return kNotDelivered;
  }
  if (record.best.svm.status != solve::HardMarginStatus::optimal) {
    fmt::print(stderr,
               "attractor: the max-margin solution is certified only to a relative gap of {:.1g}; "
               "tokens are nearly inseparable or scaled very differently\n",
               record.best.svm.relative_gap);
    return kNotDelivered;
  }
  return kOk;
}

}  // namespace

std::function<int()> add_select_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* select = app.add_subcommand(
      "select", "Train a prompt: which tokens does it select, with which max-margin certificate");
  select
      ->add_option(
          "data", options->parameters.data,
          "problem: {\"X\": [n][T][d], \"Y\": [n], \"v\": [d], \"W\": [d][d], \"p0\": [d]}")
      ->type_name("FILE.json")
      ->required();
  for (const Parameter& parameter : list(options->parameters))
    add_parameter(*select, parameter,
                  [parameter](const std::string& text) { parameter.set(text); });
  select->add_flag("--json", options->json, "print one JSON object, nothing else")->group("Run");
  select->footer(
      "Examples:\n"
      "  attractor select data.json --optimizer ngd --step 0.1 --steps 1000 --json\n"
      "  attractor select data.json --optimizer flow --log10-time 100\n"
      "Theory: docs/theory/selection.md.");
  return [options] { return run(*options); };
}

}  // namespace attractor::apps
