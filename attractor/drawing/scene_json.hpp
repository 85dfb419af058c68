// A moving picture in the words of the viewer (viewer.js has the types). Positions are 16-bit and
// 32-bit numbers in base64: a page stays small, and a third of a pixel is told apart.
#pragma once

#include <string>

#include "attractor/report/scene.hpp"

namespace attractor::report {

/// One line of JSON that nothing in a document can mistake for the end of a script: no '<'.
std::string scene_json(const Scene& scene);

}  // namespace attractor::report
