#include "attractor/experiment/flow_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <string_view>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/version.hpp"
#include "attractor/experiment/flow_figures.hpp"
#include "attractor/experiment/flow_viewer.hpp"
#include "attractor/report/html.hpp"

namespace attractor::experiment {
namespace {

using report::html_markup;
using report::html_text;

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --ink: #1b2028; --soft: #5b6472;
  --edge: #e2e6eb; --line: #9aa3af; --front: #d3d9e0; --back: #eceff3; --accent: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --page: #14171c; --card: #1d2128; --ink: #e8eaee;
  --soft: #9ba4b1; --edge: #2d333c; --line: #6d7683; --front: #3d444f; --back: #292e36;
  --accent: #56b4e9; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 24px 48px; }
h1 { font-size: clamp(20px, 2.3vw, 27px); line-height: 1.25; font-weight: 650; margin: 0 0 18px;
  letter-spacing: -0.01em; text-wrap: balance; }
h2 { font-size: 18px; font-weight: 650; margin: 36px 0 12px; }
sup { font-size: 0.68em; line-height: 0; vertical-align: super; }
.tiles { display: grid; gap: 10px; grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); }
.tile, .card { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; }
.tile { padding: 10px 14px 11px; }
.tile dt { color: var(--soft); font-size: 12.5px; }
.tile dd { margin: 0; font-size: 19px; font-weight: 600; line-height: 1.3;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.tile small { display: block; font-size: 12px; font-weight: 400; color: var(--soft);
  white-space: normal; line-height: 1.35; }
dl { margin: 0; }
.hero { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 16px;
  margin-top: 16px; align-items: stretch; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 16px; }
.stack { display: flex; flex-direction: column; gap: 16px; }
#viewer { padding: 14px 18px; display: flex; flex-direction: column; align-items: center; }
#viewer canvas { width: 100%; max-width: 560px; aspect-ratio: 1; display: block; margin: auto 0; }
#viewer canvas.turnable { cursor: grab; touch-action: none; }
#viewer canvas.turnable:active { cursor: grabbing; }
.controls { display: flex; gap: 12px; width: 100%; align-items: center; margin-top: 8px; }
.controls input { flex: 1; min-width: 0; accent-color: var(--accent); }
.controls button { width: 36px; height: 36px; border-radius: 50%; border: 1px solid var(--edge);
  background: var(--page); color: var(--ink); font-size: 13px; cursor: pointer; padding: 0; }
.when { margin: 4px 0 0; font-size: 17px; font-weight: 600; font-variant-numeric: tabular-nums; }
.note { margin: 2px 0 0; color: var(--soft); font-size: 13px; text-align: center; }
figure { margin: 0; background: #ffffff; color: #3f4752; border: 1px solid var(--edge);
  border-radius: 10px; padding: 12px 14px 12px; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-size: 13px; line-height: 1.45; margin-top: 4px; }
.files { white-space: nowrap; } .files a { color: #0072b2; margin-right: 6px; }
section > figure, section > .pair { margin-top: 16px; }
@media (prefers-color-scheme: dark) { figure { background: #f1f3f5; } }
.card.text { padding: 14px 18px; }
.card.text p { margin: 0 0 8px; } .card.text p:last-child { margin: 0; }
pre { margin: 0; padding: 12px 18px; background: var(--card); border: 1px solid var(--edge);
  border-radius: 10px; overflow-x: auto; font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; padding: 4px 18px 10px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; color: var(--soft); font-weight: 600; padding: 14px 14px 4px 0; }
td { padding: 4px 14px 4px 0; border-top: 1px solid var(--edge); vertical-align: top; }
td:nth-child(1) { white-space: nowrap; } td:nth-child(2) { overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums; min-width: 9em; } td:nth-child(3) { color: var(--soft); }
tr.set td:nth-child(2) { font-weight: 650; color: var(--accent); }
footer { margin-top: 28px; color: var(--soft); font-size: 13px; }
@media (max-width: 860px) { main { padding: 18px 12px 32px; }
  .hero, .pair { grid-template-columns: minmax(0, 1fr); }
  .tile dd { font-size: 18px; }
  figure.wide { overflow-x: auto; } figure.wide svg { min-width: 720px; } }
@media print { main { max-width: none; } .controls { display: none; } }
)css";

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

// ---- Numbers in words.

std::string superscript(std::size_t number) {
  static constexpr std::string_view digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string result;
  for (const char digit : std::to_string(number)) result += digits[digit - '0'];
  return result;
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, "\u202f");
  return text;
}

std::string rounded(double value) {
  if (!std::isfinite(value)) return "–";
  if (value == 0) return "0";
  const bool plain = std::abs(value) >= 1e-3 && std::abs(value) < 1e4;
  std::string text =
      plain ? fmt::format("{:.4g}", std::abs(value)) : power_text(std::log10(std::abs(value)));
  return (value < 0 ? "−" : "") + text;
}

// A number whose distance from 1 is what matters.
std::string close_to_one(double value, double missing) {
  if (!std::isfinite(missing) || missing < 0 || missing >= 1e-4) return rounded(value);
  if (missing < 1e-12) return "1";  // for the eye; result.h5 has the digits
  return "1 − " + power_text(std::log10(missing));
}

double last_finite(const FlowRecord& record, double observe::Observation::*column) {
  return record.series.empty() ? std::nan("") : record.series.back().*column;
}

std::string status_words(flow::Status status) {
  std::string words(flow::name(status));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// ---- Parts of the page.

std::string tile(std::string_view name, const std::string& value, const std::string& more = "") {
  return fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}{}</dd></div>\n", html_text(name),
                     html_markup(value),
                     more.empty() ? "" : "<small>" + html_markup(more) + "</small>");
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
  if (std::isfinite(energy) || record.parameters.space == "sphere")
    text += tile("energy ratio", close_to_one(energy, 1 - energy), "at most 1");
  else
    text += tile("ln energy", rounded(end(&Observation::log_energy)));
  text += tile("effective rank", rounded(end(&Observation::effective_rank)));
  text += tile("steps", grouped(record.steps),
               record.rejected > 0 ? grouped(record.rejected) + " rejected" : "");
  text += tile("status", status_words(record.status), std::string(flow::remedy(record.status)));
  return text + "</dl>\n";
}

// The SVG of a file as an element of a page, whose background shows through.
std::string inlined(const std::string& svg) {
  std::string element = svg.substr(std::min(svg.find("<svg"), svg.size()));
  const std::size_t sheet = element.find("<rect x=\"0\" y=\"0\"");
  if (sheet != std::string::npos) element.erase(sheet, element.find("/>", sheet) + 2 - sheet);
  return element;
}

struct Drawn {
  std::string id, html;
  bool wide;
};

Drawn drawn(const FlowFigure& f, const std::filesystem::path& directory) {
  constexpr report::Format kOther[] = {report::Format::pdf, report::Format::png};
  const std::string picture = report::svg(f.figure);
  write_file(directory / (f.figure.id + ".svg"), picture);
  report::write_figure(f.figure, directory / f.figure.id, kOther);
  const std::string& id = f.figure.id;
  std::string links;
  for (const std::string_view kind : {"svg", "pdf", "png"})
    links += fmt::format("<a href=\"figures/{}.{}\">{}</a>", id, kind, kind);
  return {
      id,
      fmt::format("<figure class=\"{}\" id=\"figure-{}\">{}<figcaption>{} <span "
                  "class=\"files\">{}</span></figcaption>"
                  "</figure>\n",
                  f.wide ? "wide" : "half", id, inlined(picture), html_markup(f.caption), links),
      f.wide};
}

// All figures, or the sentence that says why there are none.
std::vector<Drawn> draw_figures(const FlowRecord& record, const FlowView& view,
                                const std::filesystem::path& directory, std::string& complaint) {
  if (!report::figures_available()) {
    complaint = "Figures are missing: gnuplot was not found. Install gnuplot-nox and run again.";
    return {};
  }
  make_directory(directory);
  // gnuplot takes most of the time a small run needs: one process a figure, side by side.
  const std::vector<FlowFigure> figures = flow_figures(record, view);
  std::vector<std::future<Drawn>> pending;
  for (const FlowFigure& figure : figures)
    pending.push_back(std::async(std::launch::async, drawn, std::cref(figure), directory));
  std::vector<Drawn> result;
  try {
    for (std::future<Drawn>& figure : pending) result.push_back(figure.get());
  } catch (const Error& error) {  // a broken gnuplot must not cost the rest of the page
    complaint = fmt::format("Figures are missing: {}.", error.what());
  }
  return result;
}

std::string pictures(const FlowRecord& record, const FlowView& view,
                     const std::filesystem::path& directory) {
  std::string complaint;
  std::vector<Drawn> figures = draw_figures(record, view, directory, complaint);
  std::string stack, first, pair, wide;
  for (const Drawn& figure : figures) {
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

std::string parameter_table(const FlowParameters& parameters) {
  FlowParameters mine = parameters, defaults;
  const ParameterList now = list(mine), usual = list(defaults);
  std::string text = "<div class=\"card scroll\"><table>\n", group;
  for (std::size_t k = 0; k < now.size(); ++k) {
    if (now[k].group != group) {
      group = now[k].group;
      text += "<tr><th colspan=\"3\">" + html_text(group) + "</th></tr>\n";
    }
    const std::string value = now[k].text();
    text += fmt::format("<tr{}><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        value == usual[k].text() ? "" : " class=\"set\"", html_text(now[k].name),
                        value.empty() ? "–" : html_text(value), html_text(now[k].help));
  }
  return text + "</table></div>\n";
}

std::string accuracy(const FlowRecord& record) {
  const FlowParameters& p = record.parameters;
  std::string text = "<div class=\"card text\">\n<p>";
  if (p.stepper == "adaptive")
    text +=
        html_markup(fmt::format("Adaptive Runge–Kutta 5(4): the local error of every token is kept "
                                "below {} in each unit of "
                                "time.",
                                power_text(std::log10(p.tolerance))));
  else
    text += html_text(fmt::format("Fixed steps of {} ({}).", p.step, p.stepper));
  text += "</p>\n<p>";
  text += record.merge_radius > 0
              ? html_markup(fmt::format(
                    "Tokens of a cluster narrower than {} move as one: {} such replacements, which "
                    "shift a token by at most {} in total (to leading order).",
                    rounded(record.merge_radius), grouped(record.coalescences.size()),
                    rounded(record.merge_error)))
              : "No tokens were replaced: every one is followed on its own.";
  text += "</p>\n<p>";
  const bool sampled = std::any_of(record.series.begin(), record.series.end(),
                                   [](const observe::Observation& o) { return o.sampled == 1; });
  text += sampled ? html_text(fmt::format(
                        "Pair and energy statistics are estimates from 512 random rows while more "
                        "than {} tokens are distinct (exact-limit); their standard errors are in "
                        "result.h5.",
                        grouped(p.exact_limit)))
                  : "All statistics are exact sums over all pairs of tokens.";
  text += fmt::format("</p>\n<p>{}</p>\n</div>\n",
                      html_text(fmt::format("Clusters are connected at cosine {:.9g} or more.",
                                            record.cluster_cosine)));
  return text;
}

}  // namespace

std::string headline(const FlowRecord& record) {
  const FlowParameters& p = record.parameters;
  const bool sphere = p.space == "sphere";
  const std::string place = !sphere           ? "in R" + superscript(record.dim)
                            : record.dim == 2 ? "on the circle"
                                              : "on the sphere S" + superscript(record.dim - 1);
  const bool weights = !p.query.empty() || !p.key.empty() || !p.value.empty();
  const double clusters = last_finite(record, &observe::Observation::clusters);
  std::string text = fmt::format(
      "{} token{} {}, {} attention{}, β = {:.6g}: ", grouped(record.tokens),
      record.tokens == 1 ? "" : "s", place, p.dynamics == "usa" ? "unnormalised" : "softmax",
      weights ? " with given weights" : "", p.beta);
  if (std::isfinite(clusters))
    text += clusters == 1 ? "one cluster at " : fmt::format("{:.0f} clusters at ", clusters);
  return text + "t = " + time_text(record.time);
}

void write_flow_page(const FlowRecord& record, const std::filesystem::path& directory) {
  make_directory(directory);
  const FlowView view = flow_view(record);
  const std::string title = html_markup(headline(record));
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Attractor: " +
      html_text(fmt::format("{} tokens, dimension {}, beta = {:.6g}", record.tokens, record.dim,
                            record.parameters.beta)) +
      "</title>\n<style>" + std::string(kStyle) + "</style>\n</head>\n<body>\n<main>\n";
  page += "<h1>" + title + "</h1>\n" + tiles(record);
  page += pictures(record, view, directory / "figures");
  page += "<h2>Reproduce this run</h2>\n<pre class=\"wrap\">" +
          html_text(command(record.parameters)) + "</pre>\n";
  page += "<h2>Load in Python</h2>\n<pre>" + html_text(kPython) + "</pre>\n";
  page += "<h2>Accuracy</h2>\n" + accuracy(record);
  page += "<h2>Parameters</h2>\n" + parameter_table(record.parameters);
  page += fmt::format("<footer>Attractor {}{}</footer>\n</main>\n</body>\n</html>\n",
                      html_text(kVersion),
                      record.engine.empty() ? "" : ", engine: " + html_text(record.engine));
  write_file(directory / "index.html", page);
}

}  // namespace attractor::experiment
