#include "attractor/drawing/figure_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/report/markup.hpp"

namespace attractor::report {
namespace {

namespace fs = std::filesystem;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
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
    ASSERT_TRUE(figures_available()) << "gnuplot is not installed";
    directory_ =
        fs::path(testing::TempDir()) /
        (std::string("figure_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
    make_directory(directory_);
  }
  void TearDown() override {
    if (!directory_.empty()) fs::remove_all(directory_);
  }
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

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(FigureTest, DrawsWhatWasDescribed) {
  const std::string text = svg(simple());
  EXPECT_TRUE(has(text, "<svg"));
  EXPECT_TRUE(has(text, ">Energy<"));
  EXPECT_TRUE(has(text, "time t"));
  EXPECT_TRUE(has(text, "climbs"));
  EXPECT_TRUE(has(text, "simple_gpPt"));
  EXPECT_FALSE(has(text, "id='gpPt"));
  EXPECT_FALSE(has(text, "<title>"));
}

TEST_F(FigureTest, EveryMarkAndScale) {
  for (const Mark mark : {Mark::lines, Mark::points, Mark::steps, Mark::boxes}) {
    for (const Scale scale : {Scale::linear, Scale::log, Scale::power}) {
      Figure figure = simple();
      Panel& panel = figure.panels[0];
      panel.y.scale = scale;
      panel.series = {{.mark = mark, .x = {1, 2, 3}, .y = {1, 20, 300}}};
      EXPECT_TRUE(has(svg(figure), "</svg>"));
    }
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
  EXPECT_TRUE(has(svg(grid), "rgb(230, 159,   0)"));
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

TEST_F(FigureTest, AMapHasOneBoxForEachFiniteValueAndAScale) {
  for (const Scale scale : {Scale::linear, Scale::log}) {
    const std::string text = svg({.id = "m", .panels = {map_panel(scale)}});
    EXPECT_NE(text.find("colour"), std::string::npos);
    std::size_t boxes = 0;  // the ends of viridis: value 0, and 1 as well as all beyond
    for (const std::string colour : {"rgb( 68,   1,  84)", "rgb(253, 231,  37)"})
      for (std::size_t at = 0; (at = text.find(colour, at)) != std::string::npos; ++at) ++boxes;
    EXPECT_GE(boxes, 3U);
  }
}

TEST_F(FigureTest, RefusesAMapWithoutItsValues) {
  Panel panel = map_panel(Scale::linear);
  panel.heat->value.pop_back();
  EXPECT_THROW(svg({.id = "m", .panels = {panel}}), Error);
}

TEST_F(FigureTest, SameBytesAgain) {
  write_figure(simple(), directory_ / "a");
  write_figure(simple(), directory_ / "b");
  for (const std::string extension : {".svg", ".pdf", ".png"}) {
    const std::string a = read_file(directory_ / ("a" + extension), 1 << 24);
    EXPECT_EQ(a, read_file(directory_ / ("b" + extension), 1 << 24)) << extension;
    EXPECT_GT(a.size(), 1000u);
    if (extension == ".pdf") {
      EXPECT_TRUE(has(a, "/CreationDate (D:20000101000000"));
    }
  }
}

TEST_F(FigureTest, LeavesOutWhatIsNotFinite) {
  Figure figure = simple();
  std::vector<Series>& series = figure.panels[0].series;
  series = {{.x = {1, 2, kNan, 4, 5, kInf}, .y = {1, kNan, 3, -kInf, 5, 6}}};
  const std::string text = svg(figure);
  EXPECT_FALSE(has(text, "nan"));
  EXPECT_FALSE(has(text, "inf"));
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
  const fs::path trap = directory_ / "trap";
  const std::string command = "touch " + trap.string();
  Figure figure = simple();
  for (const std::string& text :
       {"`" + command + "`", "'; system('" + command + "'); '", "\n!" + command + "\n",
        "'\nsystem '" + command + "'\n", std::string("a & b < c > \"d\" {^{ }} \\ @x ~y _ ^ # %s"),
        std::string("10^{12"), std::string("}{"), std::string("\\"), std::string("'")}) {
    figure.title = figure.panels[0].title = figure.panels[0].x.label = text;
    figure.panels[0].series[0].title = text;
    const std::string drawn = svg(figure);
    EXPECT_TRUE(has(drawn, "</svg>")) << text;
    EXPECT_FALSE(has(drawn, "& ")) << text;
    EXPECT_FALSE(fs::exists(trap)) << text;
  }
}

TEST_F(FigureTest, RaisesExponents) {
  Figure figure = simple();
  figure.title = "t = 10^{12}";
  const std::string text = svg(figure);
  EXPECT_TRUE(has(text, ">12<"));
  EXPECT_FALSE(has(text, "{12}"));
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
  EXPECT_THROW(write_figure(simple(), directory_ / "missing" / "a"), Error);
}

TEST_F(FigureTest, SaysWhyGnuplotCannotDraw) {
  {
    const Path nowhere(directory_.string());
    EXPECT_FALSE(figures_available());
    EXPECT_THROW(svg(simple()), Error);
  }
  write_file(directory_ / "gnuplot", "#!/bin/sh\necho 'line 3: out of ink' >&2\nexit 1\n");
  fs::permissions(directory_ / "gnuplot", fs::perms::owner_all);
  const Path broken(":" + directory_.string());
  EXPECT_TRUE(figures_available());
  try {
    svg(simple());
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(has(error.what(), "out of ink")) << error.what();
  }
}

TEST(Html, EscapesAndRaises) {
  EXPECT_EQ(html_text("<b a=\"x\" c='y'>&"), "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(html_markup("2<10^{3}"), "2&lt;10<sup>3</sup>");
  EXPECT_EQ(html_markup("10^{3"), "10^{3");
  EXPECT_EQ(html_markup("m_{1}^{2} < a_b"), "m<sub>1</sub><sup>2</sup> &lt; a_b");
}

}  // namespace
}  // namespace attractor::report
