// `film`: what moves in a run as a film.
#include <fmt/format.h>

#include <memory>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/progress_bar.hpp"
#include "apps/terminal.hpp"
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"
#include "attractor/drawing/film_file.hpp"
#include "attractor/files/scene_file.hpp"

namespace attractor::apps {
namespace {

using namespace attractor::lab;

struct FilmOptions {
  std::string run, out;
  double seconds = 8;
  std::uint64_t size = 720;
  RunOptions options;
};

void add(FilmOptions& o, ParameterList& l) {
  l.group("Run");
  l.add("run", o.run, "directory of the run, or its result.h5").allow("a directory").first();
  l.add(
       "out", o.out,
       "film.svg (animated, plays in any browser), film.html (for slides), or film.mp4, film.webm, "
       "film.gif (these need ffmpeg)")
      .allow("a file")
      .not_empty();
  l.add("seconds", o.seconds, "length of the film").within(0.1, 3600);
  l.add("size", o.size, "pixels of mp4, webm and gif, each way").within(64, 4096);
  add_quiet(o.options, l);
}

int run(const FilmOptions& options) {
  if (options.run.empty()) throw Error("a run is missing: attractor film DIR --out film.svg");
  if (options.out.empty())
    throw Error("--out is missing: a file that ends in .svg, .html, .mp4, .webm or .gif");
  require_film(options.out);
  catch_interrupts();
  const report::Scene scene = read_scene(options.run);
  bool made = false;
  {
    ProgressBar bar(!options.options.quiet);
    made =
        write_film(scene, options.out, {.seconds = options.seconds, .size = options.size},
                   {.stop = interrupted,
                    .report = [&](double done, const std::string& note) { bar.show(done, note); },
                    .due = [&] { return bar.due(); }});
  }
  if (!made) {
    say("interrupted; nothing was kept");
    return kInterrupted;
  }
  fmt::print("{}, {} moments: {}\n", scene.title, scene.moments(), options.out);
  return kOk;
}

}  // namespace

Tool film_tool() {
  return {
      .name = "film",
      .about = "A film of a run: of flow, select, bridge or meanfield",
      .examples =
          "  attractor flow --tokens 64 --beta 1 --time 15 --snapshots 60 --out run\n"
          "  attractor film run --out film.mp4\n"
          "  attractor film run --out film.html\n"
          "Moments of a flow are the run's snapshots: --snapshots says how many, --output-spacing "
          "log or\nlinear whether they stand at equal steps of time or of its logarithm.",
      .make = [] { return std::make_unique<OptionsCall<FilmOptions>>(); }};
}

}  // namespace attractor::apps
