#include "attractor/drawing/page_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <future>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/version.hpp"
#include "attractor/drawing/figure_file.hpp"
#include "attractor/drawing/page_css.hpp"
#include "attractor/files/result_file.hpp"
#include "attractor/report/html.hpp"

namespace attractor::lab {
namespace {

using report::html_markup;
using report::html_text;

// ---- Figures.

/// The SVG of a file as an element of a page, whose background shows through.
std::string inlined(const std::string& svg) {
  std::string element = svg.substr(std::min(svg.find("<svg"), svg.size()));
  const std::size_t sheet = element.find("<rect x=\"0\" y=\"0\"");
  if (sheet != std::string::npos) element.erase(sheet, element.find("/>", sheet) + 2 - sheet);
  return element;
}

/// Writes NAME.{svg,pdf,png} into the directory; HTML.
std::string drawn(const PageFigure& f, const std::filesystem::path& directory) {
  constexpr report::Format kOther[] = {report::Format::pdf, report::Format::png};
  const std::string picture = report::svg(f.figure);
  const std::string& id = f.figure.id;
  write_file(directory / (id + ".svg"), picture);
  report::write_figure(f.figure, directory / id, kOther);
  std::string links;
  for (const std::string_view kind : {"svg", "pdf", "png"})
    links += fmt::format("<a href=\"figures/{}.{}\">{}</a>", id, kind, kind);
  return fmt::format(
      "<figure class=\"{}\" id=\"figure-{}\">{}<figcaption>{} <span "
      "class=\"files\">{}</span></figcaption></figure>\n",
      f.wide ? "wide" : "half", id, inlined(picture), html_markup(f.caption), links);
}

struct Drawn {
  std::string beside{}, rest{};  // HTML
  std::string complaint{};       // why figures are missing
};

/// Wide figures as they come, the others in pairs.
Drawn lay_out(const std::vector<PageFigure>& figures, const std::vector<std::string>& html) {
  Drawn page;
  std::string pair;
  std::size_t waiting = 0;
  const auto flush = [&] {
    if (!pair.empty()) page.rest += "<div class=\"pair\">\n" + std::exchange(pair, "") + "</div>\n";
    waiting = 0;
  };
  for (std::size_t k = 0; k < html.size(); ++k) {
    if (figures[k].wide) flush();
    (figures[k].beside ? page.beside : figures[k].wide ? page.rest : pair) += html[k];
    if (!figures[k].beside && !figures[k].wide && ++waiting == 2) flush();
  }
  flush();
  return page;
}

Drawn draw_figures(const std::vector<PageFigure>& figures, const std::filesystem::path& directory) {
  if (!report::figures_available())
    return {.complaint =
                "Figures are missing: gnuplot was not found. Install gnuplot-nox and run "
                "again."};
  make_directory(directory);
  // gnuplot takes most of the time a small run needs: one process a figure, side by side.
  std::vector<std::future<std::string>> pending;
  for (const PageFigure& figure : figures)
    pending.push_back(std::async(std::launch::async, drawn, std::cref(figure), directory));
  std::vector<std::string> html;
  try {
    for (std::future<std::string>& figure : pending) html.push_back(figure.get());
  } catch (const Error& error) {  // a broken gnuplot must not cost the rest of the page
    return {.complaint = fmt::format("Figures are missing: {}.", error.what())};
  }
  return lay_out(figures, html);
}

// ---- Parts of a page.

std::string warning_html(const std::string& html) {
  return "<div class=\"card text warning\"><p>" + html + "</p></div>\n";
}

std::string tiles_html(const Page& page) {
  std::string text = fmt::format("<dl class=\"tiles{}\">\n", page.roomy ? " roomy" : "");
  for (const Tile& t : page.tiles)
    text += fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}{}</dd></div>\n", html_text(t.name),
                        html_markup(t.value),
                        t.more.empty() ? "" : "<small>" + html_markup(t.more) + "</small>");
  return text + "</dl>\n";
}

/// The picture with the figures beside it, then the others.
std::string pictures_html(const Page& page, const Drawn& figures) {
  const std::string missing = figures.complaint.empty() ? "" : html_card({figures.complaint});
  std::string text;
  if (!page.picture_note.empty()) text += html_note(page.picture_note);
  if (!page.picture.empty())
    text += "<section class=\"hero\">\n" + page.picture + "<div class=\"stack\">\n" +
            (missing.empty() ? figures.beside : missing) + "</div>\n</section>\n";
  const std::string rest =
      page.picture.empty() ? figures.beside + figures.rest + missing : figures.rest;
  return rest.empty() ? text : text + "<section>\n" + rest + "</section>\n";
}

std::string sections_html(const std::vector<Section>& sections) {
  std::string text;
  for (const Section& s : sections) text += "<h2>" + html_text(s.heading) + "</h2>\n" + s.html;
  return text;
}

std::string table_html(const Table& table) {
  return "<h2>" + html_markup(table.title) + "</h2>\n" + html_table(cells(table));
}

/// Name, value and help; those that differ from the usual ones stand out.
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

std::string body(const Result& answer, const Call& call, const std::filesystem::path& figures) {
  Page page = answer.page ? answer.page() : Page{};
  if (!answer.page) page.tiles = tiles(answer);
  std::string text = "<h1>" + html_markup(answer.headline) + "</h1>\n" + tiles_html(page);
  for (const std::string& words : page.warnings) text += warning_html(html_markup(words));
  for (const std::string& remark : answer.remarks) text += warning_html(html_text(remark));
  if (!answer.page && !answer.not_delivered.empty())
    text += warning_html(html_text(answer.not_delivered));
  text += pictures_html(page, answer.draw ? draw_figures(answer.draw(), figures) : Drawn{});
  for (const Table& table : answer.tables)
    if (!table.only_data) text += table_html(table);
  text += sections_html(page.sections);
  text += "<h2>Repeat it</h2>\n<pre class=\"wrap\">" + html_text(call.command()) + "</pre>\n";
  text += sections_html(page.closing);
  if (!call.now.empty()) text += "<h2>Parameters</h2>\n" + parameter_table(call.now, call.usual);
  return text;
}

}  // namespace

std::string page_document(std::string_view title, const std::string& body,
                          const std::string& footer) {
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
         "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Attractor: " +
         html_text(title) + "</title>\n<style>\n" + std::string(kPageCss) +
         "</style>\n</head>\n<body>\n<main>\n" + body + "<footer>Attractor " + html_text(kVersion) +
         footer + "</footer>\n</main>\n</body>\n</html>\n";
}

void write_page(const Result& answer, const Call& call, const std::filesystem::path& directory) {
  make_directory(directory);
  write_file(directory / "index.html",
             page_document(answer.title, body(answer, call, directory / "figures"),
                           html_text(answer.footer) +
                               ". All numbers: <a href=\"summary.json\">summary.json</a>, "
                               "<a href=\"result.h5\">result.h5</a>."));
}

void write_result(const Result& answer, const Call& call, double wall_seconds,
                  const std::filesystem::path& directory, bool with_page) {
  make_directory(directory);
  write_arrays(answer, call, directory / "result.h5");
  if (with_page) write_page(answer, call, directory);
  write_file(directory / "summary.json", summary(answer, call, wall_seconds).dump(2) + "\n");
}

}  // namespace attractor::lab
