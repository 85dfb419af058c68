#include "attractor/drawing/film_file.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/drawing/film.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/drawing/process.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

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

/// None: a kind that needs no ffmpeg.
const Coding* coding_of(const fs::path& out) {
  const auto found = std::find_if(codings().begin(), codings().end(),
                                  [&](const Coding& c) { return c.kind == out.extension(); });
  return found == codings().end() ? nullptr : &*found;
}

/// Every frame as an SVG file, the last one for a second; false: stopped.
bool draw_frames(const report::Scene& scene, const FilmSize& size, double rate,
                 const fs::path& directory, const Context& context) {
  const auto moving =
      std::max<std::size_t>(2, static_cast<std::size_t>(std::lround(size.seconds * rate)));
  const std::size_t all = moving + static_cast<std::size_t>(rate);
  const double last = static_cast<double>(scene.moments()) - 1;
  const double pixels = static_cast<double>(size.size / 2 * 2);  // what video needs
  std::string picture;
  for (std::size_t k = 0; k < all && !context.stopped(); ++k) {
    if (k < moving)
      picture = film_frame(scene, last * static_cast<double>(k) / static_cast<double>(moving - 1),
                           pixels);
    write_file(directory / fmt::format("{:06}.svg", k), picture);
    context.tell(static_cast<double>(k) / static_cast<double>(all), std::string("frames"));
  }
  return !context.stopped();
}

/// The bytes of the film; empty: stopped.
std::string filmed(const report::Scene& scene, const FilmSize& size, const Coding& coding,
                   const Context& context) {
  const Workshop workshop;
  if (!draw_frames(scene, size, coding.rate, workshop.path(), context)) return "";
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
  if (context.stopped()) return "";
  if (!result.succeeded)
    throw Error(fmt::format(
        "ffmpeg failed: {}; it needs librsvg and the codec of {}, as Debian's ffmpeg has them",
        result.complaint.substr(0, result.complaint.find('\n')), coding.kind));
  return read_file(target, std::size_t{1} << 32U);
}

}  // namespace

void require_film(const fs::path& out) {
  const std::string kind = out.extension().string();
  const bool video = coding_of(out) != nullptr;
  if (!video && kind != ".svg" && kind != ".html")
    throw Error(
        fmt::format("out = '{}' must end in .svg, .html, .mp4, .webm or .gif", out.string()));
  if (video && !report::program_available("ffmpeg"))
    throw Error(fmt::format(
        "{} films need ffmpeg, which is not on PATH; install ffmpeg, or make an .svg or .html",
        kind));
}

bool write_film(const report::Scene& scene, const fs::path& out, const FilmSize& size,
                const Context& context) {
  require_film(out);
  const Coding* coding = coding_of(out);
  const std::string film = coding != nullptr            ? filmed(scene, size, *coding, context)
                           : out.extension() == ".html" ? scene_document(scene)
                                                        : film_svg(scene, size.seconds);
  if (film.empty()) return false;
  write_file(out, film);
  return true;
}

}  // namespace attractor::lab
