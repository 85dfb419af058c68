// `film`: a run of flow as an animated picture.
#include <fmt/format.h>

#include <memory>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/progress_bar.hpp"
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"
#include "attractor/drawing/film_file.hpp"
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

int run(const FilmOptions& options) {
  if (options.run.empty()) throw Error("a run is missing: attractor film DIR --out film.svg");
  if (options.out.empty()) throw Error("--out is missing: a file that ends in .svg, .gif or .webm");
  require_film(options.out);
  catch_interrupts();
  const FlowRecord record = read_flow(options.run);
  bool made = false;
  {
    ProgressBar bar(!options.options.quiet);
    made =
        write_film(record, options.out, options.seconds,
                   {.stop = interrupted,
                    .report = [&](double done, const std::string& note) { bar.show(done, note); },
                    .due = [&] { return bar.due(); }});
  }
  if (!made) {
    fmt::print(stderr, "attractor: interrupted; nothing was kept\n");
    return kInterrupted;
  }
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
