// Distances against closed values and against the transport problem solved by enumeration.
#include "attractor/mean_field/distances.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/mean_field/start_density.hpp"

namespace attractor::meanfield {
namespace {

using std::numbers::pi;

using Numbers = std::vector<double>;

double arc(double a, double b) { return std::abs(std::remainder(a - b, 2 * pi)); }

/// Equal weights: the best matching over all permutations.
template <class Cost>
double best_matching(const Numbers& a, Numbers b, const Cost& cost) {
  double best = 1e300;
  std::sort(b.begin(), b.end());
  do {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      sum += cost(a[i], b[i]) / static_cast<double>(a.size());
    best = std::min(best, sum);
  } while (std::next_permutation(b.begin(), b.end()));
  return best;
}

TEST(Distances, EqualTheBestMatching) {
  const Stream stream(4, "distances test");
  for (std::uint64_t draw = 0; draw < 30; ++draw) {
    Numbers a, b;
    for (std::uint64_t i = 0; i < 6; ++i) {
      a.push_back(9 * stream.uniform(draw, i) - 4);  // not in one turn
      b.push_back(9 * stream.uniform(draw, 6 + i));
    }
    EXPECT_NEAR(circle_distance({a, {}}, {b, {}}), best_matching(a, b, arc), 1e-13) << draw;
    EXPECT_NEAR(line_distance({a, {}}, {b, {}}),
                best_matching(a, b, [](double x, double y) { return std::abs(x - y); }), 1e-13)
        << draw;
  }
}

TEST(Distances, CountWeights) {
  const Numbers a = {0.1, 3}, heavy = {0.75, 0.25}, repeated = {0.1, 0.1, 0.1, 3}, b = {0.5, 2, 5};
  EXPECT_NEAR(circle_distance({a, heavy}, {b, {}}), circle_distance({repeated, {}}, {b, {}}),
              1e-15);
  EXPECT_NEAR(line_distance({a, heavy}, {b, {}}), line_distance({repeated, {}}, {b, {}}), 1e-15);
}

TEST(Distances, GoTheShortWayAround) {
  const Numbers a = {-0.1}, b = {0.2 + 4 * pi}, opposite = {pi};
  EXPECT_NEAR(circle_distance({a, {}}, {b, {}}), 0.3, 1e-14);
  EXPECT_NEAR(circle_distance({Numbers{0}, {}}, {opposite, {}}), pi, 1e-14);
  EXPECT_EQ(circle_distance({a, {}}, {a, {}}), 0);
  EXPECT_EQ(line_distance({a, {}}, {a, {}}), 0);
}

TEST(Distances, OfAPointToTheUniformLaw) {
  // E |theta| = pi/2; labels of the uniform law are exact for it by symmetry.
  const Numbers labels = circle_labels(perturbed_circle(1, 0), 1000);
  EXPECT_NEAR(circle_distance({Numbers{pi}, {}}, {labels, {}}), pi / 2, 1e-12);
  // Two laws apart by a mode: int |F - G| = (eps/2 pi) * 4 with median 0.
  const Numbers other = circle_labels(perturbed_circle(1, 0.1), 20'000);
  const Numbers uniform = circle_labels(perturbed_circle(1, 0), 20'000);
  EXPECT_NEAR(circle_distance({other, {}}, {uniform, {}}), 0.1 * 4 / (2 * pi), 1e-4);
}

}  // namespace
}  // namespace attractor::meanfield
