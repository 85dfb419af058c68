#include "attractor/flow/growth.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace attractor::flow {
namespace {

// x' = M x in R^3.
class Linear final : public Flow {
 public:
  explicit Linear(std::vector<double> matrix) : matrix_(std::move(matrix)) {}
  const Space& space() const override { return space_; }
  void drift(std::span<const double> x, double log_unit, std::span<double> out) const override {
    for (std::size_t a = 0; a < 3; ++a)
      out[a] = std::exp(log_unit) * dot(std::span(matrix_).subspan(3 * a, 3), x);
  }

 private:
  Euclidean space_{3};
  std::vector<double> matrix_;
};

TEST(Growth, IsTheLargestRealPart) {
  const std::vector<double> origin(3, 0.0);
  const auto growth = [&](std::vector<double> m, double unit = 0) {
    return growth_of_perturbations(Linear(std::move(m)), origin, unit);
  };
  EXPECT_NEAR(growth({1, 0, 0, 0, 0.3, 0, 0, 0, -2}).rate, 1, 1e-6);
  EXPECT_NEAR(growth({1, 0, 0, 0, 0.3, 0, 0, 0, -2}, std::log(1e-30)).rate / 1e-30, 1, 1e-6);
  EXPECT_TRUE(growth({0.05, 0, 0, 0, -1, 0, 0, 0, -2}).grows());
  EXPECT_FALSE(growth({0, 0, 0, 0, -1, 0, 0, 0, -2}).grows());  // a continuum of equilibria
  EXPECT_FALSE(growth({-1, 0, 0, 0, -1, 0, 0, 0, -2}).grows());
  EXPECT_FALSE(growth({0, 0, 0, 0, 0, 0, 0, 0, 0}).grows());
}

}  // namespace
}  // namespace attractor::flow
