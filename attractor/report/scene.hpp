// A moving picture, described as data: what the viewer of a page plays (drawing/viewer.js) and what
// films are drawn of (drawing/film.hpp). It has moments, and lies in between by mixing neighbours.
// It shows either tokens that move, or a plane with dots that grow and lines that bend.
//
// Words are markup (report/markup.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attractor/report/figure.hpp"

namespace attractor::report {

struct TokenScene {
  enum class Shape {
    circle,  // the unit circle
    sphere,  // the unit sphere, with a front and a back, meridians and parallels
    ball,   // a sphere of higher dimension, projected: the distance from the centre is the arc sine
            // of that of the projection, so that tokens at the rim are not crowded
    space,  // R^d, in a frame with ticks
  };
  Shape shape = Shape::circle;
  bool turnable = false;                 // the third coordinate has a meaning
  std::array<double, 9> camera{};        // sphere: rows right, up, towards the reader
  std::vector<Colour> palette{};         // of the groups
  std::vector<std::uint8_t> group{};     // of each token
  std::vector<std::vector<double>> xyz;  // per moment: tokens x 3; right, up, towards the reader
  std::vector<double> unit{};            // per moment: the length drawn as 1
  std::array<std::string, 2> axes{};     // space: names of right and up

  bool round() const { return shape == Shape::circle || shape == Shape::sphere; }
};

/// Points of a line at every moment, equally many; at one moment only: the line rests.
struct MovingLine {
  Colour colour = kBlue;
  double width = 2;
  bool dashed = false;
  bool filled = false;
  bool arrow = false;  // at its last point
  std::vector<std::vector<double>> x{}, y{};
};

struct PlaneScene {
  Axis x{}, y{};                         // with their ranges; no labels: no axes
  std::vector<double> dot_x{}, dot_y{};  // dots stay where they are
  std::vector<Colour> dot_colour{};
  std::vector<std::string> dot_name{};      // plain
  std::vector<bool> dot_ring{};             // marked
  std::string meaning{};                    // of the size of a dot: "weight"
  std::vector<std::vector<double>> size{};  // per moment and dot, from 0 to 1
  std::vector<MovingLine> lines{};
};

/// The moments on an axis of the page's figures (Axis::clock); NaN: not on it.
struct SceneClock {
  std::string name;
  std::vector<double> at;
};

struct Scene {
  std::string title{};                // what is seen
  std::string note{};                 // how to read it
  std::vector<std::string> labels{};  // of the moments: "t = 0.5, 3 clusters"
  std::vector<SceneClock> clocks{};
  std::size_t rest = 0;  // the moment worth looking at
  std::optional<TokenScene> tokens{};
  std::optional<PlaneScene> plane{};

  std::size_t moments() const { return labels.size(); }
};

}  // namespace attractor::report
