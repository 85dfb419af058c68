#include "attractor/commands/bridge/bridge_page.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/bridge/bridge_numbers.hpp"
#include "attractor/drawing/figure_file.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/lab/flow/flow_experiment.hpp"
#include "attractor/space/space.hpp"
#include "attractor/training/examples.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/record_files.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

// |p| = 2 ln t along the max-margin direction p^mm = (2, 0) of one input of three tokens, whose
// logistic passes one half at |p| = 2 ln 2: at t = 2. Four tokens on the circle end in one cluster
// under the first checkpoint, in two under the second.
BridgeRecord bridge_record() {
  BridgeRecord r;
  r.setup.data.name = "problem.json";
  r.setup.time = 7;
  r.training.problem = {.inputs = 1, .tokens = 3, .dim = 2};
  r.training.selected = {1};
  r.training.weights = {2 * std::log(8.0), 0};
  r.training.svm = training::MaxMargin{.chosen = {1},
                                       .status = solve::MarginStatus::optimal,
                                       .solution = {2, 0},
                                       .norm = 2,
                                       .locally_optimal = true};
  for (const double t : {0.0, 1.0, 2.0, 4.0, 8.0}) {
    const double norm = t > 1 ? 2 * std::log(t) : 0;
    r.moments.push_back({.log_time = std::log(t),
                         .norm = norm,
                         .margin = 0.5,
                         .softmax_min = logistic_weight(3, norm / 2),
                         .bound = logistic_weight(3, norm / 2)});
    SelectMoment m;
    m.log10_time = std::log10(t);
    m.entropy = std::log(3.0) / (1 + t);
    r.training.series.push_back(m);
    r.training.trajectory.insert(r.training.trajectory.end(), {norm, 0});
  }
  r.start = {.dim = 2, .data = {1, 0, 0, 1, -1, 0, 0, -1}};
  BridgeCheckpoint c{.training = r.moments[2], .weights = {2 * std::log(2.0), 0}};
  c.start.attention_entropy = std::log(4.0) / 2;
  c.end.clusters = 1;
  c.first_merge = 0.25;
  c.positions = {1, 0, 1, 0, 1, 0, 1, 0};
  c.clusters = {0, 0, 0, 0};
  r.checkpoints.push_back(c);
  c.training = r.moments[4];
  c.end.clusters = 2;
  c.first_merge = std::nullopt;
  c.positions = {1, 0, 1, 0, -1, 0, -1, 0};
  c.clusters = {0, 0, 1, 1};
  r.checkpoints.push_back(c);
  r.theory = {.norm = 2,
              .slope = 2,
              .transition_norm = 2 * std::log(2.0),
              .transition_log_time = std::log(2.0),
              .half_log_time = std::log(2.0)};
  return r;
}

class BridgeTest : public PageTest {
 protected:
  std::string page_of_record(const BridgeRecord& record) {
    return written([&] { write_record_page(record, directory_); });
  }

  BridgeSetup parameters_for(const training::Problem& problem) {
    BridgeSetup p;
    p.data.name = "problem.json";
    p.data.problem = std::make_shared<const training::Problem>(problem);
    p.tokens = 12;
    p.time = 3;
    p.checkpoints = 4;
    return p;
  }

  static std::string refusal(const BridgeSetup& p) {
    try {
      (void)BridgeRun(p);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
};

// `attractor flow` with the same attention moves every token to the same place.
double distance_to_flow(const BridgeRecord& r, const BridgeCheckpoint& c, const WeightInput& query,
                        double beta) {
  FlowSetup flow;
  flow.beta = beta;
  flow.query = query;
  flow.tokens = r.start.count();
  flow.dim = r.start.dim;
  flow.seed = r.setup.seed;
  flow.time = r.setup.time;
  flow.tolerance = r.setup.tolerance;
  const FlowRecord record = run_flow(flow, {});
  EXPECT_EQ(record.series.back().clusters, c.end.clusters);
  EXPECT_NEAR(record.series.front().attention_entropy, c.start.attention_entropy, 1e-12);
  EXPECT_NEAR(record.series.back().energy_ratio / c.end.energy_ratio, 1, 1e-6);
  return std::sqrt(squared_distance(record.snapshots.back().positions, c.positions));
}

TEST_F(BridgeTest, EveryCheckpointIsAFlowOfItsOwn) {
  const BridgeSetup p = parameters_for(training::example({.name = "authors-like"}));
  const BridgeRecord r = run_bridge(p, {});
  ASSERT_EQ(r.status, flow::Status::complete);
  ASSERT_EQ(r.checkpoints.size(), 4u);
  for (std::size_t k = 0; k < 4; ++k) {  // from 10^-2 to 10^30 in four equal parts
    const BridgeCheckpoint& c = r.checkpoints[k];
    const double log10 = -2 + 32 * static_cast<double>(k + 1) / 4;
    EXPECT_NEAR(c.training.log_time, log10 * std::numbers::ln10, 1e-12);
    EXPECT_EQ(c.training.norm, norm(c.weights));
    EXPECT_EQ(distance_to_flow(r, c, {}, norm(c.weights)), 0);
  }
}

TEST_F(BridgeTest, MatrixAsksAsInTraining) {
  BridgeSetup p = parameters_for(training::example({.name = "self-attention"}));
  p.train = training::Train::W;
  const BridgeRecord r = run_bridge(p, {});
  ASSERT_EQ(r.status, flow::Status::complete);
  const std::size_t d = r.training.problem.dim;
  EXPECT_EQ(r.start.dim, d);
  const BridgeCheckpoint& c = r.checkpoints[1];
  // Training: the logit of token t for query z is x_t^T W z. Depth: beta <Q x_i, x_j>, W = beta Q.
  EXPECT_LT(distance_to_flow(r, c, Array{.shape = {d, d}, .data = c.weights}, 1), 1e-7);
}

TEST_F(BridgeTest, SelectedWeightStaysAboveTheBound) {
  for (const training::Train train : {training::Train::p, training::Train::W}) {
    BridgeSetup p = parameters_for(training::example({.name = "random", .queries = "unit"}));
    p.train = train;
    if (p.train == training::Train::p)
      p = parameters_for(training::example({.name = "multi", .seed = 4}));
    p.tokens = 2;
    const BridgeRecord r = run_bridge(p, {});
    ASSERT_TRUE(r.training.svm->feasible());
    bool tight = false;
    for (const BridgeMoment& m : r.moments) {
      EXPECT_GE(m.softmax_min, m.bound * (1 - 1e-12)) << "ln t = " << m.log_time;
      if (m.norm > 0) {
        EXPECT_LE(m.margin, (1 + 1e-12) / r.theory.norm);
      }
      tight = tight || m.margin * r.theory.norm > 0.9;
    }
    EXPECT_TRUE(tight) << "the margin must come close to the largest";
    EXPECT_LT(r.moments.front().bound, 0.5);
    EXPECT_GT(r.moments.back().bound, 0.999);
  }
}

// One useful token and T - 1 useless ones: u = |p| obeys u' = s (1 - s), s = 1 / (1 + (T-1) e^-u),
// so s = 1/2 at t = T - T / (T - 1) + 2 ln(T - 1), where u = ln(T - 1). |p^mm| = 1.
TEST_F(BridgeTest, SolvableCase) {
  constexpr std::size_t kTokens = 10;
  training::Problem problem{.inputs = 1, .tokens = kTokens, .dim = 2, .labels = {1}};
  problem.x = {1, 0, 0, 0};
  for (std::size_t k = 1; k <= (kTokens - 2) / 2; ++k)  // in pairs: their pulls cancel
    for (const double sign : {1.0, -1.0})
      problem.x.insert(problem.x.end(), {0, sign * static_cast<double>(k) / 16});
  problem.head.v = {1, 0};
  problem.prompt = {0, 0};
  BridgeSetup p = parameters_for(problem);
  p.loss = training::Loss::linear;
  const double time = 10 - 10.0 / 9 + 2 * std::log(9.0);
  p.log10_time = std::log10(time);
  const BridgeRecord r = run_bridge(p, {});
  EXPECT_NEAR(r.moments.back().softmax_min, 0.5, 1e-9);
  EXPECT_NEAR(r.moments.back().bound, 0.5, 1e-9);
  EXPECT_NEAR(r.moments.back().norm, std::log(9.0), 1e-8);
  EXPECT_NEAR(r.theory.norm, 1, 1e-12);
  EXPECT_NEAR(r.theory.transition_norm, std::log(9.0), 1e-12);
  p.log10_time = 6;  // the same moment, found on the way
  const BridgeRecord longer = run_bridge(p, {});
  EXPECT_NEAR(longer.theory.transition_log_time, std::log(time), 1e-8);
  EXPECT_NEAR(longer.theory.half_log_time, std::log(time), 1e-8);
  EXPECT_NEAR(longer.theory.slope, 1, 1e-2);
  p.log10_time = 1000;  // before the first moment
  EXPECT_NEAR(run_bridge(p, {}).theory.half_log_time, std::log(time), 1e-8);
}

// Of two tokens one always has half the weight: ln 1 = 0.
TEST_F(BridgeTest, TwoTokensSelectFromTheStart) {
  training::Problem problem{.inputs = 1, .tokens = 2, .dim = 2, .labels = {1}};
  problem.x = {1, 0, 0, 1};
  problem.head.v = {1, 0};
  problem.prompt = {0, 0};
  const BridgeRecord r = run_bridge(parameters_for(problem), {});
  EXPECT_EQ(r.theory.transition_norm, 0);
  EXPECT_EQ(r.theory.transition_log_time, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(has(page_of_record(r), "crossed: from the start<"));
  EXPECT_TRUE(summary_of(r, 0)["transition_log_time"].is_null());
}

TEST_F(BridgeTest, Refusals) {
  training::Problem problem = training::example({.name = "single-local"});
  BridgeSetup p = parameters_for(problem);
  EXPECT_EQ(refusal(p), "accepted");
  p.dim = 1;
  EXPECT_EQ(refusal(p), "dim = 1 is not allowed; allowed: 0, or 2 to 65536");
  problem.prompt = {1, 0, 0};
  p = parameters_for(problem);
  p.dim = 5;
  p.train = training::Train::W;
  EXPECT_TRUE(has(refusal(p), "dim = 5 does not fit W, which is 3 x 3"));
  p = parameters_for(problem);
  p.tokens_from = TokensFrom::problem;
  EXPECT_TRUE(has(refusal(p), "token 2 of the first input is zero"));
  EXPECT_EQ(attractor::refusal([&] { check_use(list(p), {"tokens"}); }),
            "tokens is used by tokens-from random only, not by tokens-from problem");
  EXPECT_NO_THROW(check_use(list(p), {"time"}));
}

TEST_F(BridgeTest, TokensOfTheProblem) {
  const training::Problem problem = training::example({.name = "authors-like"});
  BridgeSetup p = parameters_for(problem);
  p.tokens_from = TokensFrom::problem;
  const BridgeRecord r = run_bridge(p, {});
  ASSERT_EQ(r.start.count(), problem.tokens);
  for (std::size_t t = 0; t < problem.tokens; ++t) {
    const auto own = std::span(r.start.data).subspan(t * problem.dim, problem.dim);
    EXPECT_NEAR(norm(own), 1, 1e-15);
    EXPECT_NEAR(dot(own, problem.token(0, t)), norm(problem.token(0, t)), 1e-14);
  }
}

TEST_F(BridgeTest, StopsWhenAsked) {
  const BridgeSetup p = parameters_for(training::example({.name = "authors-like"}));
  EXPECT_EQ(run_bridge(p, {.stop = [] { return true; }}).status, flow::Status::interrupted);
  bool flowing = false;
  const BridgeRecord r = run_bridge(p, {.stop = [&] { return flowing; },
                                        .report =
                                            [&](double, const std::string& note) {
                                              flowing = note == "tokens, checkpoint 2 of 4";
                                            }});
  EXPECT_EQ(r.status, flow::Status::interrupted);
  EXPECT_EQ(r.checkpoints.size(), 2u);
}

TEST_F(BridgeTest, EveryFigureIsAFile) {
  write_record(bridge_record(), 0.5, directory_);
  const std::string text = read_file(directory_ / "index.html", 1 << 26);
  EXPECT_EQ(count(text, "<figure "), 5u);
  for (const std::string id : {"norm", "weight", "tokens", "clusters", "entropy"}) {
    EXPECT_TRUE(has(text, "id=\"figure-" + id + "\"")) << id;
    EXPECT_TRUE(fs::exists(directory_ / "figures" / (id + ".svg"))) << id;
  }
  EXPECT_TRUE(text.starts_with("<!doctype html>"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
  for (const std::string_view load : {"https://", " src=", "<link", "@import", "url("})
    EXPECT_FALSE(has(text, load)) << load;
  const Hdf5Reader file(directory_ / "result.h5");
  EXPECT_EQ(file.text_attribute("/", "format"), "attractor bridge 1");
  EXPECT_EQ(file.number_attribute("/", "slope"), 2);
  EXPECT_EQ(file.read("/tokens/end").shape, (std::vector<std::size_t>{2, 4, 2}));
  EXPECT_EQ(file.read("/tokens/clusters").data, (std::vector<double>{0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(file.read("/checkpoints/end_clusters").data, (std::vector<double>{1, 2}));
  EXPECT_TRUE(std::isnan(file.read("/checkpoints/first_merge").data[1]));
  EXPECT_EQ(file.read("/training/weights").shape, (std::vector<std::size_t>{5, 2}));
  EXPECT_TRUE(fs::exists(directory_ / "summary.json"));
}

TEST_F(BridgeTest, SaysWhatHappened) {
  const std::string text = page_of_record(bridge_record());
  EXPECT_TRUE(has(text,
                  "Training p until t = 8 cools attention from β = 1.39 to 4.16: the same 4 tokens "
                  "on the circle end in 1 cluster under the first checkpoint, in 2 clusters under "
                  "the last"));
  EXPECT_TRUE(has(text, "crossed: t = 2<"));
  EXPECT_TRUE(has(text, "<td>depth 0.25</td>"));
  EXPECT_TRUE(has(text, "attractor bridge problem.json --time 7"));
  EXPECT_FALSE(has(text, "minimum of finite norm"));
  BridgeRecord resting = bridge_record();
  resting.training.at_minimum = true;
  EXPECT_TRUE(has(page_of_record(resting), "minimum of finite norm"));
}

TEST_F(BridgeTest, SummaryHasNullsWhereNothingIsKnown) {
  BridgeRecord record = bridge_record();
  record.theory.transition_log_time = kNan;
  const Json json = summary_of(record, 1.5);
  EXPECT_EQ(json["slope"], 2.0);
  EXPECT_TRUE(json["transition_log_time"].is_null());
  EXPECT_EQ(json["checkpoints"][0]["first_merge"], 0.25);
  EXPECT_TRUE(json["checkpoints"][1]["first_merge"].is_null());
  EXPECT_EQ(json["checkpoints"][1]["clusters"], 2.0);
  EXPECT_EQ(json["parameters"]["data"], "problem.json");
}

TEST_F(BridgeTest, EqualRecordsEqualBytes) {
  EXPECT_EQ(page_of_record(bridge_record()), page_of_record(bridge_record()));
  expect_same_file([](const auto& path) { write_result_file(bridge_record(), path); });
}

TEST_F(BridgeTest, EscapesWhatComesFromOutside) {
  BridgeRecord record = bridge_record();
  record.setup.data.name = kHostileName;
  expect_escaped(page_of_record(record));
}

TEST_F(BridgeTest, UnknownNumbers) {
  BridgeRecord record = bridge_record();
  record.training.svm->status = solve::MarginStatus::infeasible;
  record.theory = {kNan, kNan, kNan, kNan, kNan};
  const std::string text = page_of_record(record);
  for (const char* nothing : {">nan", " nan", "–</dd>", "<dd>–"}) EXPECT_FALSE(has(text, nothing));
  EXPECT_TRUE(has(text, "not crossed during this run"));
  for (const PageFigure& f : bridge_figures(record)) EXPECT_FALSE(has(f.caption, "nan"));
  EXPECT_EQ(bridge_figures(record)[0].figure.panels[0].series.size(), 2u) << "no line of theory";
  EXPECT_TRUE(bridge_figures(record)[1].figure.panels[0].vertical.empty());
}

TEST(LogisticWeight, ClosedForm) {
  EXPECT_EQ(logistic_weight(2, 0), 0.5);
  EXPECT_DOUBLE_EQ(logistic_weight(100, std::log(99.0)), 0.5);
  EXPECT_DOUBLE_EQ(logistic_weight(5, 0), 0.2);
  EXPECT_DOUBLE_EQ(logistic_weight(3, -std::log(2.0)), 0.2);
  EXPECT_EQ(logistic_weight(7, 1000), 1);
  EXPECT_EQ(logistic_weight(7, -1000), 0);
}

TEST(BridgeFigures, CurvesOfTheory) {
  const std::vector<PageFigure> figures = bridge_figures(bridge_record());
  ASSERT_EQ(figures.size(), 5u);
  const report::Panel& norm = figures[0].figure.panels[0];
  const report::Series& guide = norm.series[0];  // log10 t, so ln 10 times as steep
  EXPECT_TRUE(guide.dashed);
  EXPECT_NEAR((guide.y[4] - guide.y[2]) / (guide.x[4] - guide.x[2]), 2 * std::numbers::ln10, 1e-12);
  EXPECT_EQ(guide.y[4], norm.series[1].y[4]);
  const report::Panel& weight = figures[1].figure.panels[0];
  ASSERT_EQ(weight.vertical.size(), 1u);
  EXPECT_DOUBLE_EQ(weight.vertical[0].at, 2 * std::log(2.0));
  const report::Series& logistic = weight.series[0];
  for (std::size_t k = 0; k < logistic.x.size(); ++k)
    EXPECT_EQ(logistic.y[k] >= 0.5, logistic.x[k] >= weight.vertical[0].at) << logistic.x[k];
  const report::Figure& tokens = figures[2].figure;
  ASSERT_EQ(tokens.panels.size(), 3u);
  EXPECT_EQ(tokens.panels[0].title, "start of every flow");
  EXPECT_EQ(tokens.panels[2].title, "t = 8:  2 clusters");
  const report::Series& mode = figures[3].figure.panels[0].series[0];  // on the circle
  EXPECT_DOUBLE_EQ(mode.y[1], std::sqrt(4 * std::log(8.0)));
  EXPECT_DOUBLE_EQ(figures[4].figure.panels[0].series[1].y[0], 0.5);  // entropy of depth
}

}  // namespace
}  // namespace attractor::lab
