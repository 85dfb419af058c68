#include "attractor/commands/select/select_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/page.hpp"
#include "attractor/commands/result.hpp"
#include "attractor/commands/select/margin_words.hpp"
#include "attractor/commands/select/select_figures.hpp"
#include "attractor/commands/select/select_scene.hpp"
#include "attractor/commands/select/select_words.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/space/space.hpp"

namespace attractor::lab {
namespace {

using training::MaxMargin;

constexpr std::size_t kTableRows = 200;

// ---- In words.

std::string trained_words(const SelectSetup& p) {
  using training::AttentionPart;
  const training::Trained trained(p.train);
  const std::string words = trained.head ? "head v" : "";
  if (trained.attention == AttentionPart::none) return words;
  return words + (words.empty() ? "" : " and ") +
         (trained.attention == AttentionPart::prompt    ? "prompt p"
          : trained.attention == AttentionPart::weights ? "attention matrix W"
                                                        : "attention matrix W = KQ^{T}");
}

std::string optimizer_words(const SelectSetup& p) {
  std::string words = p.mirror == 2 ? "gradient" : fmt::format("ℓ^{{{:.4g}}} mirror", p.mirror);
  if (p.optimizer == Optimizer::flow) return words + " flow";
  if (p.optimizer == Optimizer::adam) return "Adam";
  const std::string moved = p.momentum > 0 ? " with momentum" : "";
  if (p.optimizer == Optimizer::muon) return "Muon" + moved;
  if (p.optimizer == Optimizer::sign) return "sign descent" + moved;
  if (p.optimizer == Optimizer::ngd || p.optimizer == Optimizer::published)
    words = "normalised " + words;
  words += " descent";
  if (p.optimizer == Optimizer::published) words += " as published";
  if (p.optimizer == Optimizer::polyak) words += " with Polyak's step";
  return words + moved;
}

std::string optimality_words(const MaxMargin& svm) {
  if (!svm.feasible())
    return svm.proved_infeasible()
               ? "which no weights can separate"
               : "which no weights of norm below " + rounded(svm.lower) + " can separate";
  if (svm.locally_optimal)
    return svm.globally_optimal ? "locally and globally optimal"
                                : "locally optimal, not the best tokens";
  return svm.globally_optimal ? "the best tokens, not locally optimal" : "not locally optimal";
}

/// So many significant digits; "–" if not finite.
std::string digits(double value, int count) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, count) : "–";
}

std::string when(const SelectRecord& r, const flow::Time& time) {
  if (r.setup.optimizer == Optimizer::flow) return "t = " + time_text(time);
  return "step " + grouped(static_cast<std::uint64_t>(std::llround(time.value() / r.setup.step)));
}

// ---- Tables.

std::string exact_words(const SelectRecord& r) {
  if (!r.exact) return "–";
  if (!r.exact->proved) return "not proved: " + r.exact->why_not;
  if (r.exact->infeasible) return "proved: none exists";
  const std::string& square = r.exact->squared_norm.exact;
  return "proved" + (square.size() > 40 ? "" : ", norm² = " + square);
}

std::vector<std::string> certificate(const std::string& name, const MaxMargin& svm,
                                     const std::string& exact) {
  const bool feasible = svm.feasible();
  return {name,
          token_list(svm.chosen),
          std::string(solve::name(svm.status)),
          feasible ? digits(svm.norm, 10) : "–",
          feasible ? digits(svm.margin(), 10) : "–",
          feasible || !svm.proved_infeasible() ? bounds_words(svm) : "none exists",
          feasible ? rounded(svm.relative_gap) : "Farkas residual " + rounded(svm.farkas_residual),
          yes(svm.locally_optimal),
          yes(svm.globally_optimal),
          svm.rank == 0    ? "–"
          : svm.in_reach() ? std::to_string(svm.rank)
                           : fmt::format("{}, out of reach of {}", svm.rank, svm.factor_rank),
          exact};
}

std::vector<std::string> label_certificate(const training::LabelMargin& label) {
  const bool feasible = label.svm.status != solve::MarginStatus::infeasible;
  const auto support = std::count(label.support.begin(), label.support.end(), true);
  return {"labels, for v",
          feasible ? fmt::format("{} support inputs", support) : "–",
          std::string(solve::name(label.svm.status)),
          feasible ? digits(label.svm.norm, 10) : "–",
          feasible ? digits(label.margin(), 10) : "–",
          feasible ? fmt::format("{:.17g} to {:.17g}", label.svm.lower, label.svm.upper)
                   : fmt::format("at least {:.17g}", label.svm.lower),
          feasible ? rounded(label.svm.relative_gap)
                   : "Farkas residual " + rounded(label.svm.farkas_residual),
          "–",
          "–",
          "–",
          "–"};
}

void add_certificates(const SelectRecord& r, std::vector<Section>& sections) {
  std::vector<std::vector<std::string>> rows = {{"problem", "choice", "status", "norm", "margin",
                                                 "least norm", "relative gap", "locally optimal",
                                                 "globally optimal", "rank", "exact check"}};
  if (r.svm)
    rows.push_back(
        certificate(r.trained ? "selected tokens" : "given choice", *r.svm, exact_words(r)));
  if (r.relaxed) rows.push_back(certificate("relaxed", *r.relaxed, "–"));
  if (r.label) rows.push_back(label_certificate(*r.label));
  if (r.path_svm) rows.push_back(certificate("regularisation path", *r.path_svm, "–"));
  if (rows.size() == 1) return;
  sections.push_back(
      {"Max-margin certificates",
       html_table(rows) +
           html_note(
               "The least norm lies between the two bounds, which are rounded outwards: the lower "
               "one is what the multipliers in result.h5 prove, the upper one the norm of a "
               "feasible point. The Farkas vector of an infeasible choice proves that no shorter "
               "weights make it; that none do at all, if it cancels exactly, as exact checks.")});
}

/// What the cosines and figures are about, if that is out of reach or beyond doubles.
void add_limits(const SelectRecord& r, std::vector<std::string>& warnings) {
  if (!r.svm) return;
  if (!r.svm->feasible())
    warnings.push_back("Infeasible: " + infeasible_words(*r.svm) + ".");
  else if (const std::string words = reach_words(*r.svm); !words.empty())
    warnings.push_back("Compared with a solution out of reach: " + words +
                       ". Cosines and their figures end there, not at 1; another solution of the "
                       "same norm and smaller rank may exist.");
  if (const std::string words = slack_words(*r.svm); !words.empty())
    warnings.push_back("Nearly inseparable: " + words + ".");
}

void add_rivals(const SelectRecord& r, std::vector<std::string>& warnings) {
  constexpr std::size_t kShown = 8;
  if (!r.svm || r.svm->rivals.empty()) return;
  std::string tokens;
  for (std::size_t k = 0; k < std::min(kShown, r.svm->rivals.size()); ++k) {
    const training::TokenMargin& t = r.svm->rivals[k];
    tokens += fmt::format("{}token {} of input {} (margin {:.6g})", k > 0 ? ", " : "", t.token,
                          t.input, t.margin);
  }
  if (r.svm->rivals.size() > kShown)
    tokens += fmt::format(" and {} more", r.svm->rivals.size() - kShown);
  warnings.push_back(
      "This choice may not last: better tokens lie just outside the margin and may take over much "
      "later in training: " +
      tokens +
      (r.trained ? ". Train longer, with optimizer flow up to a large log10-time, to see." : "."));
}

void add_selected(const SelectRecord& r, std::vector<Section>& sections) {
  if (r.selected.empty() || !r.svm) return;
  const training::Problem& p = r.problem;
  std::vector<std::vector<std::string>> rows = {{"input", "token", "score", "margin"}};
  if (r.trained) rows[0].insert(rows[0].end(), {"softmax weight", "selected since"});
  for (std::size_t i = 0; i < std::min(kTableRows, r.selected.size()); ++i) {
    const std::size_t t = r.selected[i];
    const double score = p.labels[i] * p.head.value(p.token(i, t), r.head);
    rows.push_back({std::to_string(i), std::to_string(t), digits(score, 6),
                    i < r.leads.size() ? digits(r.leads[i], 6) : "–"});
    if (!r.trained) continue;
    const double weight = r.softmax.empty() ? kNan : r.softmax[i * p.tokens + t];
    rows.back().push_back(close_to_one(weight, 1 - weight));
    rows.back().push_back(i < r.lock_in.size() ? when(r, r.lock_in[i]) : "–");
  }
  const std::string whose = r.trained ? "; training drives the smallest towards the margin of the "
                                        "max-margin solution."
                                      : " (those of the max-margin solution).";
  std::string text =
      html_table(rows) +
      html_note(
          "Margin: the lead of the selected token over the next, for weights scaled to length one" +
          whose);
  if (r.selected.size() > kTableRows)
    text += html_note(fmt::format("The first {} of {} inputs; result.h5 has all.", kTableRows,
                                  grouped(r.selected.size())));
  sections.push_back({"Selected tokens", text});
}

void add_local(const SelectRecord& r, std::vector<Section>& sections) {
  if (!r.local) return;
  std::vector<std::vector<std::string>> rows = {
      {"tokens", "margin", "norm", "relative gap", "support rows", "globally optimal"}};
  std::size_t mine = 0;
  for (const MaxMargin& svm : r.local->found) {
    if (rows.size() > kTableRows) break;
    if (svm.chosen == r.selected) mine = rows.size();
    rows.push_back({token_list(svm.chosen), digits(svm.margin(), 10), digits(svm.norm, 10),
                    rounded(svm.relative_gap), std::to_string(svm.support.size()),
                    yes(svm.globally_optimal)});
  }
  sections.push_back({"Locally optimal choices",
                      html_table(rows, mine) +
                          html_note(fmt::format(
                              "{} found among {} margin problems; {}. Bold: the choice of this "
                              "run.",
                              grouped(r.local->found.size()), grouped(r.local->examined),
                              r.local->complete ? "there are no others" : "there may be others"))});
}

void add_basins(const SelectRecord& r, std::vector<Section>& sections) {
  if (!r.basins || r.basins->starts.empty()) return;
  const training::Basins& basins = *r.basins;
  const std::vector<std::size_t> counts = basin_counts(basins);
  std::vector<std::vector<std::string>> rows = {
      {"limit", "starts", "share", "margin", "locally optimal", "globally optimal"}};
  const auto share = [&](std::size_t count) {
    return fmt::format(
        "{:.2f} %", 100 * static_cast<double>(count) / static_cast<double>(basins.starts.size()));
  };
  for (std::size_t k = 0; k < std::min(kTableRows, basins.limits.size()); ++k) {
    const MaxMargin& svm = basins.limits[k];
    rows.push_back({token_list(svm.chosen), grouped(counts[k]), share(counts[k]),
                    svm.feasible() ? digits(svm.margin(), 10) : "–", yes(svm.locally_optimal),
                    yes(svm.globally_optimal)});
  }
  if (counts.back() > 0)
    rows.push_back({"not settled", grouped(counts.back()), share(counts.back()), "–", "–", "–"});
  sections.push_back({"Basins of attraction", html_table(rows)});
}

// ---- Parts of the page.

Tile status_tile(const SelectRecord& r) {
  if (!r.trained) return {"status", "solved", "no training"};
  return {"status", status_words(r.status),
          r.saturated   ? "the gradient is zero in double precision"
          : r.steps > 0 ? grouped(r.steps) + " steps"
                        : "at t = " + time_text(r.time)};
}

Tile selected_tile(const SelectRecord& r) {
  std::string more = r.selected.size() > 1 ? "one for each input" : "of one input";
  if (r.trained && !r.lock_in.empty())
    more += ", settled at " + when(r, *std::max_element(r.lock_in.begin(), r.lock_in.end()));
  return {r.selected.size() > 1 ? "selected tokens" : "selected token", token_list(r.selected),
          more};
}

Tile margin_tile(const SelectRecord& r) {
  if (r.svm->feasible())
    return {"margin", digits(r.svm->margin(), 8),
            "of the max-margin solution, relative gap " + rounded(r.svm->relative_gap)};
  return {"margin", "none",
          r.svm->proved_infeasible() ? "no weights select these tokens"
                                     : "for norms below " + rounded(r.svm->lower)};
}

std::string target_words(const SelectRecord& r) {
  if (!r.svm->in_reach())
    return fmt::format("to a solution out of reach, {:.4g} at most", r.svm->reach);
  return r.relaxed ? "to the relaxed max-margin solution" : "to the max-margin solution";
}

/// At most six; All numbers has the others.
std::vector<Tile> tiles(const SelectRecord& r) {
  std::vector<Tile> all;
  if (r.svm) {
    const double best = r.relaxed ? r.relaxed_cosine : r.cosine;
    all.push_back(selected_tile(r));
    if (r.trained)
      add_tile(all, "cosine of " + attention_name(r), close_to_one(best, 1 - best),
               target_words(r));
    all.push_back(margin_tile(r));
    if (r.trained)
      add_tile(all, "smallest softmax weight", close_to_one(r.softmax_min, 1 - r.softmax_min),
               "on a selected token");
  }
  if (r.label)
    add_tile(all, "cosine of v", close_to_one(r.head_cosine, 1 - r.head_cosine),
             "to the label margin");
  else if (r.trained)
    add_tile(all, "loss", rounded(r.loss), fmt::format("{}, a mean over inputs", r.setup.loss));
  all.push_back(status_tile(r));
  return all;
}

void add_theory(const SelectRecord& r, std::vector<Section>& sections) {
  const training::Trained trained(r.setup.train);
  if (trained.attention == training::AttentionPart::none) return;
  std::string scores,
      end = "Training ends at a locally optimal choice; which one, the start decides.";
  if (trained.head) {
    scores = "Scores move with v, so training itself decides which tokens are the best ones.";
  } else if (r.unique_best && r.equal_others) {
    scores =
        "Every input has one best token, and its other tokens all have the same score: the norm of "
        "attention grows without bound if the best tokens can be separated.";
    if (r.problem.inputs == 1)
      end = "With one input, descent reaches the best token's direction from any start.";
  } else {
    scores = r.unique_best ? "Every input has one best token; the scores of its others differ."
                           : "Some input has several best tokens.";
  }
  sections.push_back({"What theory says", html_card({scores, end})});
}

std::string python(const SelectRecord& r) {
  std::string text = R"py(import h5py

with h5py.File("result.h5", "r") as f:
    selected = f["final/selected"][:]           # token of every input
)py";
  if (!r.softmax.empty())
    text += "    softmax = f[\"final/softmax\"][:]             # inputs x tokens\n";
  for (const training::Block& b : r.blocks)
    text += fmt::format("    {0} = f[\"final/{0}\"][:]\n", b.name);
  if (!r.trajectory.empty())
    text +=
        R"py(    series = {k: c[:] for k, c in f["series"].items()}   # one entry for each output
    way = f["trajectory/weights"][:]            # outputs x weights
    offset = dict(zip(f["trajectory/block_names"][:].astype(str), f["trajectory/block_offsets"][:]))
)py";
  if (r.svm && !r.svm->solution.empty())
    text += R"py(    svm = f["svm/solution"][:]                  # the max-margin solution
    gap = f["svm"].attrs["relative_gap"]        # its certificate
)py";
  return text;
}

}  // namespace

std::string headline(const SelectRecord& r) {
  const training::Problem& p = r.problem;
  std::string text = fmt::format("{} input{} of {} tokens in R{}, ", grouped(p.inputs),
                                 p.inputs == 1 ? "" : "s", grouped(p.tokens), superscript(p.dim));
  if (r.trained)
    text += fmt::format("{} trained on {} loss by {}", trained_words(r.setup), r.setup.loss,
                        optimizer_words(r.setup));
  else
    text += "max-margin problem of a given choice";
  if (r.selected.empty()) return text + ": " + status_words(r.status);
  if (!r.svm) return text + ": loss " + rounded(r.loss);
  if (r.at_minimum)
    return text + ": rests at a minimum of finite norm; attention mixes tokens, none is selected";
  text += (r.trained ? ": selects token " : ": token ") + token_list(r.selected);
  if (r.selected.size() > 1) text.insert(text.rfind(" token ") + 6, "s");
  return text + ", " + optimality_words(*r.svm);
}

std::string select_title(const SelectRecord& record) {
  return fmt::format("{} inputs, {} tokens, dimension {}, train {}", record.problem.inputs,
                     record.problem.tokens, record.problem.dim, record.setup.train);
}

Page select_page(const SelectRecord& record) {
  Page page{.tiles = tiles(record), .closing = {in_python(python(record))}};
  page.scene = select_scene(record);
  for (const auto add : {add_limits, add_rivals}) add(record, page.warnings);
  for (const auto add : {add_certificates, add_selected, add_local, add_basins, add_theory})
    add(record, page.sections);
  return page;
}

}  // namespace attractor::lab
