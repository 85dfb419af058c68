#include "attractor/drawing/svg_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attractor/drawing/text_width.hpp"

namespace attractor::report {
namespace {

// Variables of page.css.
constexpr std::array<std::pair<Colour, const char*>, 12> kNames = {{{kBlue, "blue"},
                                                                    {kOrange, "orange"},
                                                                    {kGreen, "green"},
                                                                    {kVermillion, "vermillion"},
                                                                    {kPurple, "purple"},
                                                                    {kSky, "sky"},
                                                                    {kYellow, "yellow"},
                                                                    {kGrey, "grey"},
                                                                    {kInk, "ink"},
                                                                    {kPaper, "card"},
                                                                    {kFront, "front"},
                                                                    {kBack, "back"}}};

std::string either(Sheet sheet, const char* file, const char* page) {
  return sheet == Sheet::page ? page : file;
}

}  // namespace

std::string ink(Colour colour, Sheet sheet) {
  if (sheet == Sheet::page)
    for (const auto& [known, name] : kNames)
      if (known == colour) return fmt::format("var(--{})", name);
  return fmt::format("#{:06x}", colour & 0xffffffU);
}

std::string text_ink(Sheet sheet) { return either(sheet, "#22262b", "var(--ink)"); }
std::string soft_ink(Sheet sheet) { return either(sheet, "#4b5563", "var(--soft)"); }
std::string line_ink(Sheet sheet) { return either(sheet, "#6b7280", "var(--line)"); }
std::string grid_ink(Sheet sheet) { return either(sheet, "#e5e7eb", "var(--edge)"); }
std::string paper_ink(Sheet sheet) { return either(sheet, "#ffffff", "var(--card)"); }

std::string px(double value) {
  const double tenths = std::round(10 * std::clamp(value, -2e5, 2e5));
  const auto whole = static_cast<long>(tenths);
  if (whole % 10 == 0) return fmt::format("{}", whole / 10);
  return fmt::format("{}{}.{}", whole < 0 ? "-" : "", std::abs(whole) / 10, std::abs(whole) % 10);
}

std::string text_element(double x, double y, std::string_view markup, const TextStyle& style,
                         Sheet sheet) {
  return fmt::format(
      "<text x=\"{}\" y=\"{}\" font-size=\"{:.4g}\" fill=\"{}\"{}{}{}>{}</text>\n", px(x), px(y),
      style.size, style.fill.empty() ? text_ink(sheet) : style.fill,
      std::string_view(style.anchor) == "start" ? std::string()
                                                : fmt::format(" text-anchor=\"{}\"", style.anchor),
      style.bold ? " font-weight=\"650\"" : "",
      style.halo ? fmt::format(" stroke=\"{}\" stroke-width=\"3.5\" stroke-linejoin=\"round\" "
                               "paint-order=\"stroke\"",
                               paper_ink(sheet))
                 : std::string(),
      svg_markup(markup, style.size));
}

}  // namespace attractor::report
