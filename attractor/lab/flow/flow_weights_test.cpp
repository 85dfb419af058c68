// Weights that were drawn, written to result.h5 and given again as files make the same run, to the
// last bit; files of another shape are refused.
#include "attractor/lab/flow/flow_weights.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "attractor/base/random.hpp"
#include "attractor/commands/flow/flow_numbers.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/files/load_inputs.hpp"
#include "attractor/lab/flow/flow_experiment.hpp"
#include "tests/support/observations.hpp"
#include "tests/support/record_files.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

class FlowWeightsTest : public testing::Test {
 protected:
  FlowWeightsTest()
      : directory_(fs::path(testing::TempDir()) /
                   fmt::format("weights_{}_{}", ::getpid(),
                               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~FlowWeightsTest() override { fs::remove_all(directory_); }

  // Normal numbers, as if they came from a file of this name.
  static ArrayInput array(const std::string& name, std::vector<std::size_t> shape) {
    std::size_t size = 1;
    for (const std::size_t s : shape) size *= s;
    Array values{std::move(shape), std::vector<double>(size)};
    Stream(3, name).normals(0, values.data);
    return called(name, std::move(values));
  }
  static ArrayInput called(const std::string& name, Array values) {
    ArrayInput input(std::move(values));
    input.name = name;
    return input;
  }
  static WeightInput weights(const std::string& name, std::vector<std::size_t> shape) {
    return given(array(name, std::move(shape)));
  }
  static WeightInput given(ArrayInput array) {
    WeightInput input;
    input.given = std::move(array);
    return input;
  }

  FlowRecord run(const FlowSetup& p, const std::string& name) const {
    FlowRecord record = run_flow(p, {});
    write_result_file(record, directory_ / name);
    return record;
  }

  std::string refused(const FlowSetup& p) const {
    return refusal([&] { FlowRun run(p); });
  }

  const fs::path directory_;
};

// Takes from the file what the group has.
FlowSetup with_weights(FlowSetup p, const std::string& file, const std::string& group) {
  const Hdf5Reader reader(file);
  const ParameterList parameters = list(p);
  for (const char* name : {"query", "key", "value", "output", "feed_forward_in",
                           "feed_forward_bias", "feed_forward_out", "gain"}) {
    std::string parameter = name;
    std::ranges::replace(parameter, '_', '-');
    if (reader.exists(group + "/" + name))
      find(parameters, parameter).set(fmt::format("{}:{}/{}", file, group, name));
  }
  load_inputs(parameters, "");
  return p;
}

void expect_same_tokens(const FlowRecord& a, const FlowRecord& b) {
  EXPECT_EQ(a.engine, b.engine);
  EXPECT_EQ(a.steps, b.steps);
  ASSERT_EQ(a.snapshots.size(), b.snapshots.size());
  for (std::size_t k = 0; k < a.snapshots.size(); ++k)
    EXPECT_EQ(a.snapshots[k].positions, b.snapshots[k].positions) << k;
  ASSERT_EQ(a.series.size(), b.series.size());
  for (std::size_t k = 0; k < a.series.size(); ++k)
    EXPECT_TRUE(observe::same_bits(a.series[k], b.series[k])) << k;
}

TEST_F(FlowWeightsTest, DrawnWeightsGivenAgainMakeTheSameRun) {
  const FlowSetup cases[] = {{.query = WeightKind::gaussian,
                              .key = WeightKind::orthogonal,
                              .value = WeightKind::goe,
                              .tokens = 7,
                              .dim = 5,
                              .time = 2},
                             {.dynamics = Rule::unnormalised,
                              .value = WeightKind::psd,
                              .tokens = 6,
                              .dim = 3,
                              .seed = 4,
                              .time = 1},
                             {.query = WeightKind::gaussian,
                              .key = WeightKind::gaussian,
                              .value = WeightKind::minus_qk,
                              .tokens = 6,
                              .dim = 4,
                              .time = 1},
                             {.query = WeightKind::gaussian,
                              .key = WeightKind::gaussian,
                              .value = WeightKind::wigner,
                              .output = WeightKind::orthogonal,
                              .heads = 3,
                              .rank = 2,
                              .mask = MaskKind::causal,
                              .norm = Normalisation::pre,
                              .feed_forward = depth::Activation::gelu,
                              .width = 11,
                              .strength = 0.5,
                              .tokens = 8,
                              .dim = 4,
                              .seed = 9,
                              .time = 2},
                             {.dynamics = Rule::hardmax,
                              .value = WeightKind::qk,
                              .heads = 2,
                              .feed_forward = depth::Activation::relu,
                              .tokens = 5,
                              .dim = 3,
                              .time = 1,
                              .stepper = flow::Method::layers}};
  for (std::size_t k = 0; k < std::size(cases); ++k) {
    const std::string name = fmt::format("{}.h5", k);
    const FlowRecord drawn = run(cases[k], name);
    const FlowSetup given = with_weights(cases[k], (directory_ / name).string(), "/weights");
    EXPECT_NE(command(given), command(cases[k])) << k;
    expect_same_tokens(run(given, name + ".given"), drawn);
  }
}

// Finite weights whose logits no double holds end a run where it is, by any stepper and any way
// into the logits; it used to stand still until its end time and call that complete.
TEST_F(FlowWeightsTest, LogitsBeyondDoublesAreNoCompletion) {
  const FlowSetup calm{.norm = Normalisation::pre, .tokens = 6, .dim = 4, .time = 1};
  const auto huge = [](double size) { return ArrayInput(Array{{4}, std::vector(4, size)}); };
  for (const double size : {1e160, 1e250, 1e308})
    for (const flow::Method stepper :
         {flow::Method::adaptive, flow::Method::euler, flow::Method::layers}) {
      FlowSetup gain = calm, keys = calm;
      gain.stepper = keys.stepper = stepper;
      gain.gain = huge(size);
      keys.query_gain = keys.key_gain = huge(size);
      for (const FlowSetup& p : {gain, keys}) {
        const FlowRecord record = run_flow(p, {});
        EXPECT_EQ(outcome(record), "not_finite") << size;
        EXPECT_EQ(record.time, flow::Time(0)) << size;
      }
    }
  EXPECT_EQ(outcome(run_flow(calm, {})), "complete");
}

TEST(FlowOutcome, IsCompleteOnlyWhereAttentionWasToo) {
  FlowRecord record;
  record.status = flow::Status::complete;
  EXPECT_EQ(outcome(record), "complete");
  EXPECT_EQ(remedy(record), "");
  record.layer_status = LayerStatus::sinkhorn_unconverged;
  EXPECT_EQ(outcome(record), name(LayerStatus::sinkhorn_unconverged));
  EXPECT_EQ(remedy(record), "lower beta");
  record.status = flow::Status::too_many_steps;
  EXPECT_EQ(outcome(record), "too_many_steps");
}

TEST_F(FlowWeightsTest, AreInTheResultWithTheirShapes) {
  const FlowSetup p{.query = WeightKind::gaussian,
                    .key = WeightKind::gaussian,
                    .value = WeightKind::orthogonal,
                    .output = WeightKind::goe,
                    .heads = 3,
                    .rank = 2,
                    .gain = array("gain.npy", {5}),
                    .feed_forward = depth::Activation::relu,
                    .width = 7,
                    .tokens = 4,
                    .dim = 5,
                    .time = 0.1};
  const FlowRecord record = run(p, "result.h5");
  const Hdf5Reader file(directory_ / "result.h5");
  const std::pair<const char*, std::vector<std::size_t>> shapes[] = {
      {"query", {3, 2, 5}},         {"key", {3, 2, 5}},
      {"value", {3, 5, 5}},         {"output", {5, 5}},
      {"feed_forward_in", {7, 5}},  {"feed_forward_bias", {7}},
      {"feed_forward_out", {5, 7}}, {"gain", {5}}};
  for (const auto& [name, shape] : shapes)
    EXPECT_EQ(file.read(fmt::format("/weights/{}", name)).shape, shape) << name;
  EXPECT_EQ(file.number_attribute("/weights", "left_out"), 0);
  EXPECT_EQ(file.number_attribute("/weights", "numbers"),
            static_cast<double>(record.weights.numbers()));
  EXPECT_FALSE(file.exists("/weights/last"));
  // One head's V is orthogonal, and not the next one's.
  const std::vector<double> value = file.read("/weights/value").data;
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = 0; b < 5; ++b) {
      double sum = 0;
      for (std::size_t c = 0; c < 5; ++c) sum += value[5 * a + c] * value[5 * b + c];
      EXPECT_NEAR(sum, a == b ? 1 : 0, 1e-14);
    }
  EXPECT_NE(value[0], value[25]);
}

TEST_F(FlowWeightsTest, IdentityWeightsAreLeftOut) {
  run({.query = WeightKind::identity, .tokens = 4, .time = 0.1}, "result.h5");
  EXPECT_FALSE(Hdf5Reader(directory_ / "result.h5").exists("/weights"));
}

// The last period of a run of `time` is what a shorter run, or one of a single token, ends with.
TEST_F(FlowWeightsTest, EveryPeriodCanBeRebuilt) {
  FlowSetup p{.query = WeightKind::gaussian,
              .value = WeightKind::gaussian,
              .heads = 2,
              .redraw = 0.5,
              .feed_forward = depth::Activation::gelu,
              .tokens = 5,
              .dim = 3,
              .seed = 7,
              .time = 1.5};
  const FlowRecord whole = run(p, "whole.h5");
  const WeightSource source(p, 3);
  for (const auto& [time, period] :
       {std::pair<double, std::uint64_t>{0, 0}, {0.3, 0}, {0.5, 0}, {0.7, 1}, {1, 1}, {1.5, 2}}) {
    FlowSetup part = p;
    part.tokens = 1;
    part.time = time;
    const FlowRecord record = run(part, "part.h5");
    const std::vector<double> last =
        Hdf5Reader(directory_ / "part.h5").read("/weights/last/query").data;
    std::vector<double> expected;
    for (const Head& head : source.at(period).heads)
      expected.insert(expected.end(), head.query.begin(), head.query.end());
    EXPECT_EQ(last, expected) << time;
    EXPECT_EQ(record.weights.heads[1].value, whole.weights.heads[1].value);
  }
  // A run of the first period alone, from the file.
  FlowSetup first = p;
  first.time = 0.5;
  FlowSetup given = with_weights(first, (directory_ / "whole.h5").string(), "/weights");
  given.redraw = 0;
  EXPECT_EQ(run(given, "given.h5").snapshots.back().positions,
            run(first, "first.h5").snapshots.back().positions);
}

TEST_F(FlowWeightsTest, FilesArePerHead) {
  FlowSetup p{.query = weights("q.npy", {2, 3, 3}), .heads = 2, .tokens = 5, .dim = 3, .time = 0.5};
  const Array query = p.query.given.get();
  const WeightSource source(p, 3);
  const FlowWeights made = source.at(0);
  EXPECT_EQ(made.heads[1].query, std::vector<double>(query.data.begin() + 9, query.data.end()));
  EXPECT_EQ(source.at(5).heads[1].query, made.heads[1].query);
  // A single head takes (d, d) and (1, d, d).
  p.heads = 1;
  p.query = weights("plain.npy", {3, 3});
  const FlowRecord plain = run(p, "plain.h5");
  p.query = Array{{1, 3, 3}, p.query.given.get().data};
  EXPECT_EQ(run(p, "one.h5").snapshots.back().positions, plain.snapshots.back().positions);
}

// F = strength W_2 act(W_1 x + b) of the files, against its formula.
TEST_F(FlowWeightsTest, ABlockIsThatOfItsFiles) {
  const FlowSetup p{.feed_forward = depth::Activation::relu,
                    .feed_forward_in = array("in.npy", {4, 3}),
                    .feed_forward_bias = array("bias.npy", {4}),
                    .feed_forward_out = array("out.npy", {3, 4}),
                    .strength = 0.7};
  const depth::FeedForward block = WeightSource(p, 3).at(0).block;
  ASSERT_EQ(block.width, 4U);
  const std::vector<double> in = p.feed_forward_in.get().data,
                            bias = p.feed_forward_bias.get().data,
                            out = p.feed_forward_out.get().data, x = {0.6, -0.8, 1.5};
  std::vector<double> result(3, 0.0);
  block.add(x, 2, result);
  for (std::size_t a = 0; a < 3; ++a) {
    double expected = 0;
    for (std::size_t w = 0; w < 4; ++w) {
      const double z = in[3 * w] * x[0] + in[3 * w + 1] * x[1] + in[3 * w + 2] * x[2] + bias[w];
      expected += 2 * 0.7 * out[4 * a + w] * std::max(0.0, z);
    }
    EXPECT_NEAR(result[a], expected, 1e-14);
  }
}

TEST_F(FlowWeightsTest, PartOfABlockMayBeDrawn) {
  FlowSetup p{.feed_forward = depth::Activation::gelu,
              .feed_forward_out = array("out.npy", {3, 6}),
              .seed = 2};
  const depth::FeedForward block = WeightSource(p, 3).at(0).block;
  EXPECT_EQ(block.width, 6U);
  EXPECT_EQ(block.in, depth::draw_feed_forward(depth::Activation::gelu, 3, 6, 1, 2, 0).in);
  EXPECT_EQ(block.bias, std::vector<double>(6, 0.0));
  p.redraw = 1;
  EXPECT_EQ(WeightSource(p, 3).at(2).block.out, block.out);
  EXPECT_NE(WeightSource(p, 3).at(2).block.in, block.in);
}

TEST_F(FlowWeightsTest, RefusesOtherShapes) {
  const auto says = [&](FlowSetup p, const std::string& words) {
    p.tokens = 4;
    p.dim = 3;
    EXPECT_SAYS(refused(p), words);
  };
  says({.query = weights("q.npy", {3, 3}), .heads = 2},
       "q.npy: the weights have the shape (3, 3); allowed is (heads, rank, dim) = (2, 3, 3)");
  says({.query = weights("q.npy", {3, 3, 3}), .heads = 2}, "(heads, rank, dim) = (2, 3, 3)");
  says({.key = weights("k.npy", {2, 3})}, "(2, 3); allowed is (heads, rank, dim) = (1, 3, 3)");
  says({.query = WeightKind::gaussian, .key = weights("k.npy", {3, 3}), .rank = 2}, "(1, 2, 3)");
  says({.value = weights("v.npy", {2, 4, 4}), .heads = 2}, "(heads, dim, dim) = (2, 3, 3)");
  says({.output = weights("o.npy", {2, 3, 3}), .heads = 2}, "(dim, dim) = (3, 3)");
  says({.query = WeightKind::identity, .key = weights("k.npy", {2, 3}), .rank = 2},
       "gaussian, orthogonal or in files");
  const ArrayInput in = array("in.npy", {5, 3}), bias = array("bias.npy", {4}),
                   out = array("out.npy", {3, 6}), wide = array("wide.npy", {5, 4});
  says({.feed_forward = depth::Activation::relu, .feed_forward_in = wide},
       "(5, 4); allowed is (width, dim) = (any, 3)");
  says({.feed_forward = depth::Activation::relu, .feed_forward_in = in, .width = 8},
       "(width, dim) = (8, 3)");
  says({.feed_forward = depth::Activation::relu, .feed_forward_in = in, .feed_forward_out = out},
       "(3, 6); allowed is (dim, width) = (3, 5)");
  says({.feed_forward = depth::Activation::relu, .feed_forward_in = in, .feed_forward_bias = bias},
       "(4); allowed is (width) = (5)");
  ArrayInput missing;
  missing.name = "goe";
  says({.feed_forward = depth::Activation::relu, .feed_forward_in = missing},
       "goe was named, but not loaded");
  FlowSetup named{.feed_forward = depth::Activation::relu, .feed_forward_in = missing};
  EXPECT_SAYS(refusal([&] { load_inputs(list(named), ""); }), "goe: no such file");
  Array bad{{2, 3, 3}, std::vector<double>(18, 0.5)};
  bad.data[13] = NAN;
  says({.query = given(called("nan.npy", bad)), .heads = 2},
       "entry (1, 1, 1) (counted from 0) is nan");
  says({.redraw = 1,
        .feed_forward = depth::Activation::relu,
        .feed_forward_in = in,
        .feed_forward_out = array("o5.npy", {3, 5})},
       "redraw needs random weights");
}

}  // namespace
}  // namespace attractor::lab
