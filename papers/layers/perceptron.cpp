#include "papers/layers/perceptron.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"

namespace attractor::papers {
namespace {

using std::numbers::pi;

constexpr std::size_t kWidth = 6;

}  // namespace

depth::FeedForward perceptron() {
  depth::FeedForward f{.activation = depth::Activation::relu, .dim = 2, .width = kWidth};
  const Stream stream(3, "feed_forward");
  f.bias.assign(kWidth, 0.0);
  f.out.assign(2 * kWidth, 0.0);
  for (std::size_t j = 0; j < kWidth; ++j) {
    const double weight = stream.normal(j, 2);
    for (std::size_t c = 0; c < 2; ++c) {
      f.in.push_back(stream.normal(j, c));
      f.out[c * kWidth + j] = weight * f.in.back();
    }
  }
  return f;
}

double potential(const depth::FeedForward& f, double x, double y) {
  double sum = 0;
  for (std::size_t j = 0; j < kWidth; ++j) {
    const double reach = std::max(0.0, f.in[2 * j] * x + f.in[2 * j + 1] * y);
    // out = w a, in = a: w from the longer coordinate.
    const std::size_t c = std::abs(f.in[2 * j]) > std::abs(f.in[2 * j + 1]) ? 0 : 1;
    sum += f.out[c * kWidth + j] / f.in[2 * j + c] * reach * reach / 2;
  }
  return sum;
}

std::vector<double> maxima(const depth::FeedForward& f) {
  const int grid = 62832;
  std::vector<double> values, found;
  for (int k = 0; k < grid; ++k) {
    const double a = 2 * pi * k / grid;
    values.push_back(potential(f, std::cos(a), std::sin(a)));
  }
  for (std::size_t k = 0; k < values.size(); ++k)
    if (values[k] > values[(k + 1) % values.size()] &&
        values[k] > values[(k + values.size() - 1) % values.size()])
      found.push_back(2 * pi * static_cast<double>(k) / grid);
  return found;
}

}  // namespace attractor::papers
