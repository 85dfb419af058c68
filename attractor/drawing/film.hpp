// A moving picture (report/scene.hpp) as a film: an animated SVG that any browser plays without a
// script, or frames that a program turns into a video.
#pragma once

#include <string>

#include "attractor/report/scene.hpp"

namespace attractor::report {

/// One turn lasts `seconds`, then it rests on the end for a second and begins again. Tokens on a
/// sphere glide (at most 500 of them are drawn); other pictures are leafed through.
std::string film_svg(const Scene& scene, double seconds);

/// A still at a position between moments, as a document of size x size pixels.
std::string film_frame(const Scene& scene, double position, double size);

}  // namespace attractor::report
