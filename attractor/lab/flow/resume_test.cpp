// Flows that go on: with the same data to the same bits, with other data or a checkpoint that says
// what cannot be not at all.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "attractor/base/file.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "attractor/files/checkpoint_file.hpp"
#include "attractor/files/load_inputs.hpp"
#include "attractor/lab/checkpoint_bytes.hpp"
#include "attractor/lab/flow/checkpoint.hpp"
#include "attractor/lab/flow/flow_experiment.hpp"
#include "tests/support/observations.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

class ResumeTest : public testing::Test {
 protected:
  ResumeTest()
      : directory_(fs::path(testing::TempDir()) /
                   fmt::format("resume_{}_{}", ::getpid(),
                               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~ResumeTest() override { fs::remove_all(directory_); }

  // Normal numbers in a file, not loaded yet.
  ArrayInput array(const std::string& name, std::vector<std::size_t> shape,
                   std::uint64_t seed) const {
    std::size_t size = 1;
    for (const std::size_t s : shape) size *= s;
    Array values{std::move(shape), std::vector<double>(size)};
    Stream(seed, "file").normals(0, values.data);
    write_npy(directory_ / name, values);
    ArrayInput file;
    file.name = (directory_ / name).string();
    return file;
  }
  WeightInput weights(const std::string& name, std::vector<std::size_t> shape,
                      std::uint64_t seed) const {
    WeightInput file;
    file.given = array(name, std::move(shape), seed);
    return file;
  }

  fs::path checkpoint() const { return directory_ / "checkpoint.bin"; }

  // The files as they are now: a run that goes on reads them again.
  static FlowSetup loaded(FlowSetup p) {
    load_inputs(list(p), "");
    return p;
  }

  // The run with checkpoints, stopped when it asks for the `asked`-th time.
  FlowRecord run(const FlowSetup& p, std::uint64_t asked = UINT64_MAX) const {
    std::uint64_t count = 0;
    return run_flow(loaded(p), {.checkpoints = std::make_shared<CheckpointFile>(checkpoint()),
                                .checkpoint_seconds = 1e9,
                                .stop = [&count, asked] { return ++count >= asked; },
                                .report = {}});
  }

  // How often a whole run that keeps checkpoints asks whether to stop.
  std::uint64_t questions(const FlowSetup& p, FlowRecord& whole) const {
    std::uint64_t count = 0;
    whole = run_flow(loaded(p), {.checkpoints = std::make_shared<CheckpointFile>(checkpoint()),
                                 .checkpoint_seconds = 1e9,
                                 .stop = [&count] { return ++count == 0; },
                                 .report = {}});
    fs::remove(checkpoint());
    return count;
  }

  void stop_half_way(const FlowSetup& p) const {
    FlowRecord whole;
    ASSERT_EQ(run(p, questions(p, whole) / 2).status, flow::Status::interrupted);
  }

  void expect_same_bits(const FlowSetup& p, const std::vector<double>& fractions) {
    FlowRecord whole;
    const std::uint64_t all = questions(p, whole);
    for (const double fraction : fractions) {
      const auto asked = std::max<std::uint64_t>(
          2, static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(all))));
      ASSERT_EQ(run(p, asked).status, flow::Status::interrupted) << fraction;
      const FlowRecord resumed = run(p);
      fs::remove(checkpoint());
      EXPECT_EQ(resumed.status, whole.status);
      EXPECT_EQ(resumed.layer_status, whole.layer_status);
      EXPECT_EQ(resumed.steps_by_rows, whole.steps_by_rows);
      EXPECT_EQ(resumed.velocity_error, whole.velocity_error);
      ASSERT_EQ(resumed.snapshots.size(), whole.snapshots.size());
      for (std::size_t k = 0; k < whole.snapshots.size(); ++k)
        EXPECT_EQ(resumed.snapshots[k].positions, whole.snapshots[k].positions)
            << "stopped at " << fraction << ", snapshot " << k;
      ASSERT_EQ(resumed.series.size(), whole.series.size());
      for (std::size_t k = 0; k < whole.series.size(); ++k)
        EXPECT_TRUE(observe::same_bits(resumed.series[k], whole.series[k]))
            << "stopped at " << fraction << ", observation " << k;
    }
  }

  const fs::path directory_;
};

// All kinds of files at once: one at a time is exchanged, refused, and brought back.
TEST_F(ResumeTest, AFileThatHasChangedIsNoticed) {
  FlowSetup p{.query = weights("query.npy", {2, 2, 4}, 1),
              .key = weights("key.npy", {2, 2, 4}, 2),
              .value = weights("value.npy", {2, 4, 4}, 3),
              .output = weights("output.npy", {4, 4}, 4),
              .heads = 2,
              .rank = 2,
              .query_gain = array("query_gain.npy", {2}, 10),
              .key_gain = array("key_gain.npy", {2}, 11),
              .gain = array("gain.npy", {4}, 5),
              .feed_forward = depth::Activation::relu,
              .feed_forward_in = array("in.npy", {7, 4}, 6),
              .feed_forward_bias = array("bias.npy", {7}, 7),
              .feed_forward_out = array("out.npy", {4, 7}, 8),
              .init = Arrangement::file,
              .tokens_file = array("tokens.npy", {9, 4}, 9),
              .time = 1};
  FlowRecord whole;
  const std::uint64_t all = questions(p, whole);
  ASSERT_EQ(run(p, all / 2).status, flow::Status::interrupted);
  const std::string saved = read_file(checkpoint(), 1 << 24);
  for (const char* name :
       {"query.npy", "key.npy", "value.npy", "output.npy", "gain.npy", "query_gain.npy",
        "key_gain.npy", "in.npy", "bias.npy", "out.npy", "tokens.npy"}) {
    const std::string before = read_file(directory_ / name, 1 << 20);
    std::string changed = before;
    changed.back() = static_cast<char>(changed.back() ^ 1);  // 0.2 %: the top of the exponent
    write_file(directory_ / name, changed);
    const std::string message = refusal([&] { run(p); });
    EXPECT_SAYS(message, "checkpoint.bin belongs to another run or to other data");
    write_file(directory_ / name, before);
    EXPECT_TRUE(read_file(checkpoint(), 1 << 24) == saved) << name;
  }
  const FlowRecord resumed = run(p);
  EXPECT_EQ(resumed.snapshots.back().positions, whole.snapshots.back().positions);
}

// Fewer, more, and as many tokens in another dimension: what used to be read beyond its end.
TEST_F(ResumeTest, OtherRowsAreNoticed) {
  for (const auto& [rows, dim] :
       {std::pair<std::size_t, std::size_t>{5, 3}, {40, 3}, {6, 5}, {10, 3}}) {
    FlowSetup p{.init = Arrangement::file, .tokens_file = array("t.npy", {10, 3}, 1), .time = 3};
    stop_half_way(p);
    array("t.npy", {rows, dim}, 2);
    EXPECT_SAYS(refusal([&] { run(p); }), "other data") << rows << " x " << dim;
    fs::remove(checkpoint());
  }
}

TEST_F(ResumeTest, GoesOnWithTheSameBits) {
  const std::vector<double> often = {0.05, 0.3, 0.6, 0.9, 1};
  expect_same_bits({.beta = 9, .tokens = 12, .dim = 3, .time = 30}, often);
  expect_same_bits({.norm = Normalisation::mix, .switch_time = 2, .tokens = 8, .time = 4}, often);
  expect_same_bits({.noise = 0.1, .tokens = 8, .time = 2}, often);
  expect_same_bits({.noise = 0.1,
                    .common_noise = 0.2,
                    .noise_kind = flow::NoiseKind::multiplicative,
                    .tokens = 8,
                    .time = 2},
                   often);
}

// The last period of weights is still in force at the end, also of a run resumed there.
TEST_F(ResumeTest, RedrawnWeightsAreThoseOfTheirPeriod) {
  for (const auto stepper : {std::optional<flow::Method>(), std::optional(flow::Method::layers)})
    expect_same_bits({.query = WeightKind::gaussian,
                      .value = WeightKind::orthogonal,
                      .heads = 2,
                      .redraw = 0.5,
                      .feed_forward = depth::Activation::gelu,
                      .tokens = 6,
                      .dim = 4,
                      .time = 2,
                      .stepper = stepper},
                     {0.1, 0.25, 0.5, 0.75, 1});
}

// Tokens that come together change places; the engine on the circle keeps the book.
TEST_F(ResumeTest, ACircleKeepsItsTokensApart) {
  expect_same_bits({.beta = 9,
                    .tokens = 600,
                    .dim = 2,
                    .time = 100,
                    .engine = depth::Engine::circle,
                    .outputs = 4},
                   {0.3, 0.6, 0.9});
}

// Six clumps that coalesce one after the other, first by sums over clumps: who is in which is found
// again from the state.
const FlowSetup kClumped{.beta = 16,
                         .init = Arrangement::clusters,
                         .tokens = 1000,
                         .dim = 8,
                         .centres = 6,
                         .spread = 1e-3,
                         .time = 12,
                         .engine = depth::Engine::clumps,
                         .accuracy = 1e-8,
                         .outputs = 4};

TEST_F(ResumeTest, ClumpsAreThoseOfTheState) {
  FlowRecord whole;
  questions(kClumped, whole);
  EXPECT_GT(whole.steps, whole.steps_by_rows + 9);
  EXPECT_GT(whole.coalescences.size(), 900U);
  expect_same_bits(kClumped, {0.02, 0.15, 0.4, 0.7});
}

TEST_F(ResumeTest, ClumpsGiveTheSameBitsForAnyNumberOfThreads) {
  std::vector<std::vector<double>> ends;
  for (const std::size_t count : {1U, 2U, 3U}) {
    set_threads(count);
    const FlowRecord record = run_flow(kClumped, {});
    ends.push_back(record.snapshots.back().positions);
    for (const observe::Observation& o : record.series) ends.back().push_back(o.mean_cosine);
  }
  set_threads(0);
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], ends[2]);
}

// What went wrong before a stop is not forgotten after it.
TEST_F(ResumeTest, TheStatusOfAttentionIsKept) {
  const FlowSetup p{.dynamics = Rule::sinkhorn, .tokens = 5, .time = 1};
  stop_half_way(p);
  Checkpoint c = parse_checkpoint(read_file(checkpoint(), 1 << 24), "x");
  ASSERT_EQ(c.layer_status, LayerStatus::complete);
  c.layer_status = LayerStatus::sinkhorn_unconverged;
  CheckpointFile file(checkpoint());
  save(view(c), file);
  EXPECT_EQ(run(p).layer_status, LayerStatus::sinkhorn_unconverged);
}

// Every word of a checkpoint replaced by what it cannot be, under a right checksum: refused, or a
// run that ends with finite numbers.
TEST_F(ResumeTest, NoWordOfACheckpointLeadsAstray) {
  const FlowSetup cases[] = {
      {.beta = 2, .tokens = 4, .dim = 2, .time = 2, .outputs = 2, .snapshots = 2},
      {.norm = Normalisation::pre, .tokens = 3, .dim = 2, .time = 1, .outputs = 2, .snapshots = 2},
      {.tokens = 4,
       .dim = 2,
       .time = 1,
       .engine = depth::Engine::circle,
       .outputs = 2,
       .snapshots = 2}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (FlowSetup p : cases) {
    p.max_steps = 3000;
    std::filesystem::remove(checkpoint());  // the last wrong one
    stop_half_way(p);
    const std::string bytes = read_file(checkpoint(), 1 << 24);
    const std::string data =
        bytes.substr(kCheckpointMagic.size(), bytes.size() - kCheckpointMagic.size() - 8);
    const std::size_t begin = 8 + parse_checkpoint(bytes, "x").command.size();
    std::size_t refused = 0, words = 0;
    for (std::size_t at = begin; at + 8 <= data.size(); at += 20)
      for (const std::uint64_t word :
           {~std::uint64_t{0}, std::uint64_t{1} << 40, std::uint64_t{5},
            std::bit_cast<std::uint64_t>(nan), std::bit_cast<std::uint64_t>(-1e300)}) {
        std::string wrong = data;
        std::memcpy(wrong.data() + at, &word, 8);
        write_file(checkpoint(), sealed(kCheckpointMagic, wrong));
        ++words;
        try {
          const FlowRecord record = run(p);
          for (const Snapshot& s : record.snapshots)
            for (const double x : s.positions) ASSERT_TRUE(std::isfinite(x)) << at;
        } catch (const Error&) {
          ++refused;
        }
      }
    EXPECT_GT(refused, words / 4);
  }
}

}  // namespace
}  // namespace attractor::lab
