#include "attractor/lab/pieces.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "attractor/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

struct Inner {
  double value = 0;
  bool good = false;
};

struct Rich {
  std::string words{};
  std::vector<std::string> list{};
  std::vector<bool> bits{};
  std::vector<std::vector<double>> rows{};
  std::optional<Inner> inner{};
  std::vector<Inner> many{};
  std::vector<std::complex<double>> spectrum{};
  flow::Time time{};
};
auto fields(Rich& r) {
  auto& [words, list, bits, rows, inner, many, spectrum, time] = r;
  return std::tie(words, list, bits, rows, inner, many, spectrum, time);
}

Context kept_in(const std::shared_ptr<ByteStore>& store) {
  return {.checkpoints = store, .checkpoint_seconds = 0};
}

std::shared_ptr<ByteStore> memory() { return std::make_shared<ByteStore>("memory"); }

TEST(Pieces, ComeBackBitForBit) {
  const double nan = std::nan("0x123");
  const Rich made{.words = std::string("zwölf\0!", 8),
                  .list = {"a", "", "c"},
                  .bits = {true, false, true},
                  .rows = {{1, -0.0}, {}, {std::numeric_limits<double>::denorm_min()}},
                  .inner = Inner{.value = nan, .good = true},
                  .many = {{1, true}, {2, false}},
                  .spectrum = {{1, -2}},
                  .time = flow::Time(0.5, 1000)};
  const auto store = memory();
  { Pieces(kept_in(store), "s").keep("rich", made); }
  const std::optional<Rich> found = Pieces(kept_in(store), "s").find<Rich>("rich");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->words, made.words);
  EXPECT_EQ(found->list, made.list);
  EXPECT_EQ(found->bits, made.bits);
  EXPECT_EQ(found->rows, made.rows);
  EXPECT_TRUE(std::signbit(found->rows[0][1]));
  ASSERT_TRUE(found->inner);
  EXPECT_EQ(std::memcmp(&found->inner->value, &nan, sizeof nan), 0);
  EXPECT_TRUE(found->inner->good);
  EXPECT_EQ(found->many[1].value, 2);
  EXPECT_EQ(found->spectrum, made.spectrum);
  EXPECT_TRUE(found->time == made.time);
}

// Whatever the moment of the stop, each piece is made once.
TEST(Pieces, AreMadeOnceHoweverOftenARunIsStopped) {
  const auto store = memory();
  std::vector<int> made(10, 0);
  bool stop = false;
  const auto run = [&](int stop_at) {
    stop = false;
    Context context = kept_in(store);
    context.stop = [&] { return stop; };
    Pieces pieces(context, "s");
    double sum = 0;
    for (int k = 0; k < 10 && !stop; ++k)
      sum += pieces.get("piece " + std::to_string(k), [&, k] {
        stop = k == stop_at;
        if (!stop) ++made[static_cast<std::size_t>(k)];
        return stop ? kNan : 1.0 * k;  // what is stopped is half a piece
      });
    return sum;
  };
  for (const int at : {0, 3, 3, 7, 9}) run(at);
  EXPECT_EQ(run(-1), 45);
  EXPECT_EQ(made, std::vector<int>(10, 1));
}

TEST(Pieces, WaitForTheirTimeUnlessStopped) {
  const auto store = memory();
  Context context{.checkpoints = store, .checkpoint_seconds = 1e6};
  Pieces pieces(context, "s");
  pieces.keep("a", 1.0);
  EXPECT_FALSE(store->read());
  pieces.save();
  EXPECT_TRUE(store->read());
}

TEST(Pieces, OfAnotherSetupOrDamagedAreRefused) {
  const auto store = memory();
  { Pieces(kept_in(store), "beta 1").keep("a", 1.0); }
  EXPECT_NE(refusal([&] { Pieces(kept_in(store), "beta 2"); }).find("belongs to another run"),
            std::string::npos);
  const std::string whole = store->bytes();
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{3}}) {
    const auto cut = std::make_shared<ByteStore>("memory", whole.substr(0, size));
    EXPECT_NE(refusal([&] { Pieces(kept_in(cut), "beta 1"); }).find("memory"), std::string::npos);
  }
}

TEST(Pieces, OfAPartAreOnePieceOfTheWhole) {
  const auto store = memory();
  {
    Pieces whole(kept_in(store), "whole");
    Pieces part(whole.inside("part"), "part");
    part.keep("a", std::string("kept"));
    whole.keep("b", 2.0);
    whole.save();
  }
  Pieces whole(kept_in(store), "whole");
  EXPECT_EQ(Pieces(whole.inside("part"), "part").find<std::string>("a"), "kept");
  EXPECT_EQ(whole.find<double>("b"), 2.0);
  EXPECT_FALSE(whole.find<double>("c"));
}

TEST(Pieces, WithoutAPlaceAreMadeEachTime) {
  Pieces pieces({}, "s");
  int calls = 0;
  for (int k = 0; k < 2; ++k) pieces.get("a", [&] { return ++calls; });
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace attractor::lab
