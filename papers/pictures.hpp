// Lines, points and pages of figures in few words.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "papers/entry.hpp"

namespace attractor::papers {

/// Without points yet.
report::Series line(std::string title, report::Colour colour, double width = 2.2,
                    bool dashed = false);
report::Series line(std::string title, report::Colour colour, std::vector<double> x,
                    std::vector<double> y, bool dashed = false);
report::Series dots(std::string title, report::Colour colour, double size = 3.5);
/// The first two coordinates of every token.
report::Series scatter(std::string title, std::span<const double> tokens, std::size_t dim,
                       report::Colour colour, double size = 3);

/// Two columns of panels.
PageFigure two_columns(std::string id, std::vector<report::Panel> panels, std::string caption,
                       double height = 420);
/// Up to three columns of panels.
PageFigure picture(std::string id, std::string title, std::vector<report::Panel> panels,
                   std::string caption);
/// Panels side by side, with room for their legends.
PageFigure figure_of(std::string id, std::vector<report::Panel> panels, std::string caption,
                     double height = 400);

}  // namespace attractor::papers
