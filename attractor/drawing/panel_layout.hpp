// Where the parts of a panel stand: its box, ticks, names and legend. In pixels; no SVG.
#pragma once

#include <string>
#include <vector>

#include "attractor/drawing/svg_marks.hpp"
#include "attractor/drawing/ticks.hpp"
#include "attractor/report/figure.hpp"

namespace attractor::report {

inline constexpr double kTickFont = 12, kLabelFont = 13;
inline constexpr double kTitleLine = 19, kNameLine = 17, kLegendLine = 15;
inline constexpr double kSample = 16;      // width of a legend's sample
inline constexpr double kLeader = 18;      // from the box to names beside it
inline constexpr double kScaleWidth = 12;  // of a colour scale

struct LegendEntry {
  std::size_t series = 0;
  std::vector<std::string> lines{};
  double middle = 0, left = 0;  // in the coordinates of the box
  double end = kNan;            // beside: height of the end of its curve at the right edge, if any
};

struct PanelLayout {
  double left = 0, top = 0, height = 0;  // corner of the box; of the whole panel
  PlotBox box{};
  std::vector<std::string> title{}, y_name{}, x_name{}, scale_name{};
  double scale_name_top = 0;
  double x_tick_height = 0;
  std::vector<Tick> x_ticks{}, y_ticks{}, scale_ticks{};
  std::vector<LegendEntry> legend{};
  bool beside = false;  // the legend is
  double room = 0;      // left and right of the box: labels of ticks may reach so far

  /// The middle of a tick's label, moved so that it stays in the panel.
  double x_label_middle(const Tick& tick) const;
};

/// The box begins at least_top or below.
PanelLayout panel_layout(const Panel& panel, double width, double height, double least_top = 0);

}  // namespace attractor::report
