// `film`: a run of flow as an animated picture.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/progress_bar.hpp"
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/commands/flow/film.hpp"
#include "attractor/drawing/figure_file.hpp"
#include "attractor/drawing/process.hpp"
#include "attractor/files/flow_file.hpp"

namespace attractor::apps {
namespace {

using namespace attractor::lab;

struct FilmOptions {
  std::string run, out;
  double seconds = 8;
  RunOptions options;
};

void add(FilmOptions& o, ParameterList& l) {
  l.group("Run");
  l.add("run", o.run, "directory of the run, or its result.h5").allow("a directory").first();
  l.add("out", o.out,
        "film.svg (animated, plays in any browser), film.gif or film.webm (need ffmpeg)")
      .allow("a file")
      .not_empty();
  l.add("seconds", o.seconds, "length of the film").within(0.1, 3600);
  add_quiet(o.options, l);
}

/// All frames as PNG, one after the other.
std::string frames(const FlowRecord& record, const FlowView& view, bool quiet) {
  ProgressBar bar(!quiet);
  std::string pictures;
  for (std::size_t k = 0; k < record.snapshots.size() && !interrupted(); ++k) {
    pictures += report::png(film_frame(record, view, k));
    if (bar.due())
      bar.show(static_cast<double>(k) / static_cast<double>(record.snapshots.size()), "frames");
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

int run(const FilmOptions& options) {
  if (options.run.empty()) throw Error("a run is missing: attractor film DIR --out film.svg");
  if (options.out.empty()) throw Error("--out is missing: a file that ends in .svg, .gif or .webm");
  const std::string kind = std::filesystem::path(options.out).extension().string();
  if (kind != ".svg" && kind != ".gif" && kind != ".webm")
    throw Error(fmt::format("--out {} must end in .svg, .gif or .webm", options.out));
  if (kind != ".svg" && !report::program_available("ffmpeg"))
    throw Error(
        fmt::format("{} films need ffmpeg, which is not on PATH; install ffmpeg, or make "
                    "an .svg",
                    kind));
  catch_interrupts();
  const FlowRecord record = read_flow(options.run);
  const FlowView view = flow_view(record);
  std::string film;
  if (kind == ".svg") {
    film = film_svg(record, view, options.seconds);
  } else {
    const std::string pictures = frames(record, view, options.options.quiet);
    if (interrupted()) {
      fmt::print(stderr, "attractor: interrupted; nothing was kept\n");
      return kInterrupted;
    }
    const double count = static_cast<double>(record.snapshots.size());
    film = encoded(pictures, kind, count / options.seconds);
  }
  write_file(options.out, film);
  fmt::print("{} frames of {} tokens: {}\n", record.snapshots.size(), record.tokens, options.out);
  return kOk;
}

}  // namespace

Tool film_tool() {
  return {.name = "film",
          .about = "A run of attractor flow as a film",
          .examples =
              "  attractor flow --tokens 64 --beta 1 --time 15 --snapshots 60 --out run\n"
              "  attractor film run --out film.svg\n"
              "Frames are the run's snapshots: --snapshots says how many, --output-spacing log or "
              "linear\nwhether they stand at equal steps of time or of its logarithm.",
          .make = [] { return std::make_unique<OptionsCall<FilmOptions>>(); }};
}

}  // namespace attractor::apps
