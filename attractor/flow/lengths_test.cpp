#include "attractor/flow/lengths.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::flow {
namespace {

struct Field {
  std::vector<double> vectors, points;
  Field(std::size_t count, std::size_t dim) : vectors(count * dim), points(count * dim) {
    Stream(1, "vectors").normals(0, vectors);
    Stream(1, "points").normals(0, points);
    for (double& c : points) c *= 3;
  }
};

// One by one, as the definition says.
double plainly(const Space& space, const Field& field) {
  double most = 0;
  for (std::size_t i = 0; i < field.points.size(); i += space.dim()) {
    const auto v = std::span(field.vectors).subspan(i, space.dim());
    const auto x = std::span(field.points).subspan(i, space.dim());
    most = std::max(most, norm(v) / space.scale(x));
  }
  return most;
}

TEST(Lengths, TheLargestIsThatOfTheDefinition) {
  for (const std::size_t dim : {1, 2, 3, 5, 40})
    for (const std::size_t count : {1, 63, 64, 65, 20000}) {
      const Field field(count, dim);
      for (const std::size_t threads : {1, 2}) {
        set_threads(threads);
        const Sphere sphere(dim);
        const Euclidean plane(dim);
        EXPECT_NEAR(largest_length(sphere, field.vectors, field.points), plainly(sphere, field),
                    1e-14 * plainly(sphere, field));
        EXPECT_NEAR(largest_length(plane, field.vectors, field.points), plainly(plane, field),
                    1e-14 * plainly(plane, field));
      }
    }
  set_threads(0);
}

TEST(Lengths, NotANumberWinsWhereverItIs) {
  for (const std::size_t at : {0, 70, 9000, 19999}) {
    Field field(20000, 1);
    field.vectors[at] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(largest_length(Euclidean(1), field.vectors, field.points))) << at;
  }
}

TEST(Lengths, PointsWhoseSquaresOverflowCountToo) {
  const std::vector<double> vectors{1e-60, 3, 1e60}, points{0, 1, 1e200};
  const Euclidean line(1);
  EXPECT_EQ(largest_length(line, vectors, points), 3);
  const std::vector<double> fast{1e-60, 3, 1e145}, far{0, 1, 1e140};  // 1e145^2 is a double
  EXPECT_DOUBLE_EQ(largest_length(line, fast, far), 1e5);
}

TEST(Lengths, NothingMoves) {
  const std::vector<double> zeros(300, 0.0), points(300, 1.0);
  EXPECT_EQ(largest_length(Euclidean(3), zeros, points), 0);
}

}  // namespace
}  // namespace attractor::flow
