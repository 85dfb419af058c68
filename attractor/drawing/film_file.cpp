#include "attractor/drawing/film_file.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/drawing/figure_file.hpp"
#include "attractor/drawing/process.hpp"

namespace attractor::lab {
namespace {

/// All frames as PNG, one after the other; what there is when it is stopped.
std::string frames(const FlowRecord& record, const FlowView& view, const Context& context) {
  std::string pictures;
  for (std::size_t k = 0; k < record.snapshots.size() && !context.stopped(); ++k) {
    pictures += report::png(film_frame(record, view, k));
    context.tell(static_cast<double>(k) / static_cast<double>(record.snapshots.size()),
                 std::string("frames"));
  }
  return pictures;
}

std::string encoded(const std::string& pictures, const std::string& kind, double rate) {
  std::vector<std::string> arguments = {
      "-loglevel", "error", "-f",         "image2pipe",
      "-c:v",      "png",   "-framerate", fmt::format("{:.4f}", rate),
      "-i",        "pipe:0"};
  const std::vector<std::string> coding =
      kind == ".gif"
          ? std::vector<std::string>{"-vf", "split[a][b];[a]palettegen[p];[b][p]paletteuse", "-f",
                                     "gif"}
          : std::vector<std::string>{"-c:v",    "libvpx-vp9", "-pix_fmt",
                                     "yuv420p", "-vf",        "pad=ceil(iw/2)*2:ceil(ih/2)*2",
                                     "-f",      "webm"};
  arguments.insert(arguments.end(), coding.begin(), coding.end());
  arguments.emplace_back("pipe:1");
  const report::ProgramResult result = report::run_program("ffmpeg", arguments, pictures);
  if (!result.succeeded || result.output.empty())
    throw Error(
        fmt::format("ffmpeg failed: {}", result.complaint.substr(0, result.complaint.find('\n'))));
  return result.output;
}

}  // namespace

void require_film(const std::filesystem::path& out) {
  const std::string kind = out.extension().string();
  if (kind != ".svg" && kind != ".gif" && kind != ".webm")
    throw Error(fmt::format("out = '{}' must end in .svg, .gif or .webm", out.string()));
  if (kind != ".svg" && !report::program_available("ffmpeg"))
    throw Error(
        fmt::format("{} films need ffmpeg, which is not on PATH; install ffmpeg, or make "
                    "an .svg",
                    kind));
}

bool write_film(const FlowRecord& record, const std::filesystem::path& out, double seconds,
                const Context& context) {
  require_film(out);
  const std::string kind = out.extension().string();
  const FlowView view = flow_view(record);
  std::string film;
  if (kind == ".svg") {
    film = film_svg(record, view, seconds);
  } else {
    const std::string pictures = frames(record, view, context);
    if (context.stopped()) return false;
    film = encoded(pictures, kind, static_cast<double>(record.snapshots.size()) / seconds);
  }
  write_file(out, film);
  return true;
}

}  // namespace attractor::lab
