#include "attractor/commands/flow/flow_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "attractor/commands/flow/flow_figures.hpp"
#include "attractor/commands/flow/flow_viewer.hpp"
#include "attractor/commands/page.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/report/html.hpp"

namespace attractor::lab {
namespace {

using report::html_markup;
using report::html_text;

constexpr std::string_view kPython = R"py(import h5py
import numpy as np

with h5py.File("result.h5", "r") as f:
    log10_t = f["series/log10_time"][:]         # -inf at t = 0; one entry for each output
    clusters = f["series/clusters"][:]          # every observable has its column in /series
    x = f["snapshots/positions"][:]             # snapshots x tokens x dim
    x_log10_t = f["snapshots/log10_time"][:]    # when they were taken
    labels = f["snapshots/clusters"][:]         # cluster of every token: snapshots x tokens
    owner = f["final/owner"][:]                 # final group of every token
    tree = {k: v[:] for k, v in f["merge_tree"].items()}

# Rows as in scipy.cluster.hierarchy.linkage (height: log10 of the time of the merge).
linkage = np.column_stack([tree["left"], tree["right"], tree["log10_time"], tree["size"]])
)py";

double last_finite(const FlowRecord& record, double observe::Observation::*column) {
  return record.series.empty() ? std::nan("") : record.series.back().*column;
}

std::string tiles(const FlowRecord& record) {
  using observe::Observation;
  const auto end = [&](double Observation::*column) { return last_finite(record, column); };
  const double energy = end(&Observation::energy_ratio);
  const double largest = end(&Observation::largest_cluster);
  std::string text = "<dl class=\"tiles\">\n";
  text += tile("final time", time_text(record.time));
  text += tile("clusters", rounded(end(&Observation::clusters)),
               std::isfinite(largest)
                   ? "largest: " + rounded(largest) + (largest == 1 ? " token" : " tokens")
                   : "");
  text += tile("mean cosine", close_to_one(end(&Observation::mean_cosine),
                                           end(&Observation::one_minus_mean_cosine)));
  if (std::isfinite(energy) || record.setup.space == depth::Geometry::sphere)
    text += tile("energy ratio", close_to_one(energy, 1 - energy), "at most 1");
  else
    text += tile("ln energy", rounded(end(&Observation::log_energy)));
  text += tile("effective rank", rounded(end(&Observation::effective_rank)));
  text += tile("steps", grouped(record.steps),
               record.rejected > 0 ? grouped(record.rejected) + " rejected" : "");
  text += tile("status", status_words(record.status), std::string(flow::remedy(record.status)));
  return text + "</dl>\n";
}

std::string pictures(const FlowRecord& record, const FlowView& view,
                     const std::filesystem::path& directory) {
  std::string complaint;
  std::string stack, first, pair, wide;
  for (const DrawnFigure& figure : draw_figures(flow_figures(record, view), directory, complaint)) {
    const bool beside = figure.id == "clusters" || figure.id == "energy";
    (figure.id == "tokens" ? first : figure.wide ? wide : beside ? stack : pair) += figure.html;
  }
  if (!complaint.empty())
    stack = "<div class=\"card text\"><p>" + html_text(complaint) + "</p></div>\n";
  std::string text = "<section class=\"hero\">\n";
  if (!view.xyz.empty()) text += flow_viewer(record, view);
  text += "<div class=\"stack\">\n" + stack + "</div>\n</section>\n";
  if (!pair.empty()) pair = "<div class=\"pair\">\n" + pair + "</div>\n";
  return text + "<section>\n" + first + pair + wide + "</section>\n";
}

std::string pair_of(const FlowSetup& p) {
  const flow::Method stepper = stepper_of(p);
  return stepper == flow::Method::adaptive3   ? "3(2)"
         : stepper == flow::Method::adaptive8 ? "8(5,3)"
                                              : "5(4)";
}

std::string accuracy(const FlowRecord& record) {
  const FlowSetup& p = record.setup;
  std::string text = "<div class=\"card text\">\n<p>";
  if (is_adaptive(p))
    text +=
        html_markup(fmt::format("Adaptive Runge–Kutta {}: the local error of every token is kept "
                                "below {} in each unit of "
                                "time.",
                                pair_of(p), power_text(std::log10(p.tolerance))));
  else
    text += html_text(fmt::format("Fixed steps of {} ({}).", p.step, stepper_of(p)));
  text += "</p>\n<p>";
  text +=
      record.merge_radius > 0
          ? html_markup(fmt::format(
                "Tokens of a cluster narrower than {} move with their centre: {} such "
                "replacements, which displace a token by about {} or less at the end; distances "
                "within these groups are known to a relative error of {}.",
                rounded(record.merge_radius), grouped(record.coalescences.size()),
                rounded(record.merge_error), rounded(record.offset_error)))
          : "No tokens were replaced: every one is followed on its own.";
  text += "</p>\n<p>";
  const bool sampled = std::any_of(record.series.begin(), record.series.end(),
                                   [](const observe::Observation& o) { return o.sampled == 1; });
  text += sampled ? html_text(fmt::format(
                        "Pair and energy statistics are estimates from random rows while more "
                        "than {} tokens are distinct (exact-limit); their standard errors are in "
                        "result.h5.",
                        grouped(p.exact_limit)))
                  : "All statistics are exact sums over all pairs of tokens.";
  text += fmt::format("</p>\n<p>{}</p>\n</div>\n",
                      html_text(fmt::format("Clusters are connected at cosine {:.9g} or more.",
                                            record.cluster_cosine)));
  return text;
}

std::string attention_words(const FlowSetup& p) {
  std::string words = p.dynamics == Rule::unnormalised ? "unnormalised"
                      : p.dynamics == Rule::softmax    ? "softmax"
                                                       : std::string(name(p.dynamics));
  if (p.mask == MaskKind::causal) words = "causal " + words;
  if (p.heads > 1) words = fmt::format("{}-head {}", p.heads, words);
  if (p.norm != Normalisation::post) words = fmt::format("{}-normalised {}", p.norm, words);
  return words;
}

}  // namespace

std::string headline(const FlowRecord& record) {
  const FlowSetup& p = record.setup;
  const bool sphere = p.space == depth::Geometry::sphere;
  const std::string place = !sphere           ? "in R" + superscript(record.dim)
                            : record.dim == 2 ? "on the circle"
                                              : "on the sphere S" + superscript(record.dim - 1);
  const bool weights = !p.query.identity() || !p.key.identity() || !p.value.identity();
  const double clusters = last_finite(record, &observe::Observation::clusters);
  std::string text =
      fmt::format("{} token{} {}, {} attention{}, β = {:.6g}: ", grouped(record.tokens),
                  record.tokens == 1 ? "" : "s", place, attention_words(p),
                  weights ? " with given weights" : "", p.beta);
  if (std::isfinite(clusters))
    text += clusters == 1 ? "one cluster at " : fmt::format("{:.0f} clusters at ", clusters);
  return text + "t = " + time_text(record.time);
}

std::string flow_title(const FlowRecord& record) {
  return fmt::format("{} tokens, dimension {}, beta = {:.6g}", record.tokens, record.dim,
                     record.setup.beta);
}

std::string flow_body(const FlowRecord& record, const std::filesystem::path& figures) {
  return tiles(record) + pictures(record, flow_view(record), figures);
}

std::string flow_sections(const FlowRecord& record) {
  return "<h2>Load in Python</h2>\n<pre>" + html_text(kPython) + "</pre>\n<h2>Accuracy</h2>\n" +
         accuracy(record);
}

}  // namespace attractor::lab
