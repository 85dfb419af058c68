#include "attractor/commands/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/version.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/report/html.hpp"

namespace attractor::lab {
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
.tiles.roomy { grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); }
.tiles.roomy dd { white-space: normal; overflow-wrap: anywhere; }
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
.pair > figure:only-child { grid-column: 1 / -1; justify-self: center; width: min(100%, 640px); }
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
.note.left { text-align: left; margin: 6px 2px 0; }
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
.parameters td:nth-child(1) { white-space: nowrap; }
.parameters td:nth-child(2) { overflow-wrap: anywhere; font-variant-numeric: tabular-nums;
  min-width: 9em; }
.parameters td:nth-child(3) { color: var(--soft); }
.parameters tr.set td:nth-child(2) { font-weight: 650; color: var(--accent); }
.numbers td { font-variant-numeric: tabular-nums; white-space: nowrap; }
.numbers tr.set td { font-weight: 650; }
.warning { border-color: #d55e00; margin-top: 16px; }
footer { margin-top: 28px; color: var(--soft); font-size: 13px; }
@media (max-width: 860px) { main { padding: 18px 12px 32px; }
  .hero, .pair { grid-template-columns: minmax(0, 1fr); }
  .tile dd { font-size: 18px; }
  figure.wide { overflow-x: auto; } figure.wide svg { min-width: 720px; } }
@media print { main { max-width: none; } .controls { display: none; } }
)css";

// The SVG of a file as an element of a page, whose background shows through.
std::string inlined(const std::string& svg) {
  std::string element = svg.substr(std::min(svg.find("<svg"), svg.size()));
  const std::size_t sheet = element.find("<rect x=\"0\" y=\"0\"");
  if (sheet != std::string::npos) element.erase(sheet, element.find("/>", sheet) + 2 - sheet);
  return element;
}

DrawnFigure drawn(const PageFigure& f, const std::filesystem::path& directory) {
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

}  // namespace

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

std::string close_to_one(double value, double missing) {
  if (!std::isfinite(missing) || missing < 0 || missing >= 1e-4) return rounded(value);
  if (missing < 1e-12) return "1";  // for the eye; result.h5 has the digits
  return "1 − " + power_text(std::log10(missing));
}

std::string status_words(flow::Status status) {
  std::string words(flow::name(status));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::vector<DrawnFigure> draw_figures(const std::vector<PageFigure>& figures,
                                      const std::filesystem::path& directory,
                                      std::string& complaint) {
  if (!report::figures_available()) {
    complaint = "Figures are missing: gnuplot was not found. Install gnuplot-nox and run again.";
    return {};
  }
  make_directory(directory);
  // gnuplot takes most of the time a small run needs: one process a figure, side by side.
  std::vector<std::future<DrawnFigure>> pending;
  for (const PageFigure& figure : figures)
    pending.push_back(std::async(std::launch::async, drawn, std::cref(figure), directory));
  std::vector<DrawnFigure> result;
  try {
    for (std::future<DrawnFigure>& figure : pending) result.push_back(figure.get());
  } catch (const Error& error) {  // a broken gnuplot must not cost the rest of the page
    complaint = fmt::format("Figures are missing: {}.", error.what());
  }
  return result;
}

std::string tile(std::string_view name, const std::string& value, const std::string& more) {
  return fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}{}</dd></div>\n", html_text(name),
                     html_markup(value),
                     more.empty() ? "" : "<small>" + html_markup(more) + "</small>");
}

std::string parameter_table(const ParameterList& now, const ParameterList& usual) {
  std::string text = "<div class=\"card scroll\"><table class=\"parameters\">\n", group;
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

std::string page_document(std::string_view title, const std::string& body,
                          const std::string& footer) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
         "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Attractor: " +
         html_text(title) + "</title>\n<style>" + std::string(kStyle) +
         "</style>\n</head>\n<body>\n<main>\n" + body + "<footer>Attractor " + html_text(kVersion) +
         footer + "</footer>\n</main>\n</body>\n</html>\n";
}

}  // namespace attractor::lab
