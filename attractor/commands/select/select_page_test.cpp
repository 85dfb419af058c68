#include "attractor/commands/select/select_page.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "attractor/base/file.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/select/select_figures.hpp"
#include "attractor/commands/select/select_numbers.hpp"
#include "attractor/commands/select/select_words.hpp"
#include "attractor/drawing/figure_file.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/space/space.hpp"
#include "attractor/training/examples.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/record_files.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;
using training::MaxMargin;

// The authors' single input: keys (-.1,1), (1,0), (0,0); p walks from (0,-1) along (1,0), the
// max-margin solution of token 1. W hides the third coordinate, which is the score.
SelectRecord select_record() {
  SelectRecord r;
  r.setup.data.name = "problem.json";
  r.setup.steps = 100;
  r.problem = training::single_input({1, .9, 0});
  r.problem.prompt = {0, -1, 0};
  r.blocks = {{"p", 0, 3}};
  r.trained = true;
  r.steps = 100;
  r.time = flow::Time(10);
  r.svm = MaxMargin{.chosen = {1},
                    .status = solve::MarginStatus::optimal,
                    .solution = {1, 0, 0},
                    .norm = 1,
                    .relative_gap = 1e-17,
                    .support = {{1, 1.0}},
                    .neighbours = {{0, 2, 1.0}},
                    .rivals = {{0, 0, 1.09}},
                    .locally_optimal = true};
  r.selected = {1};
  r.lock_in = {flow::Time(0.7)};
  r.softmax = {0.1, 0.8, 0.1};
  r.softmax_min = 0.8;
  r.loss = 0.34;
  r.head = r.problem.head.v;
  for (const double steps : {0.0, 1.0, 10.0, 50.0, 100.0}) {
    const std::vector<double> p = {0.1 * steps, -1 / (1 + steps), 0};
    r.trajectory.insert(r.trajectory.end(), p.begin(), p.end());
    SelectMoment m;
    m.steps = steps;
    m.log10_time = std::log10(0.1 * steps);
    m.loss = 0.34 + 0.1 / (1 + steps);
    m.log10_excess = -2 - steps / 10;
    m.attention_norm = std::hypot(p[0], p[1]);
    m.cosine = p[0] / m.attention_norm;
    m.relaxed_cosine = m.head_cosine = kNan;
    m.softmax_min = m.softmax_mean = 1 - 0.6 / (1 + steps);
    m.entropy = 1 / (1 + steps);
    m.effective_tokens = 1 + 2 / (1 + steps);
    r.series.push_back(m);
    r.weights = r.attention = p;
  }
  r.cosine = r.series.back().cosine;
  r.velocity_cosine = 1 - 1e-9;
  return r;
}

// With all that theory adds: choices, path, basins.
SelectRecord with_theory() {
  SelectRecord r = select_record();
  MaxMargin best = *r.svm;
  best.chosen = {0};
  best.solution = {-0.1 / 1.01, 1 / 1.01, 0};
  best.norm = std::sqrt(1 / 1.01);
  best.globally_optimal = true;
  r.local = training::LocalChoices{.found = {best, *r.svm}, .complete = true, .examined = 3};
  for (const double radius : {1.0, 10.0, 100.0}) {
    r.path.push_back({.radius = radius, .weights = {radius, 0, 0}, .loss = 1, .selected = {0}});
    r.path_cosine.push_back(std::cos(0.8 / radius));
  }
  r.path_svm = best;
  training::Basins basins{.limits = {best, *r.svm}, .axes = {0, 1}, .side = 3, .radius = 3};
  for (const double y : {-3.0, 0.0, 3.0})
    for (const double x : {-3.0, 0.0, 3.0})
      basins.starts.push_back({.start = {x, y, 0}, .limit = y > 0 ? 0u : y < 0 ? 1u : SIZE_MAX});
  r.basins = basins;
  r.exact = solve::ExactMargin{.proved = true, .squared_norm = {.exact = "1", .value = 1}};
  return r;
}

class SelectPageTest : public PageTest {
 protected:
  std::string page(const SelectRecord& record) {
    write_record_page(record, directory_);
    return read_file(directory_ / "index.html", 1 << 26);
  }
  std::string page_of_record(const SelectRecord& record) {
    return written([&] { write_record_page(record, directory_); });
  }
};

const PageFigure* find_figure(const std::vector<PageFigure>& figures, const std::string& id) {
  for (const PageFigure& f : figures)
    if (f.figure.id == id) return &f;
  return nullptr;
}

TEST_F(SelectPageTest, EveryFigureIsAFile) {
  const SelectRecord record = with_theory();
  write_record(record, 0.5, directory_);
  const std::string text = read_file(directory_ / "index.html", 1 << 26);
  const std::vector<PageFigure> figures = select_figures(record);
  EXPECT_EQ(figures.size(), 10u);
  EXPECT_EQ(count(text, "<figure "), figures.size());
  for (const PageFigure& f : figures) {
    EXPECT_TRUE(has(text, "id=\"figure-" + f.figure.id + "\"")) << f.figure.id;
    EXPECT_FALSE(f.caption.empty());
    EXPECT_TRUE(fs::exists(directory_ / "figures" / (f.figure.id + ".svg"))) << f.figure.id;
  }
  EXPECT_TRUE(text.starts_with("<!doctype html>"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
  EXPECT_TRUE(fs::exists(directory_ / "result.h5"));
  EXPECT_TRUE(fs::exists(directory_ / "summary.json"));
  for (const std::string_view load : {"https://", " src=", "<link", "@import", "url("})
    EXPECT_FALSE(has(text, load)) << load;
}

TEST_F(SelectPageTest, SaysWhatHappened) {
  const std::string text = page_of_record(with_theory());
  EXPECT_TRUE(has(text,
                  "1 input of 3 tokens in R³, prompt p trained on logistic loss by normalised "
                  "gradient descent: selects token 1, locally optimal, not the best tokens"));
  EXPECT_TRUE(has(text, "token 0 of input 0 (margin 1.09)"));
  EXPECT_TRUE(has(text, "proved, norm² = 1"));
  EXPECT_TRUE(has(text, "step 7"));        // 0.7 / step: when the token was selected
  EXPECT_TRUE(has(text, "<td>0.9</td>"));  // its score
  EXPECT_TRUE(has(text, "2 found among 3 margin problems; there are no others"));
  EXPECT_TRUE(has(text, "<td>33.33 %</td>"));
  EXPECT_TRUE(has(text, "attractor select problem.json --steps 100"));
}

TEST_F(SelectPageTest, MarginOfTheWeightsReached) {
  SelectRecord record = select_record();
  record.leads = {-1};
  EXPECT_TRUE(has(page_of_record(record), "<td>-1</td>"));
  record.leads = {};  // weights of length zero have none
  EXPECT_FALSE(has(page_of_record(record), "<td>-1</td>"));
}

TEST_F(SelectPageTest, EqualRecordsEqualBytes) {
  EXPECT_EQ(page_of_record(with_theory()), page_of_record(with_theory()));
  expect_same_file([](const auto& path) { write_result_file(with_theory(), path); });
}

TEST_F(SelectPageTest, EscapesWhatComesFromOutside) {
  SelectRecord record = select_record();
  record.setup.data.name = kHostileName;
  expect_escaped(page_of_record(record));
}

TEST_F(SelectPageTest, UnknownNumbers) {
  SelectRecord record = with_theory();
  for (SelectMoment& m : record.series)
    for (const auto& [name, field] : select_columns())
      if (name != "steps" && name != "log10_time") m.*field = kNan;
  record.trajectory.assign(record.trajectory.size(), kNan);
  record.softmax.assign(3, kNan);
  record.cosine = record.velocity_cosine = record.loss = record.softmax_min = kNan;
  record.path_cosine.assign(3, kNan);
  for (const PageFigure& f : select_figures(record)) {
    EXPECT_TRUE(f.figure.id == "plane" || f.figure.id == "basins") << f.figure.id;
    EXPECT_TRUE(has(report::svg(f.figure), "</svg>")) << f.figure.id;
  }
  const std::string text = page_of_record(record);
  for (const char* nothing : {">nan", " nan"}) EXPECT_FALSE(has(text, nothing));
  write_result_file(record, directory_ / "result.h5");
  EXPECT_TRUE(std::isnan(Hdf5Reader(directory_ / "result.h5").read("/series/loss").data[0]));
}

TEST_F(SelectPageTest, ThinRecords) {
  SelectRecord record = select_record();  // a run that left the range of numbers
  record.status = flow::Status::not_finite;
  record.selected.clear(), record.lock_in.clear(), record.softmax.clear();
  record.series.clear(), record.trajectory.clear();
  record.svm.reset();
  EXPECT_TRUE(has(page_of_record(record), "gradient descent: not finite</h1>"));
  write_result_file(record, directory_ / "result.h5");
  record = select_record();  // a given choice, and it is infeasible
  record.trained = false;
  record.series.clear(), record.trajectory.clear(), record.lock_in.clear();
  record.svm = MaxMargin{.chosen = {1},
                         .lower = 1e17,
                         .upper = kInfinity,
                         .farkas_residual = 1e-17,
                         .support = {{0, 1.0}}};
  record.local = training::LocalChoices{.complete = true};  // there is none
  const std::string text = page_of_record(record);
  EXPECT_TRUE(has(text, "which no weights of norm below 10<sup>17</sup> can separate"));
  EXPECT_TRUE(has(text, "Farkas residual 10<sup>−17</sup>"));
  record.svm->lower = kInfinity;  // the multipliers cancel exactly
  EXPECT_TRUE(has(page_of_record(record), "which no weights can separate"));
  write_result_file(record, directory_ / "result.h5");
  EXPECT_FALSE(Hdf5Reader(directory_ / "result.h5").exists("/svm/solution"));
}

// K and Q with one column beside a solution of rank two.
TEST_F(SelectPageTest, NamesASolutionOutOfReach) {
  SelectRecord record = select_record();
  EXPECT_FALSE(has(page_of_record(record), "out of reach"));
  record.svm->rank = 2;
  record.svm->factor_rank = 1;
  record.svm->reach = 0.8;
  const std::string text = page_of_record(record);
  EXPECT_TRUE(has(text, "Compared with a solution out of reach"));
  EXPECT_TRUE(has(text, "at most 0.8"));
  const auto json = summary_of(record, 0);
  EXPECT_EQ(json["svm_in_reach"], false);
  EXPECT_EQ(json["factor_rank"], 1);
  EXPECT_EQ(json["largest_cosine_in_reach"], 0.8);
}

TEST_F(SelectPageTest, ResultFileHoldsTheRecord) {
  const SelectRecord record = with_theory();
  const fs::path path = directory_ / "result.h5";
  write_result_file(record, path);
  const Hdf5Reader file(path);
  const auto expect = [&](const char* name, const std::vector<std::size_t>& shape,
                          const std::vector<double>& data) {
    const Array array = file.read(name);
    EXPECT_EQ(array.shape, shape) << name;
    EXPECT_EQ(array.data, data) << name;
  };
  expect("/problem/X", {1, 3, 3}, record.problem.x);
  expect("/problem/W", {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 0});
  expect("/problem/p0", {3}, {0, -1, 0});
  expect("/trajectory/weights", {5, 3}, record.trajectory);
  expect("/series/steps", {5}, {0, 1, 10, 50, 100});
  expect("/final/p", {3}, record.weights);
  expect("/final/softmax", {1, 3}, {0.1, 0.8, 0.1});
  expect("/final/selected", {1}, {1});
  expect("/final/lock_in_log10_time", {1}, {record.lock_in[0].log() / std::numbers::ln10});
  expect("/svm/solution", {3}, {1, 0, 0});
  expect("/svm/support/row", {1}, {1});
  expect("/svm/neighbours/token", {1}, {2});
  expect("/svm/rivals/margin", {1}, {1.09});
  expect("/local_choices/chosen", {2, 1}, {0, 1});
  expect("/path/radius", {3}, {1, 10, 100});
  expect("/path/weights", {3, 3}, {1, 0, 0, 10, 0, 0, 100, 0, 0});
  expect("/path/head", {3, 0}, {});
  expect("/basins/limit", {9}, {1, 1, 1, -1, -1, -1, 0, 0, 0});
  expect("/basins/limits/chosen", {2, 1}, {0, 1});
  EXPECT_EQ(file.text_attribute("/", "format"), "attractor select 1");
  EXPECT_EQ(file.text_attribute("/svm", "status"), "optimal");
  EXPECT_EQ(file.number_attribute("/svm", "locally_optimal"), 1);
  EXPECT_EQ(file.number_attribute("/svm", "globally_optimal"), 0);
  EXPECT_EQ(file.text_attribute("/svm/exact", "squared_norm"), "1");
  EXPECT_EQ(file.number_attribute("/basins", "side"), 3);
  EXPECT_EQ(file.read("/trajectory/block_offsets").data, std::vector<double>{0});
}

TEST(SelectFigures, PlaneOfTheKeysOnly) {
  EXPECT_NE(find_figure(select_figures(select_record()), "plane"), nullptr);
  SelectRecord record = select_record();
  record.problem = training::with_scores(1, 4, 3, {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, .5});
  record.svm.reset();
  record.trajectory.clear();
  EXPECT_EQ(find_figure(select_figures(record), "plane"), nullptr);
}

// Turned keys span a plane that is no coordinate plane: distances in it are theirs.
TEST(SelectFigures, PlaneKeepsLengths) {
  SelectRecord record = select_record();
  const double s = std::sqrt(0.5);
  record.problem.weights = {s, s, 0, 0, 0, 1, 0, 0, 0};  // k = (x s, x s, y)
  const std::vector<PageFigure> figures = select_figures(record);
  const PageFigure* plane = find_figure(figures, "plane");
  ASSERT_NE(plane, nullptr);
  const report::Series& keys = plane->figure.panels[0].series.back();
  ASSERT_EQ(keys.x.size(), 3u);
  const auto distance = [&](std::size_t a, std::size_t b) {
    return std::hypot(keys.x[a] - keys.x[b], keys.y[a] - keys.y[b]);
  };
  EXPECT_NEAR(distance(0, 1), std::hypot(1.1, 1), 1e-12);
  EXPECT_NEAR(distance(1, 2), 1, 1e-12);
  EXPECT_NEAR(distance(0, 2), std::hypot(0.1, 1), 1e-12);
}

// v and p in one plane; p has two candidates, the relaxed solution and that of all inputs.
TEST_F(SelectPageTest, JointTraining) {
  SelectRecord r;
  r.setup.train = training::Train::v_p;
  r.problem = training::example({.name = "joint-relaxed"});
  r.blocks = {{"p", 0, 2}, {"v", 2, 2}};
  r.trained = true;
  r.svm = MaxMargin{.chosen = {1, 1, 1},
                    .status = solve::MarginStatus::optimal,
                    .solution = {1.25, .25},
                    .norm = std::hypot(1.25, .25),
                    .relative_gap = 0};
  r.relaxed = r.svm;
  r.relaxed->solution = {1, 0};
  r.relaxed->relaxed = {false, false, true};
  r.label = training::LabelMargin{.svm = {.p = {0, 1}, .norm = 1}, .support = {true, true, false}};
  r.selected = {1, 1, 1};
  r.trajectory = {0, -1, -1, 0, 4, 1, 0, 3, 9, 0, 0, 9};
  r.series.resize(3);
  r.weights = {9, 0, 0, 9};
  r.attention = {9, 0};
  r.head = {0, 9};
  const std::vector<PageFigure> figures = select_figures(r);
  const PageFigure* plane = find_figure(figures, "plane");
  ASSERT_NE(plane, nullptr);
  const report::Panel& paths = plane->figure.panels.at(1);
  EXPECT_EQ(paths.title, "paths of p and v");
  EXPECT_FALSE(paths.bare);  // norms up to 9: drawn to scale
  const report::Series& p = paths.series[paths.series.size() - 4];
  EXPECT_EQ(p.x, (std::vector<double>{0, 4, 9}));
  EXPECT_EQ(p.y, (std::vector<double>{-1, 1, 0}));
  EXPECT_EQ(p.colour, report::kVermillion);
  EXPECT_EQ(paths.series[0].colour, report::kGrey);        // all inputs
  EXPECT_EQ(paths.series[1].colour, report::kVermillion);  // relaxed
  const std::string text = page_of_record(r);
  EXPECT_TRUE(has(text, "head v and prompt p trained"));
  EXPECT_TRUE(has(text, "2 support inputs"));
  write_result_file(r, directory_ / "result.h5");
  const Hdf5Reader file(directory_ / "result.h5");
  EXPECT_EQ(file.read("/relaxed_svm/relaxed").data, (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(file.read("/label_svm/solution").data, (std::vector<double>{0, 1}));
  EXPECT_EQ(file.read("/final/v").data, (std::vector<double>{0, 9}));
  EXPECT_EQ(file.read("/trajectory/block_offsets").data, (std::vector<double>{0, 2}));
}

// |p| = |p^mm| ln t for gradient descent: a factor of ten in time adds |p^mm| ln 10.
TEST(SelectFigures, NormGuideHasTheSlopeOfTheory) {
  SelectRecord record = select_record();
  record.setup.optimizer = Optimizer::gd;
  record.svm->norm = 0.25;
  const std::vector<PageFigure> figures = select_figures(record);
  const report::Series& guide = find_figure(figures, "norm")->figure.panels[0].series.back();
  ASSERT_EQ(guide.x.size(), 5u);
  EXPECT_EQ(guide.y[4], record.series.back().attention_norm);
  EXPECT_NEAR(guide.y[4] - guide.y[2], 0.25 * std::numbers::ln10, 1e-12);
}

TEST(SelectFigures, SharesOfRandomStarts) {
  SelectRecord record = with_theory();
  record.basins->axes.clear();
  const std::vector<PageFigure> figures = select_figures(record);
  const report::Series& bars = find_figure(figures, "basins")->figure.panels[0].series.back();
  for (const double share : bars.y) EXPECT_DOUBLE_EQ(share, 1.0 / 3);
  EXPECT_EQ(bars.y.size(), 3u);
}

TEST(TokenList, FirstTwelve) {
  EXPECT_EQ(token_list(std::vector<std::size_t>{0, 2, 1}), "0 2 1");
  EXPECT_EQ(token_list(std::vector<std::size_t>(12, 7)), "7 7 7 7 7 7 7 7 7 7 7 7");
  EXPECT_EQ(token_list(std::vector<std::size_t>(13, 7)), "7 7 7 7 7 7 7 7 7 7 7 7 …");
}

}  // namespace
}  // namespace attractor::lab
