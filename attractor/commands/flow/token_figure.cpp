#include "attractor/commands/flow/token_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/lab/words.hpp"
#include "attractor/report/scene_panel.hpp"

namespace attractor::lab {

PageFigure token_figure(const FlowRecord& record, const FlowView& view) {
  const std::vector<std::size_t> chosen = report::telling_moments(view.scene.xyz, 8);
  const std::size_t stride = (view.shown.size() + 999) / 1000;
  PageFigure result;
  result.wide = true;
  report::Figure& figure = result.figure;
  figure.id = "tokens";
  for (const std::size_t k : chosen) {
    Panel& panel =
        figure.panels.emplace_back(report::token_panel(view.scene, static_cast<double>(k), stride));
    panel.title = "t = " + time_text(record.snapshots[k].time);
    if (!view.in_space()) continue;
    panel.x.label.clear();  // the caption has them
    panel.y.label.clear();
  }
  figure.columns = chosen.size() <= 4 ? chosen.size() : (chosen.size() + 1) / 2;
  const std::size_t rows = (chosen.size() + figure.columns - 1) / figure.columns;
  figure.width = kWide;
  const double cell = std::min(320.0, kWide / static_cast<double>(figure.columns));
  figure.height = static_cast<double>(rows) * (cell + 26);
  result.caption = fmt::format("Tokens {}. ", view.caption);
  if (view.scene.palette.size() > 1)
    result.caption += fmt::format(
        "Colour: the {} a token is in at t = {}{}. ", view.in_space() ? "group" : "cluster",
        time_text(record.snapshots[view.reference].time),
        clusters_of(record.snapshots[view.reference]) > report::kPalette.size() && !view.in_space()
            ? " (colours repeat)"
            : "");
  result.caption += "Area: the number of tokens on the spot.";
  if (view.in_space())
    result.caption += fmt::format(" Each panel has its own scale; axes: {} and {}.",
                                  view.scene.axes[0], view.scene.axes[1]);
  const std::size_t step = view.shown.size() > 1 ? stride * (view.shown[1] - view.shown[0]) : 1;
  if (step > 1) result.caption += fmt::format(" One token in {} is drawn.", step);
  return result;
}

}  // namespace attractor::lab
