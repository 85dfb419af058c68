#include "attractor/lab/flow/checkpoint.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/files/checkpoint_file.hpp"
#include "attractor/lab/checkpoint_bytes.hpp"
#include "attractor/space/space.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/observations.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

// Equal bits: NaN equals itself, 0 differs from -0.
std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> all;
  for (const double x : values) all.push_back(bits(x));
  return all;
}

void expect_same(const flow::Time& a, const flow::Time& b) {
  EXPECT_EQ(bits(a.mantissa()), bits(b.mantissa()));
  EXPECT_EQ(bits(a.exponent()), bits(b.exponent()));
}

class FlowCheckpoint : public ::testing::Test {
 protected:
  FlowCheckpoint()
      : folder_(fs::path(::testing::TempDir()) / ("checkpoint_test_" + std::to_string(::getpid()))),
        file_(folder_ / "checkpoint"),
        store_(file_) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FlowCheckpoint() override { fs::remove_all(folder_); }

  // The offsets of tokens that joined as `owner` says.
  static depth::TokenGroups::Book book_of(const std::vector<std::uint32_t>& owner) {
    std::vector<double> state(owner.size() * 3);
    Stream(3, "offsets").normals(0, state);
    std::vector<depth::Group> groups(owner.size());
    for (std::uint32_t i = 0; i < owner.size(); ++i) groups[owner[i]].members.push_back(i);
    std::erase_if(groups, [](const depth::Group& g) { return g.members.size() < 2; });
    for (depth::Group& g : groups) g.centre = {0.6, 0, 0.8};
    depth::TokenGroups book(owner.size());
    book.coalesce(groups, flow::Time(1), state);
    return book.book();
  }

  // A run of 12 tokens in dimension 3 in the middle of its life, every field with a value of its
  // own: 7 tokens are left after coalescing, 4 clusters after merging. It is of this shape:
  static RunShape shape() {
    return {.tokens = 12,
            .dim = 3,
            .width = 3,
            .outputs = 50,
            .observables = 2,
            .lengths = true,
            .watched = true,
            .ordered = true};
  }
  static Checkpoint full() {
    Checkpoint c;
    c.command = "attractor flow --beta 4 --tokens-file 'it'\\''s'";
    c.progress = {.state = std::vector<double>(7 * 3),
                  .time = flow::Time(3.25, 901),
                  .started = true,
                  .log_unit = -17.5,
                  .step = 0.015625,
                  .steps = 123456789012345,
                  .rejected = 77,
                  .next_output = 42,
                  .stalled = 3};
    Stream(1, "state").normals(0, c.progress.state);
    c.progress.state[5] = -0.0;
    c.progress.state[6] = 5e-324;
    c.owner = {0, 1, 2, 0, 1, 3, 4, 5, 5, 6, 0, 2};
    c.labels = {0, 1, 1, 0, 1, 2, 2, 3, 3, 3, 0, 1};
    c.order = {3, 1, 2, 0, 11, 5, 6, 7, 8, 10, 9, 4};
    c.layer_status = LayerStatus::sinkhorn_unconverged;
    c.clumps = {.steps_by_rows = 9, .error = 2.5e-9};
    c.coalescences = {{flow::Time(0.5), 0, 3, 1e-9},
                      {flow::Time(0.75), 1, 4, 2e-9},
                      {flow::Time(1, 900), 0, 10, 3e-300},
                      {flow::Time(1.5, 900), 7, 8, 0},
                      {flow::Time(2, 901), 2, 11, 4e-9}};
    c.book = book_of(c.owner);
    c.merges = {{flow::Time(0), 0, 3}, {flow::Time(0.125, 3), 1, 4}, {flow::Time(8, 3), 5, 6}};
    double next = 0.5;
    for (int k = 0; k < 3; ++k) {
      observe::Observation o;
      for (const observe::Column& column : observe::columns()) o.*column.value = next += 0.25;
      o.more = {next + 1, kNan};
      o.clusters = 4;
      o.largest_cluster = 5;
      o.distinct_tokens = 7;
      o.sampled = k % 2;
      c.series.push_back(o);
    }
    c.series[1].hemisphere = kNan;
    c.series[1].log_energy = kInfinity;
    c.series[0].log10_time = -kInfinity;
    for (int k = 0; k < 2; ++k) {
      Snapshot snapshot{flow::Time(k + 0.5, 2.0 * k),
                        std::vector<double>(12 * 3),
                        {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, static_cast<std::uint32_t>(k)},
                        std::vector<double>(100, 0.01 * k)};
      snapshot.norms.assign(12, 1.5 + k);
      Stream(2, "snapshot").normals(static_cast<std::uint64_t>(k), snapshot.positions);
      c.snapshots.push_back(snapshot);
    }
    return c;
  }

  std::string bytes_of(const Checkpoint& c) const {
    save(view(c), store_);
    return read_file(file_, 1 << 24);
  }

  // The same bytes with a right checksum.
  static std::string sealed_again(const std::string& bytes) {
    return sealed(kCheckpointMagic,
                  std::string_view(bytes).substr(kCheckpointMagic.size(),
                                                 bytes.size() - kCheckpointMagic.size() - 8));
  }

  static void expect_same(const Checkpoint& a, const Checkpoint& b);

  const fs::path folder_, file_;
  mutable CheckpointFile store_;
};

void FlowCheckpoint::expect_same(const Checkpoint& a, const Checkpoint& b) {
  using lab::expect_same;
  EXPECT_EQ(a.command, b.command);
  EXPECT_EQ(bits(a.progress.state), bits(b.progress.state));
  expect_same(a.progress.time, b.progress.time);
  EXPECT_EQ(a.progress.started, b.progress.started);
  EXPECT_EQ(bits(a.progress.log_unit), bits(b.progress.log_unit));
  EXPECT_EQ(bits(a.progress.step), bits(b.progress.step));
  EXPECT_EQ(a.progress.steps, b.progress.steps);
  EXPECT_EQ(a.progress.rejected, b.progress.rejected);
  EXPECT_EQ(a.progress.next_output, b.progress.next_output);
  EXPECT_EQ(a.progress.stalled, b.progress.stalled);
  EXPECT_EQ(a.owner, b.owner);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.book.parent, b.book.parent);
  EXPECT_EQ(bits(a.book.numbers), bits(b.book.numbers));
  EXPECT_EQ(a.order, b.order);
  EXPECT_EQ(a.layer_status, b.layer_status);
  EXPECT_EQ(a.clumps, b.clumps);
  ASSERT_EQ(a.coalescences.size(), b.coalescences.size());
  for (std::size_t k = 0; k < a.coalescences.size(); ++k) {
    expect_same(a.coalescences[k].time, b.coalescences[k].time);
    EXPECT_EQ(a.coalescences[k].into, b.coalescences[k].into);
    EXPECT_EQ(a.coalescences[k].absorbed, b.coalescences[k].absorbed);
    EXPECT_EQ(bits(a.coalescences[k].error), bits(b.coalescences[k].error));
  }
  ASSERT_EQ(a.merges.size(), b.merges.size());
  for (std::size_t k = 0; k < a.merges.size(); ++k) {
    expect_same(a.merges[k].time, b.merges[k].time);
    EXPECT_EQ(a.merges[k].a, b.merges[k].a);
    EXPECT_EQ(a.merges[k].b, b.merges[k].b);
  }
  ASSERT_EQ(a.series.size(), b.series.size());
  for (std::size_t k = 0; k < a.series.size(); ++k)  // every byte: no field outside columns()
    EXPECT_TRUE(observe::same_bits(a.series[k], b.series[k])) << k;
  ASSERT_EQ(a.snapshots.size(), b.snapshots.size());
  for (std::size_t k = 0; k < a.snapshots.size(); ++k) {
    expect_same(a.snapshots[k].time, b.snapshots[k].time);
    EXPECT_EQ(bits(a.snapshots[k].positions), bits(b.snapshots[k].positions));
    EXPECT_EQ(a.snapshots[k].clusters, b.snapshots[k].clusters);
    EXPECT_EQ(bits(a.snapshots[k].cosine_histogram), bits(b.snapshots[k].cosine_histogram));
    EXPECT_EQ(bits(a.snapshots[k].norms), bits(b.snapshots[k].norms));
  }
}

TEST_F(FlowCheckpoint, BringsBackEverythingBitForBit) {
  const Checkpoint original = full();
  expect_same(parse_checkpoint(bytes_of(original), "x"), original);
  const std::optional<Checkpoint> loaded = load(store_, original.command, shape());
  ASSERT_TRUE(loaded.has_value());
  expect_same(*loaded, original);
}

TEST_F(FlowCheckpoint, BringsBackARunThatHasNotStarted) {
  Checkpoint original;
  original.owner = {0};
  original.labels = {0};
  expect_same(parse_checkpoint(bytes_of(original), "x"), original);
}

TEST_F(FlowCheckpoint, TheSameRunHasTheSameBytes) {
  const std::string first = bytes_of(full());
  EXPECT_TRUE(bytes_of(full()) == first);
  Checkpoint other = full();
  other.progress.state[0] = std::nextafter(other.progress.state[0], 9);
  EXPECT_FALSE(bytes_of(other) == first);
}

TEST_F(FlowCheckpoint, IsMissingWithoutAFile) {
  EXPECT_FALSE(load(store_, "attractor flow", shape()).has_value());
  EXPECT_FALSE(load(CheckpointFile(folder_ / "no" / "such" / "folder"), "attractor flow", shape())
                   .has_value());
}

TEST_F(FlowCheckpoint, OfAnotherCommandIsRefused) {
  const Checkpoint original = full();
  save(view(original), store_);
  for (const std::string& command :
       {std::string(), std::string("attractor flow"), original.command + " ",
        original.command.substr(0, original.command.size() - 1)}) {
    const std::string message = refusal([&] { load(store_, command, shape()); });
    EXPECT_SAYS(message, file_.string());
    EXPECT_SAYS(message, "belongs to another run or to other data: " + original.command);
  }
}

TEST_F(FlowCheckpoint, CutShortAnywhereIsRefused) {
  const std::string bytes = bytes_of(full());
  ASSERT_GT(bytes.size(), 2000U);
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    const std::string message =
        refusal([&] { parse_checkpoint(std::string_view(bytes).substr(0, size), "the file"); });
    ASSERT_NE(message, "") << "cut to " << size << " of " << bytes.size();
    EXPECT_SAYS(message, "the file");
  }
  for (std::size_t cut = 1; cut <= 16; ++cut)
    EXPECT_NE(refusal([&] {
                parse_checkpoint(std::string_view(bytes).substr(0, bytes.size() - cut), "x");
              }),
              "")
        << cut;
}

TEST_F(FlowCheckpoint, WithOneBitTurnedIsRefused) {
  const std::string bytes = bytes_of(full());
  const Stream stream(5, "flips");
  for (std::uint64_t k = 0; k < 600; ++k) {
    // The first 64 bytes (magic, lengths) and the last 16 one by one, then anywhere.
    const std::size_t at = k < 64   ? k
                           : k < 80 ? bytes.size() - 1 - (k - 64)
                                    : stream.below(bytes.size(), k, 0);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << stream.below(8, k, 1)));
    ASSERT_NE(refusal([&] { parse_checkpoint(damaged, "x"); }), "") << "byte " << at;
  }
}

TEST_F(FlowCheckpoint, WithTwoBitsTurnedIsRefused) {
  // Among them the two highest bits of neighbouring words: the signs of two coordinates.
  const std::string bytes = bytes_of(full());
  const Checkpoint original = full();
  std::string pattern(8, '\0');
  std::memcpy(pattern.data(), &original.progress.state[0], 8);
  const std::size_t state = bytes.find(pattern);
  ASSERT_NE(state, std::string::npos);
  std::size_t accepted = 0;
  for (std::size_t first = 0; first < 7 * 3; ++first)
    for (std::size_t second = 0; second < first; ++second) {
      std::string damaged = bytes;
      for (const std::size_t word : {first, second}) {
        char& top = damaged[state + 8 * word + 7];
        top = static_cast<char>(top ^ '\x80');
      }
      accepted += refusal([&] { parse_checkpoint(damaged, "x"); }).empty();
    }
  EXPECT_EQ(accepted, 0U) << "of 210 pairs of coordinates with both signs turned";
}

TEST_F(FlowCheckpoint, WithOverwrittenRangesIsRefused) {
  const std::string bytes = bytes_of(full());
  const Stream stream(6, "ranges");
  for (std::uint64_t k = 0; k < 300; ++k) {
    std::string damaged = bytes;
    const std::size_t begin = stream.below(bytes.size(), k, 0);
    const std::size_t length = 1 + stream.below(64, k, 1);
    const char fill = k % 3 == 0 ? '\0' : k % 3 == 1 ? '\xff' : 'x';
    for (std::size_t at = begin; at < std::min(begin + length, bytes.size()); ++at)
      damaged[at] = fill;
    if (damaged == bytes) continue;  // zeros over zeros are no damage
    ASSERT_NE(refusal([&] { parse_checkpoint(damaged, "x"); }), "") << begin << "+" << length;
  }
}

TEST_F(FlowCheckpoint, LengthsBeyondTheFileAreRefusedWithoutTakingMemory) {
  const std::string bytes = bytes_of(full());
  const std::size_t magic = bytes.find('\n') + 1;  // the length of the command follows
  for (const std::uint64_t length :
       {std::uint64_t{1} << 33, std::uint64_t{1} << 61, ~std::uint64_t{0}, ~std::uint64_t{0} / 8}) {
    // Of the command, and of the state, which follows it.
    for (const std::size_t at : {magic, magic + 8 + full().command.size()}) {
      std::string damaged = bytes;
      std::memcpy(damaged.data() + at, &length, 8);
      EXPECT_SAYS(refusal([&] { parse_checkpoint(damaged, "the file"); }), "checksum");
      EXPECT_SAYS(refusal([&] { parse_checkpoint(sealed_again(damaged), "the file"); }),
                  "the file is cut short");
    }
  }
}

TEST_F(FlowCheckpoint, WithSomethingAfterItsEndIsRefused) {
  const std::string bytes = bytes_of(full());
  for (const std::size_t extra : {1, 7, 8, 9, 100})
    EXPECT_NE(refusal([&] { parse_checkpoint(bytes + std::string(extra, '\0'), "x"); }), "");
  EXPECT_NE(refusal([&] { parse_checkpoint(bytes + bytes, "x"); }), "");
}

TEST_F(FlowCheckpoint, ForeignFilesAreRefusedWithTheirNameAndAdvice) {
  std::string next_version = bytes_of(full());
  next_version[next_version.find('\n') - 1] = '9';
  for (const std::string& content :
       {std::string(), std::string("hello"), std::string(1000, '\0'), next_version}) {
    write_file(file_, content);
    const std::string message = refusal([&] { load(store_, "attractor flow", shape()); });
    EXPECT_SAYS(message, file_.string() + " is not a checkpoint of this version");
    EXPECT_SAYS(message, "delete it to start the run again");
  }
  EXPECT_SAYS(refusal([&] { load(CheckpointFile(folder_), "attractor flow", shape()); }),
              "not a file");
}

// Whoever writes a checkpoint with a right checksum and a wrong content is told what is wrong.
TEST_F(FlowCheckpoint, WithARightChecksumAndAWrongContentIsRefused) {
  struct Wrong {
    const char* says;
    std::function<void(Checkpoint&)> make;
  };
  const Wrong wrong[] = {
      {"owners of tokens", [](Checkpoint& c) { c.owner.pop_back(); }},
      {"owners of tokens", [](Checkpoint& c) { c.owner[3] = 4'000'000'000; }},
      {"leaves out a number among owners", [](Checkpoint& c) { c.owner[7] = c.owner[8] = 6; }},
      {"state of 20 numbers; this run has 21", [](Checkpoint& c) { c.progress.state.pop_back(); }},
      {"state that is not finite", [](Checkpoint& c) { c.progress.state[7] = kNan; }},
      {"state that is not finite", [](Checkpoint& c) { c.progress.state[20] = -kInfinity; }},
      {"a time that does not exist", [](Checkpoint& c) { c.progress.time = flow::Time(-1); }},
      {"a time that does not exist",
       [](Checkpoint& c) { c.progress.time = flow::Time(kInfinity); }},
      {"a time that does not exist", [](Checkpoint& c) { c.progress.time = flow::Time(1, kNan); }},
      {"the step -1", [](Checkpoint& c) { c.progress.step = -1; }},
      {"the step nan", [](Checkpoint& c) { c.progress.step = kNan; }},
      {"in the unit", [](Checkpoint& c) { c.progress.log_unit = kInfinity; }},
      {"ahead of its outputs", [](Checkpoint& c) { c.progress.next_output = 51; }},
      {"begun without an observation", [](Checkpoint& c) { c.progress.started = false; }},
      {"0 places of tokens", [](Checkpoint& c) { c.order.clear(); }},
      {"two tokens in one place", [](Checkpoint& c) { c.order[4] = 0; }},
      {"among places", [](Checkpoint& c) { c.order[4] = 12; }},
      {"need more", [](Checkpoint& c) { c.coalescences.pop_back(); }},
      {"coalescence of tokens", [](Checkpoint& c) { c.coalescences[2].into = 12; }},
      {"coalescence of tokens", [](Checkpoint& c) { c.coalescences[1].absorbed = 1; }},
      {"coalescence of tokens", [](Checkpoint& c) { c.coalescences[0].error = kNan; }},
      {"coalescences out of order",
       [](Checkpoint& c) { std::swap(c.coalescences[0], c.coalescences[4]); }},
      {"coalescences after its time",
       [](Checkpoint& c) { c.coalescences[4].time = flow::Time(1, 999); }},
      {"damaged book", [](Checkpoint& c) { c.book.numbers.front() = kNan; }},
      {"damaged book", [](Checkpoint& c) { c.book.numbers[1] = -1; }},
      {"damaged book", [](Checkpoint& c) { c.book.numbers.pop_back(); }},
      {"does not say where the members", [](Checkpoint& c) { c.book = {}; }},
      {"damaged book", [](Checkpoint& c) { c.book.parent[0] = 0; }},
      {"11 labels of tokens", [](Checkpoint& c) { c.labels.pop_back(); }},
      {"among labels of tokens", [](Checkpoint& c) { c.labels[5] = 77; }},
      {"leaves out a number among labels",
       [](Checkpoint& c) { c.labels = std::vector<std::uint32_t>(12, 1); }},
      {"merger of tokens", [](Checkpoint& c) { c.merges[1].b = 12; }},
      {"one already",
       [](Checkpoint& c) {
         c.merges[1] = {c.merges[1].time, 3, 0};
       }},
      {"one already",
       [](Checkpoint& c) {
         c.merges[1] = {c.merges[1].time, 2, 2};
       }},
      {"mergers at a time", [](Checkpoint& c) { c.merges[2].time = flow::Time(kNan); }},
      {"more clusters",
       [](Checkpoint& c) {
         for (std::uint32_t i = 0; i < 12; ++i) c.labels[i] = i;
       }},
      {"begun without an observation", [](Checkpoint& c) { c.series.clear(); }},
      {"observations out of order", [](Checkpoint& c) { c.series[1].log10_time = kNan; }},
      {"observations after its time", [](Checkpoint& c) { c.series[2].log10_time = 400; }},
      {"counts tokens", [](Checkpoint& c) { c.series[0].distinct_tokens = kNan; }},
      {"counts tokens", [](Checkpoint& c) { c.series[2].distinct_tokens = 1e300; }},
      {"other observables", [](Checkpoint& c) { c.series[1].more.pop_back(); }},
      {"counts tokens", [](Checkpoint& c) { c.series[1].clusters = 0; }},
      {"counts tokens", [](Checkpoint& c) { c.series[1].largest_cluster = 2.5; }},
      {"begun without a snapshot", [](Checkpoint& c) { c.snapshots.clear(); }},
      {"35 numbers in a snapshot", [](Checkpoint& c) { c.snapshots[1].positions.pop_back(); }},
      {"snapshot that is not finite", [](Checkpoint& c) { c.snapshots[0].positions[9] = kNan; }},
      {"labels in a snapshot", [](Checkpoint& c) { c.snapshots[0].clusters.push_back(0); }},
      {"labels of a snapshot", [](Checkpoint& c) { c.snapshots[1].clusters[2] = 0x80000000; }},
      {"histogram", [](Checkpoint& c) { c.snapshots[1].cosine_histogram.resize(99); }},
      {"histogram", [](Checkpoint& c) { c.snapshots[1].cosine_histogram[99] = kInfinity; }},
      {"lengths in a snapshot", [](Checkpoint& c) { c.snapshots[0].norms.clear(); }},
      {"a length that is none", [](Checkpoint& c) { c.snapshots[1].norms[3] = -1; }},
      {"snapshots out of order", [](Checkpoint& c) { std::swap(c.snapshots[0], c.snapshots[1]); }},
      {"snapshots after its time",
       [](Checkpoint& c) { c.snapshots[1].time = flow::Time(1, 1000); }},
      {"status of attention", [](Checkpoint& c) { c.layer_status = static_cast<LayerStatus>(9); }},
      {"status of attention", [](Checkpoint& c) { c.layer_status = LayerStatus::not_finite; }},
  };
  for (const Wrong& one : wrong) {
    Checkpoint c = full();
    one.make(c);
    save(view(c), store_);  // with a right checksum
    EXPECT_NO_THROW(parse_checkpoint(read_file(file_, 1 << 24), "x")) << one.says;
    const std::string message = refusal([&] { load(store_, c.command, shape()); });
    EXPECT_SAYS(message, one.says);
    EXPECT_SAYS(message, file_.string());
    EXPECT_SAYS(message, "delete it to start the run again");
  }
}

// The same content is of no run with other tokens.
TEST_F(FlowCheckpoint, OfARunOfAnotherShapeIsRefused) {
  const Checkpoint original = full();
  save(view(original), store_);
  const auto refused = [&](const std::function<void(RunShape&)>& change) {
    RunShape other = shape();
    change(other);
    return refusal([&] { load(store_, original.command, other); });
  };
  EXPECT_EQ(refused([](RunShape&) {}), "");
  EXPECT_SAYS(refused([](RunShape& s) { s.tokens = 11; }), "12 owners of tokens");
  EXPECT_SAYS(refused([](RunShape& s) { s.tokens = 13; }), "13 tokens in dimension 3 need 13");
  EXPECT_SAYS(refused([](RunShape& s) { s.dim = s.width = 4; }), "21 numbers; this run has 28");
  EXPECT_SAYS(refused([](RunShape& s) { s.dim = 2; }), "numbers in a snapshot");
  EXPECT_SAYS(refused([](RunShape& s) { s.width = 1; }), "21 numbers; this run has 7");
  EXPECT_SAYS(refused([](RunShape& s) { s.lengths = false; }), "lengths in a snapshot");
  EXPECT_SAYS(refused([](RunShape& s) { s.watched = false; }), "labels of tokens");
  EXPECT_SAYS(refused([](RunShape& s) { s.ordered = false; }), "places of tokens");
  EXPECT_SAYS(refused([](RunShape& s) { s.outputs = 41; }), "ahead of its outputs");
  EXPECT_EQ(refused([](RunShape& s) { s.outputs = 0; }), "");
}

TEST_F(FlowCheckpoint, TokensOffTheSphereAreRefused) {
  Checkpoint c = full();
  RunShape on_sphere = shape();
  on_sphere.on_sphere = true;
  on_sphere.lengths = false;
  const auto normalised = [](std::vector<double>& tokens) {
    for (std::size_t i = 0; i < tokens.size(); i += 3) {
      const double length = norm(std::span(tokens).subspan(i, 3));
      for (std::size_t k = i; k < i + 3; ++k) tokens[k] /= length;
    }
  };
  normalised(c.progress.state);
  for (Snapshot& s : c.snapshots) normalised(s.positions), s.norms.clear();
  EXPECT_EQ(refusal([&] { validate(c, on_sphere, "x"); }), "");
  Checkpoint off = c;
  off.progress.state[4] += 1e-6;
  EXPECT_SAYS(refusal([&] { validate(off, on_sphere, "x"); }), "off the sphere in its state");
  off = c;
  off.snapshots[1].positions[0] += 1e-6;
  EXPECT_SAYS(refusal([&] { validate(off, on_sphere, "x"); }), "off the sphere in a snapshot");
}

TEST_F(FlowCheckpoint, AFailedSaveKeepsTheLastOne) {
  save(view(full()), store_);
  const std::string before = read_file(file_, 1 << 24);
  std::string message;
  {
    const FileSizeLimit limit(100);
    message = refusal([&] { save(view(full()), store_); });
  }
  EXPECT_SAYS(message, "File too large");
  EXPECT_TRUE(read_file(file_, 1 << 24) == before);
}

}  // namespace
}  // namespace attractor::lab
