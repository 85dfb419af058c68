// A film of a flow as a file: .svg (animated, plays in any browser), .gif or .webm (by ffmpeg,
// found on PATH when it is asked for). Frames are the snapshots of the run.
#pragma once

#include <filesystem>

#include "attractor/commands/flow/film.hpp"
#include "attractor/commands/result.hpp"

namespace attractor::lab {

/// Before any work: throws Error if the name has another ending, or ffmpeg is needed and missing.
void require_film(const std::filesystem::path& out);

/// False: stopped, and nothing is written. seconds: its length.
bool write_film(const FlowRecord& record, const std::filesystem::path& out, double seconds,
                const Context& context);

}  // namespace attractor::lab
