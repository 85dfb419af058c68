#include "attractor/kernels/moments/power_levels.hpp"

#include <cassert>
#include <cmath>
#include <functional>

#include "attractor/base/threads.hpp"

namespace attractor::kernels {
namespace {

/// Blocks of a level are independent of each other; small levels are not worth waking a thread.
void for_blocks(std::size_t blocks, std::size_t values,
                const std::function<void(std::size_t)>& body) {
  parallel_for(blocks, values < 20'000 ? blocks : 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t q = begin; q < end; ++q) body(q);
  });
}

}  // namespace

PowerLevels::PowerLevels(const PowerShape& shape) : shape_(shape), factorial_(1, 1.0) {
  for (std::size_t k = 0; k <= shape.degree; ++k) {
    levels_.push_back(empty(k));
    factorial_.push_back(factorial_.back() * static_cast<double>(k + 1));
  }
}

PowerLevels::Level PowerLevels::empty(std::size_t k) const {
  Level level;
  std::size_t size = 0;
  for (std::size_t q = 0; q <= k; ++q) {
    level.block.push_back(size);
    size += shape_.a.rows(q) * shape_.b.rows(k - q);
  }
  level.values.resize(size);
  return level;
}

// A block of moments has columns of degree p - 1 - q (but for q = p), then of degree p - q.
void PowerLevels::fill(std::span<const double> moments, double scale) {
  const PowerShape& s = shape_;
  assert(moments.size() == s.features);
  const double* from = moments.data();
  for (std::size_t q = 0; q <= s.degree; ++q)
    for (std::size_t u = 0; u < s.a.rows(q); ++u)
      for (std::size_t k = q == s.degree ? q : s.degree - 1; k <= s.degree; ++k) {
        const std::size_t columns = s.b.rows(k - q);
        double* to = levels_[k].values.data() + levels_[k].block[q] + u * columns;
        const double factor = scale * s.a.factorial[s.a.first[q] + u];
        for (std::size_t v = 0; v < columns; ++v)
          to[v] = factor * s.b.factorial[s.b.first[k - q] + v] * *from++;
      }
  for (std::size_t k = s.degree - 1; k-- > 0;) contract(k);
}

void PowerLevels::contract(std::size_t k) {
  const PowerGroup &a = shape_.a, &b = shape_.b;
  const Level& high = levels_[k + 2];
  Level& low = levels_[k];
  for_blocks(k + 1, low.values.size(), [&](std::size_t q) {
    const std::size_t columns = b.rows(k - q), wide = b.rows(k + 2 - q);
    const std::uint32_t* up = b.up.data() + b.first[k - q] * b.vars;
    for (std::size_t u = 0; u < a.rows(q); ++u) {
      double* to = low.values.data() + low.block[q] + u * columns;
      const double* row = high.values.data() + high.block[q] + u * wide;
      for (std::size_t v = 0; v < columns; ++v) {
        double sum = 0;
        for (std::size_t c = 0; c < b.vars; ++c)
          sum += row[up[v * b.vars + c] - b.first[k - q + 2]];
        to[v] = sum;
      }
      for (std::size_t c = 0; c < a.vars; ++c) {
        const std::size_t higher = a.up[(a.first[q] + u) * a.vars + c] - a.first[q + 2];
        const double* from = high.values.data() + high.block[q + 2] + higher * columns;
        for (std::size_t v = 0; v < columns; ++v) to[v] += from[v];
      }
    }
  });
}

// Coefficients of divided powers: x_c^2 x^i / i! = (i_c + 1)(i_c + 2) x^{i + 2 e_c} / (i + 2 e_c)!.
PowerLevels::Level PowerLevels::raised(const Level& low, std::size_t k) const {
  const PowerGroup &a = shape_.a, &b = shape_.b;
  const auto factor = [](const PowerGroup& g, std::size_t row, std::size_t c) {
    const double e = g.exponents[row * g.vars + c];
    return (e + 1) * (e + 2);
  };
  Level high = empty(k + 2);
  for_blocks(k + 3, high.values.size(), [&](std::size_t q) {
    double* to = high.values.data() + high.block[q];
    const std::size_t wide = b.rows(k + 2 - q);
    if (q <= k) {
      const double* from = low.values.data() + low.block[q];
      for (std::size_t u = 0; u < a.rows(q); ++u, to += wide)
        for (std::size_t row = b.first[k - q]; row < b.first[k - q + 1]; ++row, ++from)
          for (std::size_t c = 0; c < b.vars; ++c)
            to[b.up[row * b.vars + c] - b.first[k - q + 2]] += factor(b, row, c) * *from;
    }
    if (q < 2) return;
    to = high.values.data() + high.block[q];
    const double* from = low.values.data() + low.block[q - 2];
    for (std::size_t row = a.first[q - 2]; row < a.first[q - 1]; ++row, from += wide)
      for (std::size_t c = 0; c < a.vars; ++c) {
        double* higher = to + (a.up[row * a.vars + c] - a.first[q]) * wide;
        const double f = factor(a, row, c);
        for (std::size_t v = 0; v < wide; ++v) higher[v] += f * from[v];
      }
  });
  return high;
}

PowerLevels::Level PowerLevels::homogeneous(std::span<const double> series,
                                            std::size_t degree) const {
  Level sum;
  for (std::size_t k = degree % 2; k <= degree; k += 2) {
    sum = k < 2 ? empty(k) : raised(sum, k - 2);
    const double factor = series[k] * factorial_[k];
    for (std::size_t i = 0; i < sum.values.size(); ++i)
      sum.values[i] += factor * levels_[k].values[i];
  }
  return sum;
}

PowerCoefficients PowerLevels::coefficients(std::span<const double> series) const {
  assert(series.size() == shape_.degree + 1);
  return packed(homogeneous(series, shape_.degree), homogeneous(series, shape_.degree - 1));
}

PowerCoefficients PowerLevels::packed(const Level& high, const Level& low) const {
  const PowerShape& s = shape_;
  // Coefficient of u (row i of degree q) and v (row j of degree r).
  const auto at = [&](std::size_t q, std::size_t i, std::size_t r, std::size_t j) {
    const Level& level = q + r == s.degree ? high : low;
    return level.values[level.block[q] + i * s.b.rows(r) + j];
  };
  const auto pack = [&](const PowerGroup& own, const PowerGroup& other, const auto& coefficient) {
    std::vector<double> out;
    out.reserve(s.features);
    for (std::size_t q = 0; q <= s.degree; ++q)
      for (std::size_t t = 0; t < power_tiles(own.rows(q)); ++t)
        for (std::size_t r = q == s.degree ? 0 : s.degree - 1 - q; r <= s.degree - q; ++r)
          for (std::size_t j = 0; j < other.rows(r); ++j)
            for (std::size_t i = power_tile_begin(own.rows(q), t);
                 i < power_tile_begin(own.rows(q), t + 1); ++i)
              out.push_back(coefficient(q, i, r, j));
    return out;
  };
  return {.by_a = pack(s.a, s.b, at),
          .by_b = pack(s.b, s.a, [&](std::size_t r, std::size_t j, std::size_t q, std::size_t i) {
            return at(q, i, r, j);
          })};
}

double PowerLevels::pair_sum(std::span<const double> series) const {
  const PowerShape& s = shape_;
  double sum = 0;
  for (std::size_t k = 0; k <= s.degree; ++k) {
    const double* value = levels_[k].values.data();
    double level = 0;
    for (std::size_t q = 0; q <= k; ++q)
      for (std::size_t u = s.a.first[q]; u < s.a.first[q + 1]; ++u)
        for (std::size_t v = s.b.first[k - q]; v < s.b.first[k - q + 1]; ++v, ++value)
          level += factorial_[k] / (s.a.factorial[u] * s.b.factorial[v]) * *value * *value;
    sum += series[k] * level;
  }
  return sum;
}

double PowerLevels::mean_length() const {
  double square = 0;
  for (const double x : levels_[1].values) square += x * x;
  return std::sqrt(square);
}

}  // namespace attractor::kernels
