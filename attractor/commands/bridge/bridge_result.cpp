#include "attractor/commands/bridge/bridge_result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>
#include <utility>

#include "attractor/commands/bridge/bridge_numbers.hpp"
#include "attractor/commands/bridge/bridge_page.hpp"
#include "attractor/report/markup.hpp"

namespace attractor::lab {
namespace {

// ---- On a terminal.

std::string digits(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "-";
}

std::string reached(double log_time) {
  if (std::isnan(log_time)) return "not reached in this run";
  return std::isinf(log_time) ? "from the start" : fmt::format("at ln t = {:.6g}", log_time);
}

std::string words(const BridgeRecord& r) {
  const std::string name(attractor::name(r.setup.train));
  std::string text = command(r.setup) + "\n\n";
  const auto row = [&](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<30} {}\n", what, value);
  };
  row("selected tokens", fmt::format("{}", fmt::join(r.training.selected, " ")));
  if (r.training.at_minimum)
    row("", "at a minimum of finite norm: attention mixes tokens, none is selected");
  row(fmt::format("growth d|{}| / d ln t", name),
      fmt::format("{}, theory |{}^mm| = {}", digits(r.theory.slope), name, digits(r.theory.norm)));
  row("transition to selection",
      fmt::format("|{}| = {}, {}", name, digits(r.theory.transition_norm),
                  reached(r.theory.transition_log_time)));
  row("all selected weights >= 1/2", reached(r.theory.half_log_time));
  text += fmt::format("\n  {:>9} {:>11} {:>11} {:>11} {:>9} {:>9} {:>12} {:>12} {:>12}\n", "ln t",
                      "|" + name + "|=beta", "weight", "bound", "entropy", "clusters",
                      "mean cosine", "energy", "first merge");
  for (const BridgeCheckpoint& c : r.checkpoints)
    text += fmt::format(
        "  {:>9.4g} {:>11.6g} {:>11.6g} {:>11.6g} {:>9.4g} {:>9.0f} {:>12.6g} {:>12.6g} "
        "{:>12}\n",
        c.training.log_time, c.training.norm, c.training.softmax_min, c.training.bound,
        c.start.attention_entropy, c.end.clusters, c.end.mean_cosine, c.end.energy_ratio,
        c.first_merge ? digits(*c.first_merge) : "-");
  return text;
}

// The numerics could not deliver: why, and what to do.
std::string not_delivered(const BridgeRecord& r) {
  if (!flow::delivered(r.status)) {
    const bool training = r.checkpoints.empty();
    return (fmt::format(
        "{} {}: {}", flow::name(r.status), training ? "in training" : "in a flow of tokens",
        training ? "lower log10-time or raise train-tolerance" : "lower time or raise tolerance"));
  }
  if (!r.training.svm->feasible())
    return (
        "no weights separate the tokens that lead now; attention has not settled: raise "
        "log10-time or start elsewhere (p0)");
  return "";
}

}  // namespace

Result bridge_result(BridgeRecord done) {
  const auto record = std::make_shared<const BridgeRecord>(std::move(done));
  const BridgeRecord& r = *record;
  if (r.status == flow::Status::interrupted)
    return {.interrupted = fmt::format("at checkpoint {}", r.checkpoints.size())};
  Result answer{.title = fmt::format("bridge, train {}", r.setup.train),
                .headline = "Training did not come to its end",
                .values = bridge_values(r),
                .not_delivered = not_delivered(r),
                .format = "attractor bridge 1",
                .footer = ", problem: " + r.setup.data.name};
  if (r.checkpoints.empty()) return answer;  // training was not delivered
  answer.headline = headline(r);
  answer.arrays = [record](Archive& file) { write_arrays(*record, file); };
  answer.words = words(r);
  answer.draw = [record] { return bridge_figures(*record); };
  answer.page = [record] { return bridge_page(*record); };
  return answer;
}

}  // namespace attractor::lab
