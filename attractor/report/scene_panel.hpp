// Stills of a moving picture: a panel at any position between its moments.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/report/scene.hpp"

namespace attractor::report {

/// Positions between moments floor(position) and the next; on a circle or a sphere tokens stay on
/// it.
std::vector<double> tokens_at(const TokenScene& scene, double position);

/// Tokens that fall on one spot, drawn as one marker in the colour of most of them.
struct Marker {
  double x, y, z;
  std::uint8_t group;
  std::size_t count;
};
/// From back to front; every `stride`-th token.
std::vector<Marker> markers(const TokenScene& scene, std::span<const double> xyz,
                            std::size_t stride);

/// Where a projected point of the unit ball is drawn: (x, y) itself, or by angle (Shape::ball).
std::array<double, 2> ball_place(const TokenScene& scene, double x, double y);

/// The radius of a marker, of `count` among `tokens`: its area grows by equal amounts.
double marker_radius(std::size_t count, std::size_t tokens, double most);

/// most: radius of a marker that all tokens are in, pixels.
Panel token_panel(const TokenScene& scene, double position, std::size_t stride = 1,
                  double most = 15);
Panel plane_panel(const PlaneScene& scene, double position);
Panel scene_panel(const Scene& scene, double position);

/// Meridians and parallels every 30 degrees, of one half of the sphere.
Series graticule(const std::array<double, 9>& camera, bool back);

/// At most `most` moments, first and last among them, spread by how far tokens move in between.
std::vector<std::size_t> telling_moments(const std::vector<std::vector<double>>& xyz,
                                         std::size_t most);

}  // namespace attractor::report
