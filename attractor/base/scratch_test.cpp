#include "attractor/base/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "attractor/base/threads.hpp"

namespace attractor {
namespace {

TEST(Scratch, IsAlignedAndItsOwn) {
  std::vector<Scratch<double>> arrays;
  for (std::size_t k = 0; k < 40; ++k) {
    arrays.emplace_back(1 + 37 * k);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrays[k].get()) % 64, 0U);
    std::fill_n(arrays[k].get(), 1 + 37 * k, static_cast<double>(k));
  }
  for (std::size_t k = 0; k < 40; ++k) {
    EXPECT_EQ(arrays[k][0], static_cast<double>(k));
    EXPECT_EQ(arrays[k][37 * k], static_cast<double>(k));
  }
}

TEST(Scratch, ComesBackForTheNextOfItsSize) {
  double* first = nullptr;
  {
    const Scratch<double> array(123457);
    first = array.get();
  }
  const Scratch<double> same(123457), other(123457);
  EXPECT_EQ(same.get(), first);
  EXPECT_NE(other.get(), first);
}

TEST(Scratch, LargeOnesDoNotServeSmallWishes) {
  double* large = nullptr;
  {
    const Scratch<double> array(1 << 20);
    large = array.get();
  }
  const Scratch<double> small(1000);
  EXPECT_NE(small.get(), large);
}

TEST(Scratch, MovesLikeAPointer) {
  Scratch<float> a(10), b;
  float* const memory = a.get();
  b = std::move(a);
  EXPECT_EQ(b.get(), memory);
  const Scratch<float> c(std::move(b));
  EXPECT_EQ(c.get(), memory);
}

TEST(Scratch, ThreadsMayShareIt) {
  std::vector<int> wrong(1000, 0);
  parallel_for(wrong.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Scratch<std::size_t> array(5000 + k % 7);
      std::fill_n(array.get(), 5000, k);
      wrong[k] = static_cast<int>(5000 - std::count(array.get(), array.get() + 5000, k));
    }
  });
  EXPECT_EQ(wrong, std::vector<int>(1000, 0));
}

}  // namespace
}  // namespace attractor
