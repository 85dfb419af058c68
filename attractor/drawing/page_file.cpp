#include "attractor/drawing/page_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/named.hpp"
#include "attractor/base/version.hpp"
#include "attractor/drawing/figures_js.hpp"
#include "attractor/drawing/page_css.hpp"
#include "attractor/drawing/scene_json.hpp"
#include "attractor/drawing/viewer_js.hpp"
#include "attractor/files/result_file.hpp"
#include "attractor/report/markup.hpp"

namespace attractor::lab {
namespace {

using report::html_markup;
using report::html_text;

// ---- Figures.

std::string links(const std::string& id, std::span<const report::Format> formats) {
  std::string text;
  for (const report::Format format : formats)
    text += fmt::format("<a href=\"figures/{}.{}\">{}</a>", id, format, format);
  return text;
}

/// Writes the files of a figure into the directory; HTML.
std::string drawn(const PageFigure& f, const std::filesystem::path& directory,
                  std::span<const report::Format> formats) {
  const std::string& id = f.figure.id;
  report::write_figure(f.figure, directory / id, formats);
  return fmt::format(
      "<figure class=\"{}\" id=\"figure-{}\">{}{}<figcaption>{} <span "
      "class=\"files\">{}</span></figcaption></figure>\n",
      f.wide ? "wide" : "half", id,
      f.figure.title.empty() ? "" : "<h3>" + html_markup(f.figure.title) + "</h3>\n",
      report::page_panels(f.figure), html_markup(f.caption), links(id, formats));
}

struct Drawn {
  std::string beside{}, rest{};  // HTML
};

/// Wide figures as they come, the others in pairs.
Drawn draw_figures(const std::vector<PageFigure>& figures, const std::filesystem::path& directory,
                   std::span<const report::Format> formats) {
  if (!figures.empty() && !formats.empty()) make_directory(directory);
  Drawn page;
  std::string pair;
  std::size_t waiting = 0;
  const auto flush = [&] {
    if (!pair.empty()) page.rest += "<div class=\"pair\">\n" + std::exchange(pair, "") + "</div>\n";
    waiting = 0;
  };
  for (const PageFigure& figure : figures) {
    const std::string html = drawn(figure, directory, formats);
    if (figure.wide) flush();
    (figure.beside ? page.beside : figure.wide ? page.rest : pair) += html;
    if (!figure.beside && !figure.wide && ++waiting == 2) flush();
  }
  flush();
  return page;
}

// ---- Parts of a page.

std::string card_html(const char* kind, const std::string& html) {
  return fmt::format("<div class=\"card text {}\"><p>{}</p></div>\n", kind, html);
}

std::string tiles_html(const std::vector<Tile>& tiles) {
  if (tiles.empty()) return "";
  std::string text = "<dl class=\"tiles\">\n";
  for (const Tile& t : tiles)
    text += fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}<small>{}</small></dd></div>\n",
                        html_text(t.name), html_markup(t.value), html_markup(t.more));
  return text + "</dl>\n";
}

/// The moving picture with the figures beside it, then the others.
std::string pictures_html(const Page& page, const Drawn& figures) {
  std::string text;
  if (!page.scene_note.empty()) text += html_note(page.scene_note);
  if (page.scene)
    text += "<section class=\"hero\">\n" + scene_element(*page.scene) + "<div class=\"stack\">\n" +
            figures.beside + "</div>\n</section>\n";
  const std::string rest = page.scene ? figures.rest : figures.beside + figures.rest;
  return rest.empty() ? text : text + "<section>\n" + rest + "</section>\n";
}

std::string sections_html(const std::vector<Section>& sections) {
  std::string text;
  for (const Section& s : sections) text += "<h2>" + html_text(s.heading) + "</h2>\n" + s.html;
  return text;
}

std::string table_html(const Table& table) {
  std::vector<std::vector<std::string>> rows = cells(table);
  for (std::size_t r = 1; r < rows.size(); ++r)
    for (std::string& cell : rows[r]) cell = with_powers_of_ten(cell);
  return "<h2>" + html_markup(table.title) + "</h2>\n" + html_table(rows) +
         (table.rows.size() > rows.size() - 1
              ? html_note(fmt::format("The first {} of {} rows; result.h5 has all.",
                                      rows.size() - 1, grouped(table.rows.size())))
              : "");
}

/// Every named number, in as many columns as there is room for.
std::string values_html(const Result& answer) {
  const auto all = value_words(answer);
  if (all.empty()) return "";
  std::string text = "<h2>All numbers</h2>\n<dl class=\"card values\">\n";
  for (const auto& [name, value] : all)
    text += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_text(name), html_markup(value));
  return text + "</dl>\n";
}

std::string parameter_rows(const ParameterList& now, const ParameterList& usual, bool all) {
  std::string text, group;
  for (std::size_t k = 0; k < now.size(); ++k) {
    const std::string value = now[k].text();
    const bool set = value != usual[k].text();
    if (!set && !all) continue;
    if (all && now[k].group != group)
      text += "<tr><th colspan=\"3\">" + html_text(now[k].group) + "</th></tr>\n";
    group = now[k].group;
    text += fmt::format("<tr{}><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        set ? " class=\"set\"" : "", html_text(now[k].name),
                        value.empty() ? "–" : html_text(value), html_text(now[k].help));
  }
  return text;
}

std::string parameter_table(const std::string& rows) {
  return "<div class=\"scroll\"><table class=\"parameters\">\n" + rows + "</table></div>\n";
}

/// Those that differ from the usual ones, and all on request.
std::string parameters_html(const Call& call) {
  if (call.now.empty()) return "";
  const std::string set = parameter_rows(call.now, call.usual, false);
  return "<h2>Parameters</h2>\n<div class=\"card\">" + (set.empty() ? "" : parameter_table(set)) +
         fmt::format("<details><summary>{}</summary>\n",
                     set.empty() ? "All have their usual values" : "All parameters") +
         parameter_table(parameter_rows(call.now, call.usual, true)) + "</details></div>\n";
}

std::string body(const Result& answer, const Call& call, const std::filesystem::path& figures,
                 std::span<const report::Format> formats) {
  Page page = answer.page ? answer.page() : Page{};
  if (!answer.page) page.tiles = answer.tiles;
  std::string text = "<h1>" + html_markup(answer.headline) + "</h1>\n" + tiles_html(page.tiles);
  for (const std::string& words : page.warnings) text += card_html("warning", html_markup(words));
  if (!answer.page && !answer.not_delivered.empty())
    text += card_html("warning", html_text(answer.not_delivered));
  for (const std::string& remark : answer.remarks) text += card_html("remark", html_text(remark));
  text +=
      pictures_html(page, answer.draw ? draw_figures(answer.draw(), figures, formats) : Drawn{});
  for (const Table& table : answer.tables)
    if (!table.only_data) text += table_html(table);
  text += sections_html(page.sections) + values_html(answer);
  text += "<h2>Repeat it</h2>\n<pre class=\"wrap\">" +
          html_text(call.again.empty() ? call.command() : call.again) + "</pre>\n";
  text += sections_html(page.closing) + parameters_html(call);
  return text;
}

/// Modules as one script: what they import from each other stands in it already, and lines that are
/// only comments (types, mostly) are for those who read the source.
std::string module_text(std::string_view text) {
  std::string result;
  bool comment = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = text.substr(at, end - at);
    const std::string_view words =
        line.substr(std::min(line.find_first_not_of(' '), line.size() - 1));
    const bool opens = words.starts_with("/**"), closes = words.ends_with("*/\n");
    at = end;
    if (comment || (opens && (closes || words.find("*/") == words.npos)))
      comment = !closes;
    else if (!words.starts_with("//") && !line.starts_with("import "))
      result += line;
  }
  return result;
}

std::string head(std::string_view title, bool images) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; img-src {}; base-uri 'none'; form-action "
      "'none'\">\n<title>Attractor: {}</title>\n<style>\n{}</style>\n</head>\n",
      images ? "'self' file: data:" : "data:", html_text(title), kPageCss);
}

}  // namespace

std::string scene_element(const report::Scene& scene) {
  return fmt::format(
      "<div id=\"viewer\" class=\"card viewer\"><noscript><p class=\"note\">The moving picture "
      "needs JavaScript.</p></noscript></div>\n<script type=\"application/json\" "
      "id=\"scene\">{}</script>\n",
      report::scene_json(scene));
}

std::string page_script() {
  return "<script type=\"module\">\n" + module_text(kViewerJs) + module_text(kFiguresJs) +
         R"js(
const data = document.getElementById('scene'), box = document.getElementById('viewer');
attach(document);
if (data && box) {
  const scene = JSON.parse(data.textContent ?? ''), loop = document.body.classList.contains('film');
  link(document, mount(box, scene, {loop}), scene.clocks);
}
</script>
)js";
}

std::string page_document(std::string_view title, const std::string& body,
                          const std::string& footer, bool images) {
  return head(title, images) + "<body>\n<main>\n" + body + "<footer>Attractor " +
         html_text(kVersion) + footer + "</footer>\n</main>\n</body>\n</html>\n";
}

std::string scene_document(const report::Scene& scene) {
  return head(scene.title, false) + "<body class=\"film\">\n" + scene_element(scene) +
         page_script() + "</body>\n</html>\n";
}

void write_page(const Result& answer, const Call& call, const std::filesystem::path& directory,
                const PageOptions& options) {
  make_directory(directory);
  const std::string text = body(answer, call, directory / "figures", options.formats);
  write_file(directory / "index.html",
             page_document(answer.title, text + page_script(),
                           html_text(answer.footer) +
                               ". All numbers: <a href=\"summary.json\">summary.json</a>, "
                               "<a href=\"result.h5\">result.h5</a>."));
}

void write_result(const Result& answer, const Call& call, double wall_seconds,
                  const std::filesystem::path& directory, const PageOptions& options) {
  make_directory(directory);
  write_arrays(answer, call, directory / "result.h5");
  if (options.page) write_page(answer, call, directory, options);
  write_file(directory / "summary.json", summary(answer, call, wall_seconds).dump(2) + "\n");
}

}  // namespace attractor::lab
