// What a page shows of a result, as JSON, for who lays it out and draws it by other means than
// drawing/: a notebook, a browser.
//
//   {"title": plain, "headline": HTML, "tiles": [[name, value, more], ...] in HTML, "figures":
//   [...]}
//
// Figures have the names of report/figure.hpp; numbers that are not finite are null, colours
// "#rrggbb".
#pragma once

#include "attractor/commands/result.hpp"

namespace attractor::lab {

Json figure_json(const PageFigure& figure);
Json view_json(const Result& result);

}  // namespace attractor::lab
