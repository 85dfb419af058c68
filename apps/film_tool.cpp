// `film`: what moves in a run as a film.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/progress_bar.hpp"
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/drawing/film.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/drawing/process.hpp"
#include "attractor/files/scene_file.hpp"

namespace attractor::apps {
namespace {

namespace fs = std::filesystem;
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

/// How ffmpeg makes a kind of film.
struct Coding {
  const char* kind;
  double rate;  // pictures a second
  std::vector<std::string> arguments;
};

const std::array<Coding, 3>& codings() {
  static const std::array<Coding, 3> all = {
      Coding{".mp4",
             30,
             {"-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", "-movflags", "+faststart"}},
      Coding{".webm", 30, {"-c:v", "libvpx-vp9", "-crf", "28", "-b:v", "0", "-pix_fmt", "yuv420p"}},
      Coding{".gif", 15, {"-vf", "split[a][b];[a]palettegen[p];[b][p]paletteuse"}}};
  return all;
}

/// A directory of its own that ends with it.
class Workshop {
 public:
  Workshop() {
    std::string name = (fs::temp_directory_path() / "attractor-film-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw Error(fmt::format("cannot make the directory {}", name));
    path_ = name;
  }
  ~Workshop() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Every frame as an SVG file, the last one for a second; false: interrupted.
bool draw_frames(const report::Scene& scene, const FilmOptions& options, double rate,
                 const fs::path& directory) {
  ProgressBar bar(!options.options.quiet);
  const auto moving =
      std::max<std::size_t>(2, static_cast<std::size_t>(std::lround(options.seconds * rate)));
  const std::size_t all = moving + static_cast<std::size_t>(rate);
  const double last = static_cast<double>(scene.moments()) - 1;
  const double size = static_cast<double>(options.size / 2 * 2);  // what video needs
  std::string picture;
  for (std::size_t k = 0; k < all && !interrupted(); ++k) {
    if (k < moving)
      picture =
          film_frame(scene, last * static_cast<double>(k) / static_cast<double>(moving - 1), size);
    write_file(directory / fmt::format("{:06}.svg", k), picture);
    if (bar.due()) bar.show(static_cast<double>(k) / static_cast<double>(all), "frames");
  }
  return !interrupted();
}

/// The bytes of the film; empty: interrupted.
std::string filmed(const report::Scene& scene, const FilmOptions& options, const Coding& coding) {
  const Workshop workshop;
  if (!draw_frames(scene, options, coding.rate, workshop.path())) return "";
  const fs::path target = workshop.path() / (std::string("film") + coding.kind);
  std::vector<std::string> arguments = {"-nostdin",
                                        "-loglevel",
                                        "error",
                                        "-framerate",
                                        fmt::format("{}", coding.rate),
                                        "-i",
                                        (workshop.path() / "%06d.svg").string()};
  arguments.insert(arguments.end(), coding.arguments.begin(), coding.arguments.end());
  // No dates and names of versions: the same run makes the same film.
  for (const char* word : {"-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact"})
    arguments.emplace_back(word);
  arguments.push_back(target.string());
  const report::ProgramResult result = report::run_program("ffmpeg", arguments, "");
  if (interrupted()) return "";
  if (!result.succeeded)
    throw Error(fmt::format(
        "ffmpeg failed: {}; it needs librsvg and the codec of {}, as Debian's ffmpeg has them",
        result.complaint.substr(0, result.complaint.find('\n')), coding.kind));
  return read_file(target, std::size_t{1} << 32U);
}

int run(const FilmOptions& options) {
  if (options.run.empty()) throw Error("a run is missing: attractor film DIR --out film.svg");
  if (options.out.empty())
    throw Error("--out is missing: a file that ends in .svg, .html, .mp4, .webm or .gif");
  const std::string kind = fs::path(options.out).extension().string();
  const auto coding = std::find_if(codings().begin(), codings().end(),
                                   [&](const Coding& c) { return c.kind == kind; });
  const bool video = coding != codings().end();
  if (!video && kind != ".svg" && kind != ".html")
    throw Error(fmt::format("--out {} must end in .svg, .html, .mp4, .webm or .gif", options.out));
  if (video && !report::program_available("ffmpeg"))
    throw Error(fmt::format(
        "{} films need ffmpeg, which is not on PATH; install ffmpeg, or make an .svg or .html",
        kind));
  catch_interrupts();
  const report::Scene scene = read_scene(options.run);
  const std::string film = kind == ".svg"    ? film_svg(scene, options.seconds)
                           : kind == ".html" ? scene_document(scene)
                                             : filmed(scene, options, *coding);
  if (film.empty()) {
    fmt::print(stderr, "attractor: interrupted; nothing was kept\n");
    return kInterrupted;
  }
  write_file(options.out, film);
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
