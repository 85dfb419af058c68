#include "attractor/commands/select/select_result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <utility>

#include "attractor/commands/select/margin_words.hpp"
#include "attractor/commands/select/select_figures.hpp"
#include "attractor/commands/select/select_numbers.hpp"
#include "attractor/commands/select/select_page.hpp"
#include "attractor/commands/select/select_words.hpp"
#include "attractor/space/space.hpp"

namespace attractor::lab {
namespace {

// ---- On a terminal.

using Lines = std::string;

void add_row(Lines& text, std::string_view name, const std::string& value) {
  text += fmt::format("  {:<26} {}\n", name, value);
}

void add_training(const SelectRecord& r, Lines& text) {
  add_row(text, "status", std::string(flow::name(r.status)));
  add_row(text, "steps",
          fmt::format("{}{}", r.steps,
                      r.saturated ? ", then the gradient is zero in double precision" : ""));
  if (r.at_minimum)
    add_row(text, "", "at a minimum of finite norm: attention mixes tokens, none is selected");
  add_row(text, "loss", fmt::format("{:.10g}", r.loss));
  if (!r.attention.empty())
    add_row(text,
            fmt::format("|{}|",
                        r.setup.train == training::Train::p || r.setup.train == training::Train::v_p
                            ? "p"
                            : "W"),
            fmt::format("{:.10g}", norm(r.attention)));
  add_row(text, "smallest selected weight", fmt::format("{:.6g}", r.softmax_min));
}

void add_margin(const SelectRecord& r, Lines& text) {
  const training::MaxMargin& svm = *r.svm;
  add_row(text, "locally optimal", yes(svm.locally_optimal));
  add_row(text, "globally optimal", yes(svm.globally_optimal));
  if (!svm.feasible()) {
    add_row(text, "Att-SVM", "infeasible: " + infeasible_words(svm));
    return;
  }
  add_row(text, "Att-SVM margin",
          fmt::format("{:.12g}  (relative duality gap {:.1g}{})", svm.margin(), svm.relative_gap,
                      svm.rank > 0 ? fmt::format(", rank {}", svm.rank) : ""));
  add_row(text, "norm of its solution", bounds_words(svm));
  for (const std::string& words : {slack_words(svm), reach_words(svm)})
    if (!words.empty()) add_row(text, "", words);
  if (r.trained) {
    add_row(text, "cosine of weights to it", fmt::format("{:.12g}", r.cosine));
    add_row(text, "cosine of -grad to it", fmt::format("{:.12g}", r.velocity_cosine));
  }
  for (const training::TokenMargin& t : svm.rivals)
    add_row(
        text, "may take over later",
        fmt::format("input {}, token {}: better score, margin {:.6g}", t.input, t.token, t.margin));
  if (r.relaxed && r.relaxed->feasible())
    add_row(text, "relaxed Att-SVM",
            fmt::format("margin {:.12g}, cosine {:.12g}", r.relaxed->margin(), r.relaxed_cosine));
}

// One row for each norm: its margin, and how far the run is from it.
void add_margins(const SelectRecord& r, Lines& text) {
  if (!r.margins) return;
  for (const training::MarginApproach& n : r.margins->norms) {
    std::string words = n.svm.feasible()
                            ? fmt::format("{:.12g}, gap {:.1g}", n.svm.margin(), n.svm.relative_gap)
                            : "infeasible";
    if (n.svm.feasible() && r.trained)
      words += fmt::format("; cosine {:.9f}, extrapolated {:.9f}, share of it {:.6f} ± {:.1g}{}",
                           n.cosine, n.far_cosine, n.share, n.error,
                           n.approached ? ": approached"
                           : n.left     ? ""
                                        : ": open");
    add_row(text, "margin " + n.norm, words);
  }
  if (!r.margins->verdict.empty()) add_row(text, "training approaches", r.margins->verdict);
}

void add_exact(const SelectRecord& r, Lines& text) {
  const solve::ExactMargin& exact = *r.exact;
  if (!exact.proved) return add_row(text, "exact check", "not proved: " + exact.why_not);
  if (!exact.infeasible)
    return add_row(text, "exact check", "|p|^2 = " + exact.squared_norm.exact + ", proved");
  add_row(text, "exact check",
          "infeasible, proved: sum of multiplier (k_selected - k_token) is exactly 0 for");
  const std::size_t others = r.problem.tokens - 1;
  for (std::size_t k = 0; k < exact.support.size(); ++k) {
    const std::size_t input = exact.support[k] / others, t = exact.support[k] % others;
    add_row(text, "",
            fmt::format("input {}, token {}: {}", input, t < r.selected[input] ? t : t + 1,
                        exact.lambda[k].exact));
  }
}

void add_path(const SelectRecord& r, Lines& text) {
  for (std::size_t k = 0; k < r.path.size(); ++k) {
    const std::string turned = r.path_svm->feasible() ? fmt::format("{:.4g}", 1 - r.path_cosine[k])
                                                      : "none: its tokens are inseparable";
    add_row(
        text, k == 0 ? "regularisation path" : "",
        fmt::format("R = {:<8.6g} loss {:<14.10g} 1 - cosine to max-margin {}{}", r.path[k].radius,
                    r.path[k].loss, turned, r.path[k].on_boundary ? "" : ", inside the ball"));
  }
}

void add_basins(const SelectRecord& r, Lines& text) {
  if (!r.basins) return;
  const std::vector<std::size_t> counts = basin_counts(*r.basins);
  add_row(text, "basins", fmt::format("{} starts", r.basins->starts.size()));
  for (std::size_t k = 0; k < r.basins->limits.size(); ++k)
    add_row(text, "",
            fmt::format("{} end with {}", counts[k], fmt::join(r.basins->limits[k].chosen, " ")));
  if (counts.back() > 0)
    add_row(text, "", fmt::format("{} did not settle on tokens", counts.back()));
}

std::string words(const SelectRecord& r) {
  Lines text = command(r.setup) + "\n\n";
  if (r.trained) add_training(r, text);
  add_row(text, "selected tokens", fmt::format("{}", fmt::join(r.selected, " ")));
  if (r.svm) add_margin(r, text);
  add_margins(r, text);
  if (r.label && r.label->svm.status != solve::MarginStatus::infeasible)
    add_row(text, "label margin",
            fmt::format("{:.12g}, cosine of v {:.12g}", r.label->margin(), r.head_cosine));
  if (r.exact) add_exact(r, text);
  if (r.local) {
    add_row(text, "locally optimal choices",
            fmt::format("{}{}", r.local->found.size(),
                        r.local->complete ? "" : " found, maybe more exist"));
    for (const training::MaxMargin& svm : r.local->found)
      add_row(text, "",
              fmt::format("{}  margin {:.6g}{}", fmt::join(svm.chosen, " "), svm.margin(),
                          svm.globally_optimal ? ", globally optimal" : ""));
  }
  add_path(r, text);
  add_basins(r, text);
  return text;
}

// ---- Verdict.

// The numerics could not deliver: why, and what to do.
std::string not_delivered(const SelectRecord& r) {
  if (r.trained && !flow::delivered(r.status))
    return (fmt::format("{} after {} steps: {}", flow::name(r.status), r.steps,
                        r.setup.optimizer == Optimizer::flow
                            ? "lower log10-time, raise tolerance, or use optimizer ngd"
                            : "lower step or steps, or use optimizer flow"));
  if (r.trained && r.steps == 0)
    return (
        "the gradient is zero at the start, so nothing moves: v = 0, K = Q = 0, equal scores, or a "
        "start where softmax has saturated");
  if (!r.svm) return "";
  const bool may_ask =
      !r.exact && margin_norm(r.setup).euclidean() &&
      training::Trained(r.setup.train).attention == training::AttentionPart::prompt;
  if (!r.svm->feasible()) {
    if (r.trained)
      return (
          "no weights separate the tokens that lead now; attention has not settled: "
          "train longer (steps, log10-time) or start elsewhere (p0)");
    return (infeasible_words(*r.svm) +
            (may_ask && !r.svm->proved_infeasible() ? "; exact decides" : ""));
  }
  if (r.svm->status != solve::MarginStatus::optimal)
    return (
        fmt::format("the max-margin solution is certified only to a relative gap of {:.1g}; tokens "
                    "are nearly inseparable or scaled very differently{}",
                    r.svm->relative_gap, may_ask ? "; exact closes the gap" : ""));
  for (const training::PathPoint& point : r.path)
    if (!(point.residual <= 1e-4))
      return (
          fmt::format("the path at R = {:.6g} is a minimum only to a residual of {:.1g}; raise "
                      "path-starts, or the loss has a flat valley there",
                      point.radius, point.residual));
  if (r.exact && !r.exact->proved) return ("the exact check proved nothing: " + r.exact->why_not);
  return "";
}

}  // namespace

Result select_result(SelectRecord done) {
  const auto record = std::make_shared<const SelectRecord>(std::move(done));
  const SelectRecord& r = *record;
  const bool stopped = r.status == flow::Status::interrupted;
  return {.title = select_title(r),
          .headline = headline(r),
          .values = select_values(r),
          .draw = [record] { return select_figures(*record); },
          .not_delivered = stopped ? "" : not_delivered(r),
          .interrupted = stopped ? fmt::format("after {} steps", r.steps) : "",
          .format = "attractor select 1",
          .arrays = [record](Archive& file) { write_arrays(*record, file); },
          .words = words(r),
          .page = [record] { return select_page(*record); },
          .footer = ", problem: " + r.setup.data.name};
}

}  // namespace attractor::lab
