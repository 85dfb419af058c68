// What a page shows beside tables and figures, as data: tiles, warnings, a moving picture,
// sections. Words and HTML only; drawing/page_file.hpp lays it out and writes it. Text is markup of
// figures (report/markup.hpp) unless it says HTML or plain.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attractor/lab/words.hpp"
#include "attractor/report/figure.hpp"
#include "attractor/report/scene.hpp"

namespace attractor::lab {

// Figures are made in every command.
using report::add_point;
using report::Axis;
using report::Colour;
using report::curve;
using report::Guide;
using report::Heat;
using report::Mark;
using report::Panel;
using report::Scale;
using report::Series;

struct PageFigure {
  report::Figure figure;
  std::string caption;  // one or two sentences: how to read it
  bool wide = false;    // takes the whole width of a page
  bool beside = false;  // stands beside the moving picture of the page
};

/// Widths of figures that stand beside another or alone, and height of a panel: pixels.
inline constexpr double kHalf = 530, kWide = 1100, kPlot = 300;
inline constexpr double kSquare = 520;  // height of a panel whose axes have one scale

/// One panel, of half the width.
PageFigure plot(std::string id, std::string title, Panel panel, std::string caption);
PageFigure plot(std::string id, std::string title, Axis x, Axis y, std::vector<Series> series,
                std::string caption);

/// A number that matters: a page has at most six of them.
struct Tile {
  std::string name;  // plain
  std::string value;
  std::string more;  // what it is or what to hold it against, in a few words
};
inline constexpr std::size_t kMostTiles = 6;

struct Section {
  std::string heading, html;  // heading: plain
};

struct Page {
  std::vector<Tile> tiles{};
  std::vector<std::string> warnings{};   // what must not be overlooked
  std::optional<report::Scene> scene{};  // to look at and to play with
  std::string scene_note{};              // above it
  std::vector<Section> sections{};       // after the figures
  std::vector<Section> closing{};        // after the command that repeats the run
};

/// HTML of cells in markup, the first row being the head. marked: a row that stands out.
std::string html_table(const std::vector<std::vector<std::string>>& rows, std::size_t marked = 0);
/// HTML of a remark in small letters.
std::string html_note(const std::string& markup);
/// HTML of paragraphs on a card.
std::string html_card(const std::vector<std::string>& paragraphs);
/// How to load result.h5.
Section in_python(const std::string& code);

}  // namespace attractor::lab
