#include "attractor/commands/result.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "attractor/base/numbers.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/lab/wrap.hpp"
#include "tests/support/page_test.hpp"

namespace attractor::lab {
namespace {

struct Asked {
  double beta = 1;
  std::string shape = "a<b";
  ParameterList list() {
    return {{.name = "beta", .group = "Model", .help = "inverse temperature", .target = &beta},
            {.name = "shape", .group = "Model", .help = "how", .target = &shape}};
  }
};

class ResultTest : public PageTest {
 protected:
  ResultTest() {
    now_.beta = 4;
    call_ = {.program = "attractor test", .now = now_.list(), .usual = usual_.list()};
    result_.title = "Test";
    result_.headline = "Growth is 10^{12} & more.";
    result_.values["growth"] = number(0.5);
    result_.values["overflow"] = number(std::numeric_limits<double>::infinity());
    result_.values["rates"] = std::vector<double>(20, 1.25);
    result_.tables = {{.name = "levels",
                       .title = "Levels",
                       .columns = {"log_time"},
                       .rows = {{2.5}, {kNan}},
                       .label_column = "scheme",
                       .labels = {"post", "pre"}},
                      {.name = "curve",
                       .title = "Curve",
                       .columns = {"x", "y"},
                       .rows = {{1, 2}},
                       .only_data = true}};
    result_.remarks = {"a remark with <tags>"};
  }

  Asked now_, usual_;
  Call call_;
  Result result_;
};

TEST_F(ResultTest, JsonHoldsValuesTablesAndTheCommand) {
  const Json json = summary(result_, call_, 0.25);
  EXPECT_EQ(json["growth"], 0.5);
  EXPECT_TRUE(json["overflow"].is_null());
  EXPECT_EQ(json["rates"].size(), 20U);
  EXPECT_EQ(json["levels"][0]["scheme"], "post");
  EXPECT_EQ(json["levels"][0]["log_time"], 2.5);
  EXPECT_TRUE(json["levels"][1]["log_time"].is_null());
  EXPECT_EQ(json["curve"][0]["y"], 2);
  EXPECT_EQ(json["command"], "attractor test --beta 4");
  EXPECT_EQ(json["parameters"]["beta"], 4);
  EXPECT_EQ(json["wall_seconds"], 0.25);
  EXPECT_FALSE(json.contains("not_delivered"));
}

TEST_F(ResultTest, TextLeavesOutWhatIsTooLongToRead) {
  const std::string shown = text(result_);
  EXPECT_TRUE(has(shown, "Growth is 10^12 & more.")) << shown;
  EXPECT_TRUE(has(shown, "growth    0.5\n")) << shown;
  EXPECT_TRUE(has(shown, "overflow  -\n")) << shown;
  EXPECT_FALSE(has(shown, "rates")) << shown;
  EXPECT_TRUE(has(shown, "  post         2.5\n")) << shown;
  EXPECT_TRUE(has(shown, "  pre            -\n")) << shown;
  EXPECT_FALSE(has(shown, "Curve")) << shown;
  EXPECT_TRUE(has(shown, "Note: a remark with <tags>")) << shown;
}

TEST_F(ResultTest, TextFitsTheTerminal) {
  Table& wide = result_.tables.emplace_back(Table{.name = "wide", .title = "A wide table"});
  wide.label_column = "β";
  wide.labels = {"γ", "ten"};
  for (int c = 0; c < 12; ++c) wide.columns.push_back("column_" + std::to_string(c));
  wide.rows = {std::vector<double>(12, 0.125), std::vector<double>(12, -123456)};
  result_.remarks = {"a remark that is far too long for a terminal of forty columns only"};
  for (const std::size_t width : {40U, 60U, 80U}) {
    const std::string shown = text(result_, width);
    for (std::size_t begin = 0; begin < shown.size();) {
      const std::size_t end = shown.find('\n', begin);
      const std::string line = shown.substr(begin, end - begin);
      EXPECT_LE(columns(line), width) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
      begin = end + 1;
    }
    EXPECT_TRUE(has(shown, "column 11")) << shown;
  }
  // Each part says whose rows they are.
  EXPECT_TRUE(has(text(result_, 40), "\n\n  β    column 3  column 4  column 5\n  γ       0.125"))
      << text(result_, 40);
  EXPECT_TRUE(has(text(result_), "column 0  column 1  column 2  column 3  column 4"));
}

TEST_F(ResultTest, SaysWhatToAskNext) {
  result_.next = {{.why = "Is it so?",
                   .command = "flow",
                   .settings = {{"norm", "pre"}, {"verify", "true"}, {"out", "a b"}}}};
  EXPECT_TRUE(
      has(text(result_), "\nNext: Is it so?\n  attractor flow --norm pre --verify --out 'a b'\n"));
  EXPECT_EQ(summary(result_, call_, 0)["next"].at(0),
            "attractor flow --norm pre --verify --out 'a b'");
  result_.next.clear();
  EXPECT_FALSE(summary(result_, call_, 0).contains("next"));
}

TEST_F(ResultTest, PageIsEscapedAndTheFilesHoldEverything) {
  result_.draw = [] { return std::vector<PageFigure>(); };
  const std::string page = written([&] { write_result(result_, call_, 1, directory_); });
  EXPECT_TRUE(has(page, "Growth is 10<sup>12</sup> &amp; more."));
  EXPECT_TRUE(has(page, "a remark with &lt;tags&gt;"));
  EXPECT_TRUE(has(page, "a&lt;b"));
  EXPECT_TRUE(has(page, "<td>post</td><td>2.5</td>"));
  EXPECT_FALSE(has(page, "Curve"));
  const Hdf5Reader file(directory_ / "result.h5");
  EXPECT_EQ(file.read("/levels/log_time").data[0], 2.5);
  EXPECT_EQ(file.read("/curve/y").data, std::vector<double>{2});
  EXPECT_EQ(file.text_attribute("/", "command"), "attractor test --beta 4");
  EXPECT_EQ(Json::parse(read_file(directory_ / "summary.json", 1 << 20)),
            summary(result_, call_, 1));
}

TEST_F(ResultTest, WhatWasNotDeliveredIsSaidEverywhere) {
  result_.not_delivered = "cannot resolve; use more modes";
  EXPECT_EQ(summary(result_, call_, 0)["not_delivered"], "cannot resolve; use more modes");
  const std::string page = written([&] { write_result(result_, call_, 1, directory_); });
  EXPECT_TRUE(has(page, "cannot resolve; use more modes"));
}

}  // namespace
}  // namespace attractor::lab
