// A film of what moves in a run as a file: .svg (animated, plays in any browser), .html (for
// slides), or .mp4, .webm and .gif by ffmpeg, found on PATH when it is asked for.
#pragma once

#include <cstdint>
#include <filesystem>

#include "attractor/lab/context.hpp"
#include "attractor/report/scene.hpp"

namespace attractor::lab {

struct FilmSize {
  double seconds = 8;
  std::uint64_t size = 720;  // pixels of mp4, webm and gif, each way
};

/// Before any work: throws Error if the name has another ending, or ffmpeg is needed and missing.
void require_film(const std::filesystem::path& out);

/// False: stopped, and nothing is written.
bool write_film(const report::Scene& scene, const std::filesystem::path& out, const FilmSize& size,
                const Context& context);

}  // namespace attractor::lab
