#include "attractor/drawing/figure_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/named.hpp"
#include "attractor/drawing/panel_layout.hpp"
#include "attractor/drawing/process.hpp"
#include "attractor/drawing/svg_panel.hpp"
#include "attractor/drawing/text_width.hpp"
#include "attractor/report/markup.hpp"

namespace attractor::report {
namespace {

namespace fs = std::filesystem;

constexpr double kPhone = 356, kDesk = 400;  // width on a phone; wider panels are drawn twice
constexpr double kTwoAbreast = 300;          // pictures so small stand two abreast there
constexpr double kHeading = 15, kHeadingLine = 22;

void check_figure(const Figure& figure) {
  if (figure.panels.empty() || figure.columns == 0 || !(figure.width >= 50 && figure.height >= 50))
    throw Error(
        fmt::format("figure '{}' needs panels, columns and at least 50 x 50 pixels", figure.id));
  const auto identifier = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (figure.id.empty() || !std::all_of(figure.id.begin(), figure.id.end(), identifier))
    throw Error(fmt::format("figure id '{}' must consist of a-z, 0-9, - and _", figure.id));
}

struct Cell {
  double width, height;
};

Cell cell_of(const Figure& figure) {
  const std::size_t rows = (figure.panels.size() + figure.columns - 1) / figure.columns;
  return {figure.width / static_cast<double>(figure.columns),
          figure.height / static_cast<double>(rows)};
}

/// Boxes of panels in a row begin at one height.
double common_top(const Figure& figure, double width, double height) {
  double top = 0;
  if (figure.columns > 1)
    for (const Panel& panel : figure.panels)
      top = std::max(top, panel_layout(panel, width, height).top);
  return top;
}

std::string panel_element(const Figure& figure, const Panel& panel, double width, double height,
                          std::string_view kind, double top) {
  const DrawnPanel drawn = draw_panel(panel, width, height, Sheet::page, top);
  return fmt::format(
      "<svg class=\"panel {}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
      kind, px(width), px(drawn.height),
      html_text(panel.title.empty() ? figure.title : panel.title), drawn.elements);
}

/// By a program that turns SVG into other formats.
std::string converted(const std::string& picture, Format format) {
  std::vector<std::string> arguments = {"--format", format == Format::pdf ? "pdf" : "png"};
  if (format == Format::png) arguments.insert(arguments.end(), {"--zoom", "2"});
  ProgramResult result = run_program("rsvg-convert", arguments, picture);
  if (!result.succeeded || result.output.empty())
    throw Error(fmt::format("rsvg-convert failed: {}",
                            result.complaint.substr(0, result.complaint.find('\n'))));
  const std::size_t date = result.output.find("/CreationDate (D:");
  if (format == Format::pdf && date != std::string::npos && date + 31 < result.output.size())
    result.output.replace(date + 17, 14, "20000101000000");  // as long as before: offsets hold
  return std::move(result.output);
}

}  // namespace

std::span<const std::string_view> names(Format) {
  static constexpr std::string_view kNames[] = {"svg", "pdf", "png"};
  return kNames;
}

std::string svg(const Figure& figure) {
  check_figure(figure);
  const Cell cell = cell_of(figure);
  std::string text;
  double y = 0;
  if (!figure.title.empty()) {
    for (const std::string& line : wrapped(figure.title, figure.width - 20, 1.08 * kHeading))
      text += text_element(figure.width / 2, (y += kHeadingLine), line,
                           {.size = kHeading, .anchor = "middle", .bold = true}, Sheet::file);
    y += 8;
  }
  const double top = common_top(figure, cell.width - 16, cell.height - 12);
  for (std::size_t p = 0; p < figure.panels.size();) {
    double tallest = 0;
    for (std::size_t c = 0; c < figure.columns && p < figure.panels.size(); ++c, ++p) {
      const DrawnPanel drawn =
          draw_panel(figure.panels[p], cell.width - 16, cell.height - 12, Sheet::file, top);
      text += fmt::format("<g transform=\"translate({},{})\">\n{}</g>\n",
                          px(cell.width * static_cast<double>(c) + 8), px(y + 6), drawn.elements);
      tallest = std::max(tallest, drawn.height + 12);
    }
    y += tallest;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"{2}\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{3}</svg>\n",
      px(std::ceil(figure.width)), px(std::ceil(y)), kFileFonts, text);
}

std::string page_panels(const Figure& figure) {
  check_figure(figure);
  const Cell cell = cell_of(figure);
  const bool both = cell.width > kDesk;
  const double top = common_top(figure, cell.width, cell.height);
  std::string text = fmt::format("<div class=\"panels {}\" style=\"--columns:{}\">\n",
                                 both                                                 ? "large"
                                 : figure.panels[0].bare && cell.width <= kTwoAbreast ? "small"
                                                                                      : "framed",
                                 figure.columns);
  for (const Panel& panel : figure.panels) {
    text += panel_element(figure, panel, cell.width, cell.height, both ? "desk" : "any", top);
    if (!both) continue;
    const double share = panel.equal_scale || panel.heat ? kPhone / cell.width : 1;
    text += panel_element(figure, panel, kPhone, std::clamp(share * cell.height, 240.0, 460.0),
                          "phone", 0);
  }
  return text + "</div>\n";
}

void require_formats(std::span<const Format> formats) {
  const bool other = std::any_of(formats.begin(), formats.end(),
                                 [](Format format) { return format != Format::svg; });
  if (other && !program_available("rsvg-convert"))
    throw Error(
        "figures as pdf or png need rsvg-convert, which is not on PATH; install librsvg2-bin, or "
        "take svg");
}

void write_figure(const Figure& figure, const fs::path& path, std::span<const Format> formats) {
  const std::string picture = svg(figure);
  for (const Format format : formats) {
    fs::path target = path;
    target += fmt::format(".{}", format);
    write_file(target, format == Format::svg ? picture : converted(picture, format));
  }
}

}  // namespace attractor::report
