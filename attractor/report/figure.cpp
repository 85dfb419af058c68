#include "attractor/report/figure.hpp"

namespace attractor::report {

Series curve(Colour colour, double width) {
  Series series;
  series.colour = colour;
  series.width = width;
  return series;
}

void add_point(Series& series, double x, double y) {
  series.x.push_back(x);
  series.y.push_back(y);
}

}  // namespace attractor::report
