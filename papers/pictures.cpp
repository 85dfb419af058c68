#include "papers/pictures.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attractor::papers {

using report::Series;

Series line(std::string title, report::Colour colour, double width, bool dashed) {
  Series series = report::curve(colour, width);
  series.title = std::move(title);
  series.dashed = dashed;
  return series;
}

Series line(std::string title, report::Colour colour, std::vector<double> x, std::vector<double> y,
            bool dashed) {
  return {.title = std::move(title),
          .x = std::move(x),
          .y = std::move(y),
          .colour = colour,
          .width = dashed ? 1.6 : 2.2,
          .dashed = dashed};
}

Series dots(std::string title, report::Colour colour, double size) {
  Series series{.title = std::move(title), .mark = report::Mark::points};
  series.colour = colour;
  series.size = size;
  return series;
}

Series scatter(std::string title, std::span<const double> tokens, std::size_t dim,
               report::Colour colour, double size) {
  Series series = dots(std::move(title), colour, size);
  for (std::size_t i = 0; i < tokens.size(); i += dim)
    report::add_point(series, tokens[i], tokens[i + 1]);
  return series;
}

PageFigure two_columns(std::string id, std::vector<report::Panel> panels, std::string caption,
                       double height) {
  return {{.id = std::move(id),
           .panels = std::move(panels),
           .columns = 2,
           .width = 1120,
           .height = height},
          std::move(caption),
          true};
}

PageFigure picture(std::string id, std::string title, std::vector<report::Panel> panels,
                   std::string caption) {
  PageFigure result{.caption = std::move(caption), .wide = panels.size() > 1};
  result.figure.id = std::move(id);
  // Above three columns it would meet the title of the middle one.
  if (panels.size() < 3) result.figure.title = std::move(title);
  result.figure.columns = std::min<std::size_t>(3, panels.size());
  const double rows = std::ceil(static_cast<double>(panels.size()) / 3);
  result.figure.width = panels.size() == 1 ? 640 : panels.size() == 2 ? 980 : 1180;
  result.figure.height = 440 * rows;
  result.figure.panels = std::move(panels);
  return result;
}

PageFigure figure_of(std::string id, std::vector<report::Panel> panels, std::string caption,
                     double height) {
  std::ptrdiff_t entries = 0;
  for (const report::Panel& panel : panels)
    entries = std::max(entries, std::count_if(panel.series.begin(), panel.series.end(),
                                              [](const Series& s) { return !s.title.empty(); }));
  PageFigure result{.figure = {.id = std::move(id)}, .caption = std::move(caption)};
  result.wide = panels.size() > 1;
  result.figure.columns = panels.size();
  result.figure.width = panels.size() > 1 ? 1120 : 620;
  result.figure.height = height + 17 * static_cast<double>(entries);
  result.figure.panels = std::move(panels);
  return result;
}

}  // namespace attractor::papers
