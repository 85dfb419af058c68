#include "attractor/commands/page.hpp"

#include <fmt/format.h>

#include <utility>

#include "attractor/report/markup.hpp"

namespace attractor::lab {

using report::html_markup;

PageFigure plot(std::string id, std::string title, report::Panel panel, std::string caption) {
  PageFigure result{.figure = {.id = std::move(id), .title = std::move(title)},
                    .caption = std::move(caption)};
  result.figure.width = kHalf;
  result.figure.height = kPlot;
  result.figure.panels = {std::move(panel)};
  return result;
}

PageFigure plot(std::string id, std::string title, report::Axis x, report::Axis y,
                std::vector<Series> series, std::string caption) {
  return plot(std::move(id), std::move(title),
              {.x = std::move(x), .y = std::move(y), .series = std::move(series)},
              std::move(caption));
}

std::string html_table(const std::vector<std::vector<std::string>>& rows, std::size_t marked) {
  std::string text = "<div class=\"card scroll\"><table class=\"numbers\">\n";
  for (std::size_t k = 0; k < rows.size(); ++k) {
    text += k > 0 && k == marked ? "<tr class=\"set\">" : "<tr>";
    for (const std::string& cell : rows[k])
      text += fmt::format("<{0}>{1}</{0}>", k == 0 ? "th" : "td", html_markup(cell));
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string html_note(const std::string& markup) {
  return "<p class=\"note left\">" + html_markup(markup) + "</p>\n";
}

std::string html_card(const std::vector<std::string>& paragraphs) {
  std::string text = "<div class=\"card text\">";
  for (const std::string& words : paragraphs) text += "<p>" + html_markup(words) + "</p>\n";
  return text + "</div>\n";
}

Section in_python(const std::string& code) {
  return {"Load in Python", "<pre>" + report::html_text(code) + "</pre>\n"};
}

}  // namespace attractor::lab
