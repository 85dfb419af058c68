#include "attractor/commands/flow/flow_result.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "attractor/commands/flow/flow_figures.hpp"
#include "attractor/commands/flow/flow_numbers.hpp"
#include "attractor/commands/flow/flow_page.hpp"
#include "attractor/lab/flow/observing_budget.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/ranks/ranks.hpp"

namespace attractor::lab {
namespace {

bool goes_on_forever(const FlowRecord& record) {
  return std::isinf(end_of(record.setup).mantissa());
}

bool has_lengths(const FlowRecord& record) { return !record.snapshots.back().norms.empty(); }

// ---- On a terminal.

std::string row(std::string_view name, const std::string& value, std::string_view note) {
  if (note.empty()) return fmt::format("  {:<20} {}\n", name, value);
  return fmt::format("  {:<20} {:<16} {}\n", name, value, note);
}

std::string tokens_words(const FlowRecord& r) {
  const observe::Observation& o = r.series.back();
  std::string text = row("tokens", fmt::format("{} in d = {}", r.tokens, r.dim),
                         fmt::format("{:.0f} distinct", o.distinct_tokens));
  text += row(
      "clusters", fmt::format("{:.0f}", o.clusters),
      fmt::format("{}; largest {:.0f}",
                  r.setup.space == depth::Geometry::sphere
                      ? fmt::format("cosine >= {:.9g}", r.cluster_cosine)
                      : fmt::format("distance <= {:.3g}", std::sqrt(2 * (1 - r.cluster_cosine))),
                  o.largest_cluster));
  text += row("mean cosine", fmt::format("{:.10g}", o.mean_cosine),
              fmt::format("1 - mean = {:.4g}", o.one_minus_mean_cosine));
  text += row("close pairs", fmt::format("{:.6g}", o.pair_fraction),
              fmt::format("cosine >= {}{}", r.setup.pair_threshold,
                          o.sampled == 1 ? fmt::format(", +- {:.2g}", o.pair_fraction_error) : ""));
  text += row("order parameter", fmt::format("{:.10g}", o.order_parameter), "");
  if (std::isfinite(o.energy_ratio))
    text += row("energy ratio", fmt::format("{:.10g}", o.energy_ratio),
                o.sampled == 1 ? "estimated from random rows" : "");
  text += row("attention entropy", fmt::format("{:.6g}", o.attention_entropy), "nats");
  return text + row("effective rank", fmt::format("{:.6g}", o.effective_rank),
                    fmt::format("span {:.0f}", o.span_dimension));
}

std::string verified_words(const FlowRecord& r, const Verification& v) {
  const auto number_row = [](std::string_view name, double value, std::string_view note) {
    return fmt::format("  {:<20} {:<16.2g} {}\n", name, value, note);
  };
  std::string text = number_row(
      "verified error", v.error,
      v.coalesced ? "distance to a finer run, coalesced too" : "largest distance to a finer run");
  if (has_lengths(r))
    text += number_row("verified lengths", v.length_error, "largest relative error");
  if (goes_on_forever(r))
    text += number_row("verified time", v.time_error, "relative, of the last merger");
  return text;
}

std::string words(const FlowRecord& r, const std::optional<Verification>& verified) {
  std::string text = command(r.setup) + "\n\n";
  text += row("status", std::string(outcome(r)), "");
  text +=
      row("time", plain_words(r.time), fmt::format("{} steps, {} rejected", r.steps, r.rejected));
  text += tokens_words(r);
  if (ranks::count() == 1)  // several do not follow them
    text += row("merges", fmt::format("{}", r.merges.size()),
                r.merges.empty() ? "" : "last at t = " + plain_words(r.merges.back().time));
  text += row("merge error", fmt::format("{:.2g}", r.merge_error),
              "what coalescence may shift a token");
  if (r.engine == "clumps" && r.steps > 0)
    text += row("sums over clumps", fmt::format("{} steps", r.steps - r.steps_by_rows),
                fmt::format("of {}; rows of all pairs were quicker in the others", r.steps));
  if (r.loosened > 0)
    text +=
        row("tolerance", fmt::format("{:.2g}", r.loosened), "not as asked: velocities err by that");
  if (r.setup.snapshots && r.snapshots.size() < *r.setup.snapshots)
    text += row("snapshots", fmt::format("{}", r.snapshots.size()),
                fmt::format("of {}: the run had no more times", *r.setup.snapshots));
  const bool thinned = r.tokens > kObservedFreely && !r.setup.outputs && !r.setup.snapshots;
  if (thinned && r.series.size() < r.outputs)
    text += row("measured", fmt::format("{} times", r.series.size()),
                fmt::format("of {}: tokens are many; all if outputs is given", r.outputs));
  return verified ? text + verified_words(r, *verified) : text;
}

// ---- Verdict.

std::string equilibrium_words(const FlowRecord& r) {
  if (!r.grows) return "";
  if (!*r.grows) return ", and no perturbation of them grows";
  return fmt::format(", a perturbation of them grows e-fold in t = {}",
                     plain_words(flow::Time(1, -r.log10_growth * std::numbers::ln10)));
}

std::string not_delivered(const FlowRecord& r, const std::optional<Verification>& verified) {
  if (verified && !verified->delivered())
    return fmt::format("the finer run of verify failed ({}): {}", flow::name(verified->status),
                       flow::remedy(verified->status));
  if (!flow::delivered(r.status))
    return fmt::format("{} at t = {}{}: {}", flow::name(r.status), plain_words(r.time),
                       equilibrium_words(r), flow::remedy(r.status));
  if (r.layer_status == LayerStatus::complete) return "";
  return "Sinkhorn's iteration did not reach doubly stochastic weights; lower beta";
}

Json values(const FlowRecord& r, const std::optional<Verification>& v) {
  Json json = flow_values(r);
  if (!v) return json;
  json["verified_error"] = number(v->error);
  if (has_lengths(r)) json["verified_length_error"] = number(v->length_error);
  if (goes_on_forever(r)) json["verified_time_error"] = number(v->time_error);
  json["verified_without_coalescence"] = !v->coalesced;
  return json;
}

}  // namespace

namespace {

/// A record and how it is shown, which is found out once, when it is first asked for.
struct Shown {
  FlowRecord record;
  std::optional<FlowView> known{};
  const FlowView& view() {
    if (!known) known = flow_view(record);
    return *known;
  }
};

}  // namespace

Result flow_result(FlowRecord done, const std::optional<Verification>& verified) {
  const auto shown = std::make_shared<Shown>(Shown{std::move(done)});
  const FlowRecord& r = shown->record;
  const bool stopped = r.status == flow::Status::interrupted ||
                       (verified && verified->status == flow::Status::interrupted);
  if (stopped && r.snapshots.empty()) return {.interrupted = "before it began"};
  return {.title = flow_title(r),
          .headline =
              headline(r, r.setup.space == depth::Geometry::sphere ? FlowView{} : shown->view()),
          .values = values(r, verified),
          .draw = [shown] { return flow_figures(shown->record, shown->view()); },
          .not_delivered = stopped ? "" : not_delivered(r, verified),
          .interrupted = stopped ? "at t = " + plain_words(r.time) : "",
          .format = "attractor flow 1",
          .arrays = [shown](Archive& file) { write_arrays(shown->record, file); },
          .words = words(r, verified),
          .curves = [shown] { return series_of(shown->record); },
          .page = [shown] { return flow_page(shown->record, shown->view()); },
          .footer = r.engine.empty() ? "" : ", engine: " + r.engine};
}

}  // namespace attractor::lab
