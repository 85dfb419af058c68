// Pairs within a reach by vectors, against plain loops: sums of whole numbers, the same bits.
#include "attractor/kernels/circle/mass_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"

namespace attractor::kernels {
namespace {

TEST(CirclePlaces, PairsAheadAreThoseOfPlainLoops) {
  const Stream stream(3, "test.mass_ahead");
  for (std::size_t n : {1UL, 2UL, 3UL, 7UL, 8UL, 9UL, 15UL, 16UL, 17UL, 40UL, 1000UL})
    for (const double spread : {6.2, 1.0, 1e-9, 0.0}) {
      std::vector<double> angles(n), masses(n);
      for (std::size_t k = 0; k < n; ++k) {
        angles[k] = k == 0 ? 0 : spread * stream.uniform(k, n);
        masses[k] = 1 + std::floor(4 * stream.uniform(k, n + 5000));
      }
      std::sort(angles.begin(), angles.end());
      const CirclePlaces places(angles, masses);
      for (const std::array<double, 4>& reach :
           {std::array{0.0, 1e-10, 0.01, 0.5}, std::array{2.0, 3.1, std::numbers::pi, 1.0}}) {
        const std::array<double, 4> found = places.pairs_ahead(reach);
        for (std::size_t r = 0; r < reach.size(); ++r)
          EXPECT_EQ(found[r], places.pairs_ahead_reference(reach[r]))
              << n << " " << spread << " " << reach[r];
      }
    }
}

TEST(CirclePlaces, EdgesCountAsWithin) {
  // Exact in binary, apart from the turn; nine, so that vectors are used.
  const std::vector<double> angles{0, 0.75, 1.5, 2.25, 3, 3.75, 4.5, 5.25, 6},
      masses{1, 1, 2, 1, 1, 1, 1, 1, 1};
  const CirclePlaces places(angles, masses);
  // Forwards from 6, 0 of the next turn is 0.28 away, 0.75 is 1.03.
  const std::array<double, 4> found = places.pairs_ahead({0.75, 0.25, 1.5, 0});
  EXPECT_EQ(found,
            (std::array<double, 4>{
                (1 + 2 + 2 + 1 + 1 + 1 + 1 + 1) + 1, 0,
                (1 + 2 + 2 + 1 + 1 + 1 + 1 + 1) + 1 + (2 + 1 + 2 + 1 + 1 + 1 + 1) + 1 + 1, 0}));
}

}  // namespace
}  // namespace attractor::kernels
