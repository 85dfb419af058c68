#include "attractor/drawing/figure_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <regex>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/random.hpp"
#include "attractor/drawing/text_width.hpp"
#include "tests/support/page_test.hpp"

namespace attractor::report {
namespace {

namespace fs = std::filesystem;

constexpr double kInf = std::numeric_limits<double>::infinity();

// PATH for the life of a test.
class Path {
 public:
  explicit Path(const std::string& value) {
    if (const char* old = std::getenv("PATH")) old_ = old;
    ::setenv("PATH", value.c_str(), 1);
  }
  ~Path() { ::setenv("PATH", old_.c_str(), 1); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

 private:
  std::string old_;
};

class FigureTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        fs::path(testing::TempDir()) /
        (std::string("figure_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
    make_directory(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }
  fs::path directory_;
};

Figure simple() {
  return {.id = "simple",
          .title = "Energy",
          .panels = {{.x = {.label = "time t", .scale = Scale::power},
                      .y = {.label = "E"},
                      .series = {{.title = "climbs", .x = {0, 10, 30}, .y = {0.1, 0.4, 1}}},
                      .horizontal = {{.at = 1, .dashed = true}}}}};
}

std::string match(const std::string& text, const std::string& pattern) {
  std::smatch found;
  return std::regex_search(text, found, std::regex(pattern)) ? found[1].str() : "none";
}

TEST_F(FigureTest, DrawsWhatWasDescribed) {
  const std::string text = svg(simple());
  for (const char* part :
       {"<svg xmlns", ">Energy<", "time t", ">climbs<", "#0072b2", "stroke-dasharray", "</svg>"})
    EXPECT_TRUE(has(text, part)) << part;
  EXPECT_FALSE(has(text, "var(--"));
}

TEST_F(FigureTest, APageHasItsOwnColours) {
  const std::string text = page_panels(simple());
  EXPECT_TRUE(has(text, "stroke=\"var(--blue)\""));
  EXPECT_FALSE(has(text, "#0072b2"));
  EXPECT_FALSE(has(text, ">Energy<")) << "the page writes the title";
  EXPECT_EQ(count(text, "<svg class=\"panel"), 2u) << "for a desk and for a phone";
  Figure grid = simple();
  grid.panels.resize(3, grid.panels[0]);
  grid.columns = 3;
  EXPECT_EQ(count(page_panels(grid), "<svg class=\"panel"), 3u) << "small ones fit everywhere";
}

// What the page's script reads: pixels of the path, turned back by what the panel says of its axes.
std::vector<std::pair<double, double>> read_back(const std::string& text) {
  const auto number = [&](const std::string& pattern) { return std::stod(match(text, pattern)); };
  const double width = number("data-width=\"([^\"]*)\""),
               height = number("data-height=\"([^\"]*)\"");
  const auto axis = [&](const std::string& letter, double share) {
    const std::string scale = match(text, " data-" + letter + "=\"(\\w+) ");
    const double low = number(" data-" + letter + "=\"\\w+ ([^ ]*) "),
                 high = number(" data-" + letter + "=\"\\w+ [^ ]* ([^\"]*)\"");
    return scale == "log" ? low * std::pow(high / low, share) : low + (high - low) * share;
  };
  std::vector<std::pair<double, double>> points;
  // Without a regular expression: libstdc++ descends once for each character, and a path is long.
  const std::string begin = " d=\"";
  const std::size_t from = text.find(begin, text.find("<path class=\"line\"")) + begin.size();
  const std::string path = text.substr(from, text.find('"', from) - from);
  const std::regex vertex("[ML]([-0-9.]+) ([-0-9.]+)");
  for (std::sregex_iterator at(path.begin(), path.end(), vertex), end; at != end; ++at)
    points.emplace_back(axis("x", std::stod((*at)[1]) / width),
                        axis("y", 1 - std::stod((*at)[2]) / height));
  return points;
}

TEST_F(FigureTest, CurvesStandWhereTheirValuesSay) {
  for (const Scale scale : {Scale::linear, Scale::log, Scale::power}) {
    Figure figure = simple();
    figure.panels[0].x.scale = scale;
    figure.panels[0].y.scale = scale;
    const std::vector<double> x = {1, 2, 7, 20}, y = {3, 0.5, 11, 6};
    figure.panels[0].series = {{.x = x, .y = y}};
    figure.panels[0].horizontal.clear();
    const auto points = read_back(svg(figure));
    ASSERT_EQ(points.size(), 4u);
    for (std::size_t k = 0; k < 4; ++k) {
      const bool log = scale == Scale::log;  // a tenth of a pixel of about 300
      EXPECT_NEAR(points[k].first, x[k], log ? 3e-3 * x[k] : 0.02);
      EXPECT_NEAR(points[k].second, y[k], log ? 3e-3 * y[k] : 0.02);
    }
  }
}

TEST_F(FigureTest, EveryMarkAndScale) {
  for (const Mark mark : {Mark::lines, Mark::points, Mark::steps, Mark::boxes, Mark::area})
    for (const Scale scale : {Scale::linear, Scale::log, Scale::power}) {
      Figure figure = simple();
      figure.panels[0].y.scale = scale;
      figure.panels[0].series = {{.mark = mark, .x = {1, 2, 3}, .y = {1, 20, 300}}};
      EXPECT_TRUE(has(svg(figure), "</svg>"));
    }
  Figure grid = simple();
  grid.panels.push_back({.title = "bare",
                         .series = {{.mark = Mark::points,
                                     .x = {0, 1},
                                     .y = {0, 1},
                                     .sizes = {2, 5},
                                     .colours = {kOrange, kGreen}}},
                         .bare = true,
                         .equal_scale = true});
  grid.columns = 2;
  const std::string text = svg(grid);
  EXPECT_TRUE(has(text, "r=\"5\" fill=\"#009e73\""));
  EXPECT_EQ(count(text, "<circle"), 2u);
}

// What is too far for a pixel is left out, and nothing else: the extremes stay.
TEST_F(FigureTest, LongLinesKeepTheirPeaks) {
  Figure figure = simple();
  Series noise = curve(kBlue, 1);
  for (int k = 0; k < 100000; ++k) add_point(noise, k, k == 54321 ? 50 : std::sin(k));
  figure.panels[0] = {.series = {std::move(noise)}};
  const std::string text = svg(figure);
  EXPECT_LT(text.size(), 60000u);
  double most = 0;
  for (const auto& [x, y] : read_back(text)) most = std::max(most, y);
  EXPECT_NEAR(most, 50, 0.1);
}

Panel map_panel(Scale y) {
  Panel panel{.title = "map", .x = {.label = "x"}, .y = {.label = "y", .scale = y}};
  panel.heat = Heat{.x = {0, 1, 2},
                    .y = {1, 10},
                    .value = {0, 0.5, 1, kNan, 0.25, 2},
                    .label = "colour",
                    .low = 0,
                    .high = 1};
  return panel;
}

TEST_F(FigureTest, AMapIsAPictureWithAScale) {
  for (const Scale scale : {Scale::linear, Scale::log}) {
    const std::string text = svg({.id = "m", .panels = {map_panel(scale)}});
    EXPECT_TRUE(has(text, ">colour<"));
    EXPECT_TRUE(has(text, "data:image/png;base64,"));
    EXPECT_TRUE(has(text, "data-levels=\"200 0 1 3 2\""));
  }
  Panel faded = map_panel(Scale::linear);
  faded.heat->ramp = Heat::Ramp::fade;
  const std::string page = page_panels({.id = "m", .panels = {faded}});
  EXPECT_TRUE(has(page, "stroke=\"var(--blue)\" stroke-opacity=\"0.998\" d=\"M2 1.5h1M2 0.5h1\""))
      << page;
  EXPECT_EQ(count(page, "M0 0.5"), 0u) << "not finite: nothing is drawn";
}

TEST_F(FigureTest, RefusesAMapWithoutItsValues) {
  Panel panel = map_panel(Scale::linear);
  panel.heat->value.pop_back();
  EXPECT_THROW(svg({.id = "m", .panels = {panel}}), Error);
  panel = map_panel(Scale::linear);
  panel.heat->high = panel.heat->low;
  EXPECT_THROW(svg({.id = "m", .panels = {panel}}), Error);
}

TEST_F(FigureTest, EveryFormatTheSameBytesAgain) {
  const std::vector<Format> formats = {Format::svg, Format::pdf, Format::png};
  require_formats(formats);
  write_figure(simple(), directory_ / "a", formats);
  write_figure(simple(), directory_ / "b", formats);
  for (const std::string extension : {".svg", ".pdf", ".png"}) {
    const std::string a = read_file(directory_ / ("a" + extension), 1 << 24);
    EXPECT_EQ(a, read_file(directory_ / ("b" + extension), 1 << 24)) << extension;
    EXPECT_GT(a.size(), 1000u);
  }
  EXPECT_TRUE(read_file(directory_ / "a.pdf", 1 << 24).starts_with("%PDF"));
  EXPECT_TRUE(read_file(directory_ / "a.png", 1 << 24).starts_with("\x89PNG"));
}

TEST_F(FigureTest, SaysWhatOtherFormatsNeed) {
  const Path nowhere(directory_.string());
  const std::vector<Format> pdf = {Format::pdf}, only_svg = {Format::svg};
  EXPECT_NO_THROW(require_formats(only_svg));
  try {
    require_formats(pdf);
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(has(error.what(), "librsvg2-bin")) << error.what();
  }
  write_file(directory_ / "rsvg-convert", "#!/bin/sh\necho 'out of ink' >&2\nexit 1\n");
  fs::permissions(directory_ / "rsvg-convert", fs::perms::owner_all);
  EXPECT_NO_THROW(require_formats(pdf));
  EXPECT_THROW(write_figure(simple(), directory_ / "a", pdf), Error);
  EXPECT_FALSE(fs::exists(directory_ / "a.pdf"));
}

TEST_F(FigureTest, LeavesOutWhatIsNotFinite) {
  Figure figure = simple();
  std::vector<Series>& series = figure.panels[0].series;
  series = {{.x = {1, 2, kNan, 4, 5, kInf}, .y = {1, kNan, 3, -kInf, 5, 6}}};
  const std::string text = svg(figure);
  EXPECT_FALSE(has(text, "nan"));
  EXPECT_FALSE(has(text, "inf"));
  EXPECT_EQ(count(match(text, "<path class=\"line\"[^>]* d=\"([^\"]*)\""), "M"), 2u) << "gaps";
  for (const Scale scale : {Scale::linear, Scale::log, Scale::power}) {
    figure.panels[0].y.scale = scale;
    for (const double value : {kNan, kInf, 0.0, -1.0, 1.0, 1e-320, 1e308, -1e308}) {
      series = {{.x = {1}, .y = {value}}};
      EXPECT_TRUE(has(svg(figure), "</svg>")) << value;
      series = {{.x = {1, 2}, .y = {value, std::nextafter(value, 2.0)}}};
      EXPECT_TRUE(has(svg(figure), "</svg>")) << value;
    }
  }
  series.clear();
  EXPECT_TRUE(has(svg(figure), "</svg>"));
}

TEST_F(FigureTest, TextIsOnlyText) {
  Figure figure = simple();
  for (const std::string& text :
       {std::string("</text><script>alert(1)</script>"), std::string("\" onload=\"x"),
        std::string("a & b < c > \"d\" {^{ }} \\ @x ~y _ ^ # %s"), std::string("10^{12"),
        std::string("}{"), std::string("\xff\xfe\x01")}) {
    figure.title = figure.panels[0].title = figure.panels[0].x.label = text;
    figure.panels[0].series[0].title = text;
    figure.panels[0].horizontal[0].label = text;
    figure.panels[0].x.names = {text, text};
    for (const std::string& drawn : {svg(figure), page_panels(figure)}) {
      EXPECT_FALSE(has(drawn, "<script")) << text;
      EXPECT_FALSE(has(drawn, "& ")) << text;
      EXPECT_FALSE(has(drawn, "\" onload=\"")) << text;
      EXPECT_FALSE(has(drawn, "\xff")) << text;
    }
  }
}

// ---- Nothing lies over anything else, by the widths of the font.

struct Box {
  double left, top, right, bottom;
  std::string text;
};

/// The width of what stands in a <text>: scripts have a size of their own.
double drawn_width(const std::string& inside, double size) {
  double wide = 0;
  const std::regex part("<tspan[^>]*?(?: font-size=\"([0-9.]+)\")?>([^<]*)</tspan>|([^<]+)");
  for (std::sregex_iterator at(inside.begin(), inside.end(), part), end; at != end; ++at) {
    const bool own = (*at)[1].matched && (*at)[1].length() > 0;
    const std::string words = (*at)[3].matched ? (*at)[3].str() : (*at)[2].str();
    wide += text_width(words, own ? std::stod((*at)[1]) : size);
  }
  return wide;
}

/// Rectangles of all text of a document of one panel.
std::vector<Box> text_boxes(const std::string& document) {
  std::vector<Box> boxes;
  double across = 0, down = 0;
  std::vector<std::pair<double, double>> stack;
  const std::regex part(
      "<g[^>]*transform=\"translate\\(([-0-9.]+),([-0-9.]+)\\)\"[^>]*>|<g[^>]*>|</g>|"
      "<text x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" font-size=\"([0-9.]+)\"([^>]*)>(.*?)</text>");
  for (std::sregex_iterator at(document.begin(), document.end(), part), end; at != end; ++at) {
    const std::smatch& m = *at;
    if (m[0] == "</g>") {
      across = stack.back().first, down = stack.back().second;
      stack.pop_back();
    } else if (m[3].matched) {
      const std::string text = std::regex_replace(m[7].str(), std::regex("<[^>]*>"), "");
      const double size = std::stod(m[5]), wide = drawn_width(m[7], size);
      const std::string anchor = match(m[6], "text-anchor=\"(\\w+)\"");
      const double x = std::stod(m[3]) + across, y = std::stod(m[4]) + down;
      const double left = anchor == "middle" ? x - wide / 2 : anchor == "end" ? x - wide : x;
      boxes.push_back({left, y - 0.75 * size, left + wide, y + 0.2 * size, text});
    } else {
      stack.emplace_back(across, down);
      if (m[1].matched) across += std::stod(m[1]), down += std::stod(m[2]);
    }
  }
  return boxes;
}

std::string words_of(const Stream& stream, std::uint64_t index) {
  static constexpr const char* kWords[] = {"cosine", "of", "all",   "pairs", "10^{−12}", "mean",
                                           "weight", "β",  "token", "x_{1}", "stable",   "uniform"};
  std::array<double, 6> draw{};
  stream.normals(index, draw);
  std::string text;
  for (std::size_t k = 0; k < 1 + static_cast<std::size_t>(std::abs(2.5 * draw[0])) % 6; ++k)
    text += std::string(k > 0 ? " " : "") +
            kWords[static_cast<std::size_t>(std::abs(5 * draw[k])) % 12];
  return text;
}

Panel random_panel(const Stream& stream, std::uint64_t trial) {
  std::array<double, 8> draw{};
  stream.normals(1000000 + trial, draw);
  Panel panel{.x = {.label = words_of(stream, 9 * trial)},
              .y = {.label = words_of(stream, 9 * trial + 1)}};
  panel.x.scale = trial % 3 == 0 ? Scale::power : Scale::linear;
  panel.y.scale = trial % 5 == 0 ? Scale::log : Scale::linear;
  const double size = std::pow(10, 4 * draw[0]);
  const auto lines = static_cast<std::size_t>(std::abs(4 * draw[1])) + 1;
  for (std::size_t k = 0; k < lines; ++k) {
    Series line = curve(kPalette[k % 6], 2);
    line.title = words_of(stream, 9 * trial + 2 + 100000 * k);
    for (int i = 0; i <= 20; ++i)
      add_point(line, i * std::abs(draw[2]),
                size * (1.1 + std::sin(static_cast<double>(k) + 0.3 * i)));
    panel.series.push_back(std::move(line));
  }
  if (trial % 4 == 0)
    panel.vertical = {{.at = 8 * std::abs(draw[2]), .label = words_of(stream, 9 * trial + 3)},
                      {.at = 9 * std::abs(draw[2]), .label = words_of(stream, 9 * trial + 4)}};
  return panel;
}

TEST_F(FigureTest, NoTextLiesOverAnotherAndNoneIsCut) {
  const Stream stream(7, "test.overlap");
  for (std::uint64_t trial = 0; trial < 150; ++trial) {
    Figure figure{.id = "f", .panels = {random_panel(stream, trial)}};
    figure.width = trial % 2 == 0 ? 540 : 360;
    figure.height = 300;
    const std::string text = svg(figure);
    const double high = std::stod(match(text, " height=\"([0-9.]+)\""));
    const std::vector<Box> boxes = text_boxes(text);
    ASSERT_GT(boxes.size(), 3u);
    for (std::size_t a = 0; a < boxes.size(); ++a) {
      EXPECT_GE(boxes[a].left, -1) << trial << ": " << boxes[a].text;
      EXPECT_LE(boxes[a].right, figure.width + 1) << trial << ": " << boxes[a].text;
      EXPECT_LE(boxes[a].bottom, high + 1) << trial << ": " << boxes[a].text;
      for (std::size_t b = a + 1; b < boxes.size(); ++b) {
        const double across =
            std::min(boxes[a].right, boxes[b].right) - std::max(boxes[a].left, boxes[b].left);
        const double down =
            std::min(boxes[a].bottom, boxes[b].bottom) - std::max(boxes[a].top, boxes[b].top);
        EXPECT_FALSE(across > 0.5 && down > 0.5)
            << trial << ": '" << boxes[a].text << "' over '" << boxes[b].text << "'";
      }
    }
  }
}

TEST_F(FigureTest, RefusesBadDescriptions) {
  Figure figure = simple();
  figure.panels[0].series[0].y.pop_back();
  EXPECT_THROW(svg(figure), Error);
  figure = simple();
  figure.id = "a' name";
  EXPECT_THROW(svg(figure), Error);
  figure = simple();
  figure.panels.clear();
  EXPECT_THROW(svg(figure), Error);
  const std::vector<Format> formats = {Format::svg};
  EXPECT_THROW(write_figure(simple(), directory_ / "missing" / "a", formats), Error);
}

}  // namespace
}  // namespace attractor::report
