#include "attractor/commands/flow/flow_page.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "attractor/base/file.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/commands/flow/flow_figures.hpp"
#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/drawing/figure_file.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/report/scene_panel.hpp"
#include "attractor/space/space.hpp"
#include "tests/support/record_files.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

flow::Time power_of_ten(double exponent) { return flow::Time(1, exponent * std::numbers::ln10); }

// Tokens that fall onto two poles, then onto one; times 0, 1e-2, 1e10, 1e40 and 1e400.
FlowRecord flow_record(std::size_t tokens, std::size_t dim) {
  FlowRecord record;
  record.setup.tokens = tokens;
  record.setup.dim = dim;
  record.tokens = tokens;
  record.dim = dim;
  record.steps = 12345;
  record.engine = "dense";
  const Stream stream(1, "test.page");
  const double exponents[] = {-std::numeric_limits<double>::infinity(), -2, 10, 40, 400};
  for (std::size_t k = 0; k < 5; ++k) {
    Snapshot s;
    s.time = k == 0 ? flow::Time(0) : power_of_ten(exponents[k]);
    s.positions.assign(tokens * dim, 0.0);
    for (std::size_t i = 0; i < tokens; ++i) {
      const auto row = std::span(s.positions).subspan(i * dim, dim);
      if (k < 2) stream.normals(i, row);
      if (k >= 2) row[k < 4 ? i % 2 : 0] = 1;
      Sphere(dim).retract(row);
      s.clusters.push_back(static_cast<std::uint32_t>(k < 2 ? i : k < 4 ? i % 2 : 0));
    }
    s.cosine_histogram.assign(100, tokens > 1 ? 0.01 : 0.0);
    record.snapshots.push_back(s);
    observe::Observation o;
    o.time = s.time.value();
    o.log10_time = exponents[k];
    o.clusters = static_cast<double>(k < 2 ? tokens : k < 4 ? 2 : 1);
    o.mean_cosine = o.energy_ratio = static_cast<double>(k) / 4;
    record.series.push_back(o);
  }
  record.time = record.snapshots.back().time;
  record.owner.assign(tokens, 0);
  std::uint32_t left = 0;
  for (std::uint32_t i = 1; i < tokens; ++i) {
    const auto n = static_cast<std::uint32_t>(tokens);
    record.merges.push_back({left, i, i + 1, power_of_ten(9.0 * i)});
    left = n + i - 1;
  }
  return record;
}

class FlowPageTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        fs::path(testing::TempDir()) /
        (std::string("page_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string page(const FlowRecord& record, const std::string& name = "run") {
    write_record_page(record, directory_ / name);
    return read_file(directory_ / name / "index.html", 1 << 26);
  }
  fs::path directory_;
};

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

bool has(const std::string& text, std::string_view part) { return count(text, part) > 0; }

// Nothing is loaded: the only address is the name of the SVG namespace.
void expect_self_contained(const std::string& text) {
  EXPECT_EQ(count(text, "http://"), count(text, "createElementNS('http://www.w3.org/2000/svg'"));
  for (const std::string_view load : {"https://", " src=", "<link", "@import", "url(", "fetch("})
    EXPECT_FALSE(has(text, load)) << load;
}

void expect_whole(const std::string& text) {
  EXPECT_TRUE(text.starts_with("<!doctype html>"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
  EXPECT_TRUE(has(text, "id=\"scene\""));
  EXPECT_TRUE(has(text, "attractor flow"));
  EXPECT_TRUE(has(text, "snapshots/positions"));
  expect_self_contained(text);
}

TEST_F(FlowPageTest, EveryDimension) {
  for (const std::size_t dim : {2, 3, 8}) {
    const std::string text = page(flow_record(12, dim), std::to_string(dim));
    expect_whole(text);
    EXPECT_TRUE(has(text, "one cluster at t = 10<sup>400</sup>")) << dim;
    for (const std::string name : {"tokens", "clusters", "energy", "cosine", "merge_tree"})
      EXPECT_TRUE(fs::exists(directory_ / std::to_string(dim) / "figures" / (name + ".svg")));
  }
  EXPECT_TRUE(has(page(flow_record(12, 8)), "principal components"));
}

TEST_F(FlowPageTest, EqualRunsEqualBytes) {
  EXPECT_EQ(page(flow_record(9, 3), "a"), page(flow_record(9, 3), "b"));
}

TEST_F(FlowPageTest, EscapesWhatComesFromOutside) {
  FlowRecord record = flow_record(6, 3);
  record.setup.init = Arrangement::file;
  record.setup.tokens_file.name = "</script><b>'\"&^{x}.npy";
  record.engine = "<i>dense";
  const std::string text = page(record);
  EXPECT_FALSE(has(text, "<b>"));
  EXPECT_FALSE(has(text, "<i>"));
  EXPECT_EQ(count(text, "</script>"), 2u);
  EXPECT_TRUE(has(text, "&lt;/script&gt;&lt;b&gt;&#39;&quot;&amp;^{x}.npy"));
}

TEST_F(FlowPageTest, ThinRecords) {
  FlowRecord record = flow_record(1, 3);
  EXPECT_TRUE(has(page(record), "1 token on the sphere"));
  record = flow_record(5, 2);
  record.merges.clear();
  EXPECT_FALSE(has(page(record), "figure-merge_tree"));
  record.series.resize(1);
  record.snapshots.resize(1);
  EXPECT_TRUE(has(page(record), "5 clusters at"));
  record.series.clear();
  record.snapshots.clear();
  EXPECT_TRUE(has(page(record), "</html>"));
}

TEST_F(FlowPageTest, UnknownNumbers) {
  for (const std::size_t dim : {2, 3, 8}) {
    FlowRecord record = flow_record(7, dim);
    record.setup.space = dim == 3 ? depth::Geometry::euclidean : depth::Geometry::sphere;
    for (observe::Observation& o : record.series) {
      for (const observe::Column& column : observe::columns())
        if (column.name != "log10_time") o.*column.value = kNan;
    }
    record.snapshots.back().positions.assign(7 * dim, kNan);
    record.snapshots.back().cosine_histogram.assign(100, kNan);
    record.status = flow::Status::not_finite;
    const std::string text = page(record);
    EXPECT_TRUE(has(text, "not finite"));
    EXPECT_FALSE(has(text, ">nan<"));
    expect_self_contained(text);
  }
}

TEST_F(FlowPageTest, AtMostSixTilesAndEachSaysWhatItIs) {
  for (const depth::Geometry space : {depth::Geometry::sphere, depth::Geometry::euclidean}) {
    FlowRecord record = flow_record(6, 3);
    record.setup.space = space;
    const Page shown = flow_page(record, flow_view(record));
    EXPECT_LE(shown.tiles.size(), kMostTiles);
    for (const Tile& tile : shown.tiles) {
      EXPECT_FALSE(tile.name.empty());
      EXPECT_FALSE(tile.value.empty()) << tile.name;
      EXPECT_FALSE(tile.more.empty()) << tile.name;
    }
  }
}

// A fixed distance sees nothing in a cloud that has grown a thousandfold; a share of its size does.
TEST_F(FlowPageTest, GroupsInSpaceFollowTheSizeOfTheCloud) {
  FlowRecord record = flow_record(6, 2);
  record.setup.space = depth::Geometry::euclidean;
  const double apart = 1000;
  record.snapshots.back().positions = {0, 0, 1, 0, 0, 1, apart, 0, apart, 1, apart + 1, 0};
  const FlowView view = flow_view(record);
  EXPECT_EQ(view.groups, 2u);
  EXPECT_EQ(view.group[0], view.group[2]);
  EXPECT_NE(view.group[0], view.group[3]);
  EXPECT_TRUE(has(headline(record, view), "2 groups at")) << headline(record, view);
  EXPECT_EQ(closeness_words(record), "0.0447 apart or less");
}

TEST(FlowView, ThinsAndColours) {
  const FlowRecord record = flow_record(4500, 3);
  const FlowView view = flow_view(record);
  EXPECT_EQ(view.shown.size(), 1500u);
  EXPECT_EQ(view.reference, 2u);  // the first of two clusters: the end has one
  EXPECT_NE(view.group[0], view.group[1]);
  const std::vector<report::Marker> spots = report::markers(view.scene, view.scene.xyz[4], 1);
  ASSERT_EQ(spots.size(), 1u);
  EXPECT_EQ(spots[0].count, 1500u);
  EXPECT_GT(spots[0].z, 0);  // faces the reader
}

TEST(FlowView, PrincipalComponentsKeepLengths) {
  // All tokens in one plane: nothing of it is lost.
  FlowRecord record = flow_record(20, 600);
  for (Snapshot& s : record.snapshots) {
    for (std::size_t i = 0; i < 20; ++i) {
      const auto row = std::span(s.positions).subspan(i * 600, 600);
      std::fill(row.begin(), row.end(), 0.0);
      row[17] = std::cos(0.3 * static_cast<double>(i));
      row[401] = std::sin(0.3 * static_cast<double>(i));
    }
  }
  const FlowView view = flow_view(record);
  EXPECT_NE(view.caption.find("100 %"), std::string::npos) << view.caption;
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_NEAR(std::hypot(view.scene.xyz[0][3 * i], view.scene.xyz[0][3 * i + 1]), 1, 1e-12);
}

TEST(FlowView, TellsTheMovingSnapshots) {
  FlowRecord record = flow_record(8, 3);
  for (int copy = 0; copy < 30; ++copy) record.snapshots.push_back(record.snapshots.back());
  const std::vector<std::size_t> chosen = report::telling_moments(flow_view(record).scene.xyz, 8);
  ASSERT_EQ(chosen.size(), 8u);
  EXPECT_EQ(chosen.front(), 0u);
  EXPECT_EQ(chosen.back(), 34u);
  EXPECT_LE(chosen[2], 4u);
  for (std::size_t k = 1; k < chosen.size(); ++k) EXPECT_LT(chosen[k - 1], chosen[k]);
}

TEST(TimeText, PlainThenPowers) {
  EXPECT_EQ(time_text(flow::Time(0)), "0");
  EXPECT_EQ(time_text(flow::Time(0.125)), "0.125");
  EXPECT_EQ(time_text(flow::Time(2500)), "2500");
  EXPECT_EQ(time_text(flow::Time(1.6e30)), "1.6·10^{30}");
  EXPECT_EQ(time_text(flow::Time(9.99e20)), "10^{21}");
  EXPECT_EQ(time_text(power_of_ten(-400)), "10^{−400}");
}

}  // namespace
}  // namespace attractor::lab
