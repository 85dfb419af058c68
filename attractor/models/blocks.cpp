#include "attractor/models/blocks.hpp"

#include <cmath>
#include <numbers>

#include "attractor/base/threads.hpp"

namespace attractor::models {
namespace {

constexpr std::size_t kRowsAtATime = 8;

template <class Body>
void each_row(std::size_t rows, const Body& body) {
  parallel_for(rows, kRowsAtATime, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) body(r);
  });
}

/// Mean (0 for rms) and 1 / sqrt(variance + eps) of some numbers.
struct Moments {
  double mean = 0, factor = 1;
};

Moments moments(NormKind kind, double epsilon, const float* x, std::size_t count) {
  Moments m;
  const auto n = static_cast<double>(count);
  if (kind == NormKind::layer) {
    for (std::size_t a = 0; a < count; ++a) m.mean += static_cast<double>(x[a]);
    m.mean /= n;
  }
  double squares = 0;
  for (std::size_t a = 0; a < count; ++a) {
    const double y = static_cast<double>(x[a]) - m.mean;
    squares += y * y;
  }
  m.factor = 1 / std::sqrt(squares / n + epsilon);
  return m;
}

double value_of(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x * std::numbers::sqrt2 / 2);
    case Activation::gelu_tanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    default:
      return x > 0 ? x : 0;
  }
}

double slope_of(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
      return 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2) +
             x * std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    case Activation::gelu_tanh: {
      const double c = std::sqrt(2 / std::numbers::pi);
      const double t = std::tanh(c * (x + 0.044715 * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
    }
    case Activation::silu: {
      const double s = 1 / (1 + std::exp(-x));
      return s * (1 + x * (1 - s));
    }
    default:
      return x > 0 ? 1 : 0;
  }
}

Matrix product_of(const Linear& f, const Matrix& x, std::span<const float> bias) {
  Matrix y(x.rows, f.weights.outputs());
  kernels::product(x.in(), f.weights, bias, y.out());
  return y;
}

}  // namespace

Matrix apply(const Linear& f, const Matrix& x) { return product_of(f, x, f.bias); }
Matrix apply_to_tangent(const Linear& f, const Matrix& dx) { return product_of(f, dx, {}); }

Matrix normed(const Norm& norm, NormKind kind, double epsilon, const Matrix& x,
              std::size_t columns) {
  Matrix y(x.rows, x.columns);
  const std::size_t width = columns > 0 ? columns : x.columns;
  each_row(x.rows, [&](std::size_t r) {
    for (std::size_t begin = 0; begin < x.columns; begin += width) {
      const float* from = x.row(r) + begin;
      const Moments m = moments(kind, epsilon, from, width);
      for (std::size_t a = 0; a < width; ++a) {
        double value =
            (static_cast<double>(from[a]) - m.mean) * m.factor * static_cast<double>(norm.gain[a]);
        if (!norm.bias.empty()) value += static_cast<double>(norm.bias[a]);
        y.row(r)[begin + a] = static_cast<float>(value);
      }
    }
  });
  return y;
}

Matrix normed_tangent(const Norm& norm, NormKind kind, double epsilon, const Matrix& x,
                      const Matrix& dx, std::size_t columns) {
  Matrix dy(x.rows, x.columns);
  const std::size_t width = columns > 0 ? columns : x.columns;
  each_row(x.rows, [&](std::size_t r) {
    for (std::size_t begin = 0; begin < x.columns; begin += width) {
      const float* at = x.row(r) + begin;
      const float* moved = dx.row(r) + begin;
      const Moments m = moments(kind, epsilon, at, width);
      double mean = 0, along = 0;
      for (std::size_t a = 0; a < width; ++a) {
        if (kind == NormKind::layer) mean += static_cast<double>(moved[a]);
        along += (static_cast<double>(at[a]) - m.mean) * static_cast<double>(moved[a]);
      }
      mean /= static_cast<double>(width);
      along *= m.factor * m.factor / static_cast<double>(width);
      for (std::size_t a = 0; a < width; ++a)
        dy.row(r)[begin + a] = static_cast<float>(
            static_cast<double>(norm.gain[a]) * m.factor *
            (static_cast<double>(moved[a]) - mean - (static_cast<double>(at[a]) - m.mean) * along));
    }
  });
  return dy;
}

Matrix feed_forward(HiddenBlock& block, const Matrix& x) {
  block.up = apply(block.layer.up, x);
  Matrix y(block.up.rows, block.up.columns);
  const bool gated = !block.layer.gate.empty();
  if (gated) block.gate = apply(block.layer.gate, x);
  const Matrix& active = gated ? block.gate : block.up;
  each_row(y.rows, [&](std::size_t r) {
    for (std::size_t a = 0; a < y.columns; ++a) {
      const double value = value_of(block.activation, static_cast<double>(active.row(r)[a]));
      y.row(r)[a] =
          static_cast<float>(gated ? value * static_cast<double>(block.up.row(r)[a]) : value);
    }
  });
  return apply(block.layer.down, y);
}

Matrix feed_forward_tangent(const HiddenBlock& block, const Matrix& dx) {
  Matrix dy = apply_to_tangent(block.layer.up, dx);
  const bool gated = !block.layer.gate.empty();
  const Matrix dgate = gated ? apply_to_tangent(block.layer.gate, dx) : Matrix();
  each_row(dy.rows, [&](std::size_t r) {
    for (std::size_t a = 0; a < dy.columns; ++a) {
      const double moved = static_cast<double>(dy.row(r)[a]);
      const double up = static_cast<double>(block.up.row(r)[a]);
      if (!gated) {
        dy.row(r)[a] = static_cast<float>(slope_of(block.activation, up) * moved);
        continue;
      }
      const double gate = static_cast<double>(block.gate.row(r)[a]);
      dy.row(r)[a] = static_cast<float>(slope_of(block.activation, gate) *
                                            static_cast<double>(dgate.row(r)[a]) * up +
                                        value_of(block.activation, gate) * moved);
    }
  });
  return apply_to_tangent(block.layer.down, dy);
}

void add(Matrix& x, const Matrix& y) {
  for (std::size_t k = 0; k < x.data.size(); ++k) x.data[k] += y.data[k];
}

}  // namespace attractor::models
