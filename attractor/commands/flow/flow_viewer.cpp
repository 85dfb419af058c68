#include "attractor/commands/flow/flow_viewer.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attractor/commands/flow/viewer_js.hpp"
#include "attractor/lab/json.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/report/html.hpp"

namespace attractor::lab {
namespace {

constexpr std::size_t kMostFrames = 100;

Json frame_json(const std::vector<double>& xyz) {
  Json frame = Json::array();
  for (const double value : xyz) {
    if (std::isfinite(value))
      frame.push_back(std::lround(1000 * value));
    else
      frame.push_back(nullptr);
  }
  return frame;
}

std::string label(const FlowRecord& record, const FlowView& view, std::size_t k) {
  std::string text = "t = " + time_text(record.snapshots[k].time);
  const std::size_t count = clusters_of(record.snapshots[k]);
  if (count > 0) text += fmt::format(", {} cluster{}", count, count == 1 ? "" : "s");
  if (!view.on_sphere) text += ", |x| ≤ " + power_text(std::log10(view.unit[k]));
  return report::html_markup(text);
}

}  // namespace

std::string flow_viewer(const FlowRecord& record, const FlowView& view) {
  const std::vector<std::size_t> frames = telling_snapshots(view, kMostFrames);
  Json data;
  data["surface"] = view.surface;
  data["outline"] = view.on_sphere;
  data["turnable"] = view.turnable;
  data["round"] = view.on_sphere && record.dim <= 3;
  if (view.surface)
    for (const double angle : view.camera) data["camera"].push_back(angle);
  for (const report::Colour colour : view.palette)
    data["palette"].push_back(fmt::format("#{:06x}", colour));
  for (const std::uint32_t token : view.shown) data["group"].push_back(view.group[token]);
  std::size_t start = 0;
  for (const std::size_t k : frames) {
    if (k == view.reference) start = data["frames"].size();
    data["labels"].push_back(label(record, view, k));
    data["frames"].push_back(frame_json(view.xyz[k]));
  }
  std::string json = data.dump_replacing();
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos; at += 6)
    json.replace(at, 1, "\\u003c");  // nothing in the data can end the script element
  std::string note = view.turnable ? "Drag to turn. " : "";
  if (record.dim > 3) note += "Three principal components. ";
  if (view.shown.size() < record.tokens)
    note += fmt::format("{} of {} tokens are shown. ", view.shown.size(), record.tokens);
  note += "Motion between snapshots is interpolated.";
  return fmt::format(
      "<div id=\"viewer\" class=\"card\"><canvas role=\"img\" aria-label=\"Tokens, interactive\" "
      "class=\"{}\"></canvas>\n<div class=\"controls\"><button type=\"button\" "
      "aria-label=\"Play\">▶</button><input type=\"range\" min=\"0\" max=\"{}\" step=\"any\" "
      "value=\"{}\" aria-label=\"Snapshot\"></div>\n<p class=\"when\"></p>"
      "<p class=\"note\">{}</p><noscript><p class=\"note\">The viewer needs JavaScript.</p>"
      "</noscript></div>\n<script type=\"application/json\" id=\"viewer-data\">{}</script>\n"
      "<script>\n{}</script>\n",
      view.turnable ? "turnable" : "", frames.size() - 1, start, report::html_text(note), json,
      kViewerJs);
}

}  // namespace attractor::lab
