#include "attractor/commands/flow/film.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/commands/flow/token_figure.hpp"
#include "attractor/lab/json.hpp"
#include "attractor/report/html.hpp"

namespace attractor::lab {
namespace {

constexpr std::size_t kMostTokens = 500;
constexpr double kSize = 480, kRadius = 200, kRest = 1;  // pixels, seconds

std::size_t stride_of(const FlowView& view) {
  return (view.shown.size() + kMostTokens - 1) / kMostTokens;
}

/// "a;b;c" of one coordinate of a token over all frames, the last one held.
template <class Value>
std::string values(const FlowView& view, const Value& value) {
  std::string text;
  for (const std::vector<double>& frame : view.xyz) text += fmt::format("{:.5g};", value(frame));
  return text + fmt::format("{:.5g}", value(view.xyz.back()));
}

/// Shares of the whole length at which frames stand; the end is held for kRest seconds.
std::string key_times(std::size_t frames, double seconds) {
  std::string text;
  const double whole = seconds + kRest;
  for (std::size_t k = 0; k < frames; ++k)
    text += fmt::format("{:.5g};", seconds / whole * static_cast<double>(k) /
                                       static_cast<double>(std::max<std::size_t>(1, frames - 1)));
  return text + "1";
}

std::string animate(const char* attribute, const std::string& list, const std::string& timing) {
  return fmt::format("<animate attributeName=\"{}\" values=\"{}\" {}/>", attribute, list, timing);
}

std::string token(const FlowView& view, std::size_t i, double radius, const std::string& timing) {
  const auto x = [i](const std::vector<double>& f) { return kSize / 2 + kRadius * f[3 * i]; };
  const auto y = [i](const std::vector<double>& f) { return kSize / 2 - kRadius * f[3 * i + 1]; };
  const auto shade = [i](const std::vector<double>& f) { return f[3 * i + 2] < 0 ? 0.3 : 0.9; };
  std::string text = fmt::format(
      "<circle r=\"{:.3g}\" fill=\"#{:06x}\" cx=\"{:.5g}\" cy=\"{:.5g}\" fill-opacity=\"{:.2g}\">",
      radius, view.palette[view.group[view.shown[i]]], x(view.xyz[0]), y(view.xyz[0]),
      view.surface ? shade(view.xyz[0]) : 0.9);
  text += animate("cx", values(view, x), timing) + animate("cy", values(view, y), timing);
  if (view.surface) text += animate("fill-opacity", values(view, shade), timing);
  return text + "</circle>\n";
}

/// The clock: one text for each frame, seen while that frame is.
std::string clock(const FlowRecord& record, const std::string& timing) {
  std::string text;
  const std::size_t frames = record.snapshots.size();
  for (std::size_t k = 0; k < frames; ++k) {
    std::string seen;
    for (std::size_t j = 0; j <= frames; ++j)
      seen += fmt::format("{}{}", j == 0 ? "" : ";", std::min(j, frames - 1) == k ? 1 : 0);
    text += fmt::format(
        "<text x=\"{0}\" y=\"{1}\" text-anchor=\"middle\" opacity=\"{2}\">t = {3}<animate "
        "attributeName=\"opacity\" values=\"{4}\" calcMode=\"discrete\" {5}/></text>\n",
        kSize / 2, kSize - 10, k == 0 ? 1 : 0,
        report::html_text(fmt::format("{:.4g}", record.snapshots[k].time.value())), seen, timing);
  }
  return text;
}

}  // namespace

std::string film_svg(const FlowRecord& record, const FlowView& view, double seconds) {
  const std::string timing =
      fmt::format("keyTimes=\"{}\" dur=\"{:.4g}s\" repeatCount=\"indefinite\"",
                  key_times(view.xyz.size(), seconds), seconds + kRest);
  const std::size_t stride = stride_of(view), drawn = view.shown.size() / stride;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {0}\" width=\"{0}\" "
      "height=\"{0}\" font-family=\"sans-serif\" font-size=\"16\" fill=\"#22262b\">\n"
      "<title>{1} tokens flowing through attention, dimension {2}</title>\n"
      "<rect width=\"{0}\" height=\"{0}\" fill=\"#ffffff\"/>\n",
      kSize, record.tokens, record.dim);
  if (view.on_sphere)
    text +=
        fmt::format("<circle cx=\"{0}\" cy=\"{0}\" r=\"{1}\" fill=\"none\" stroke=\"#9aa3af\"/>\n",
                    kSize / 2, kRadius);
  for (std::size_t i = 0; i < view.shown.size(); i += stride)
    text += token(view, i, drawn <= 100 ? 5 : 3.2, timing);
  return text + clock(record, timing) + "</svg>\n";
}

report::Figure film_frame(const FlowRecord& record, const FlowView& view, std::size_t snapshot) {
  report::Figure figure{.id = "frame", .title = ""};
  figure.panels.push_back(token_panel(record, view, snapshot, stride_of(view)));
  figure.width = figure.height = kSize;
  return figure;
}

}  // namespace attractor::lab
