// Static figures, described as data (drawing/figure_file.hpp draws them). A figure is a grid of
// panels, a panel a list of series; values that are not finite, or not positive on a logarithmic
// axis, are left out and interrupt a line.
//
// Text is markup (report/markup.hpp): literal, except that ^{...} raises and _{...} lowers
// ("10^{12}"). Colours are those of Okabe and Ito (2008), which colour-blind readers can tell
// apart; a page has a lighter form of each of the named ones for dark screens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attractor/base/numbers.hpp"

namespace attractor::report {

using Colour = std::uint32_t;  // 0xRRGGBB

inline constexpr Colour kBlue = 0x0072b2, kOrange = 0xe69f00, kGreen = 0x009e73,
                        kVermillion = 0xd55e00, kPurple = 0xcc79a7, kSky = 0x56b4e9,
                        kYellow = 0xf0e442, kGrey = 0x8a8f98, kInk = 0x22262b;
/// The sheet itself, and lines on it that must not be in the way: nearer and farther ones.
inline constexpr Colour kPaper = 0xffffff, kFront = 0xd3d9e0, kBack = 0xeceff3;
/// Without yellow, which hardly shows on white.
inline constexpr std::array<Colour, 6> kPalette = {kBlue,       kOrange, kGreen,
                                                   kVermillion, kPurple, kSky};

enum class Mark {
  lines,
  points,
  steps,  // x is where a value begins
  boxes,  // from zero; on a logarithmic axis from its lower end
  area,   // a closed outline, filled
};

struct Series {
  std::string title{};  // in the legend; empty: not listed
  Mark mark = Mark::lines;
  std::vector<double> x{}, y{};  // equally long
  Colour colour = kBlue;
  double width = 2;  // of lines, in pixels
  double size = 3;   // radius of points, in pixels
  bool dashed = false;
  std::vector<double> sizes{};    // one radius for each point, if given
  std::vector<Colour> colours{};  // one colour for each point, if given
  double opacity = 1;
  double rim = 0;  // width of a line in the colour of the paper around every point
};

/// An empty line in this colour; points are added one by one.
Series curve(Colour colour, double width);
void add_point(Series& series, double x, double y);

/// A straight line across the panel, or a tick of the given share of its length.
struct Guide {
  double at = 0;
  Colour colour = kGrey;
  double width = 1;
  double length = 1;
  bool dashed = false;
  std::string label{};  // beside the line, inside the panel
};

enum class Scale {
  linear,
  log,    // values are drawn at their logarithm
  power,  // values are exponents already: 12 is labelled 10^{12}
};

struct Axis {
  std::string label{};
  Scale scale = Scale::linear;
  double low = kNan;  // NaN: from the data
  double high = kNan;
  bool ticks = true;
  bool whole = false;                // values are whole numbers: no tick stands between two
  std::vector<std::string> names{};  // of the values 0, 1, ...: ticks in words
  /// The moving picture of the page has moments on this axis (report/scene.hpp): their name there.
  std::string clock{};
};

/// Values on a grid, as colours; drawn below the series. Grid lines must be evenly spaced on the
/// panel's axes.
struct Heat {
  enum class Ramp {
    viridis,  // from dark blue over green to yellow, also in grey from dark to light
    fade,     // from nothing to blue
  };
  std::vector<double> x, y;   // centres of columns and rows, ascending; one alone fills its axis
  std::vector<double> value;  // value[iy * x.size() + ix]; not finite: left empty
  std::string label;          // of the colour scale; empty: no scale is drawn
  double low = 0, high = 1;   // ends of the colour scale
  Ramp ramp = Ramp::viridis;
};

struct Panel {
  std::string title{};
  Axis x{}, y{};
  std::optional<Heat> heat{};
  std::vector<Series> series{};
  std::vector<Guide> vertical{}, horizontal{};
  bool bare = false;         // no frame, ticks or grid
  bool equal_scale = false;  // one unit is equally long on both axes
};

struct Figure {
  std::string id = "figure";  // of the elements in a page, so that it can hold several figures
  std::string title{};
  std::vector<Panel> panels{};
  std::size_t columns = 1;
  double width = 640, height = 400;  // pixels; legends make it higher
};

}  // namespace attractor::report
