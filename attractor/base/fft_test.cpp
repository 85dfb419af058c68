// Transforms against their definition, summed in long double.
#include "attractor/base/fft.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/scratch.hpp"
#include "attractor/base/threads.hpp"

namespace attractor {
namespace {

using Complex = std::complex<double>;
using Long = std::complex<long double>;

// Each prime factor p of n multiplies by factors that are off by mu and adds p terms, an error of
// at most ((p + 2) u + mu) sqrt(p) of the root mean square (Higham, Accuracy and Stability of
// Numerical Algorithms, 24.1; u = eps / 2). With mu = (4 pi + 1) u, a rounded angle, that is at
// most 25 log2(p) u for p = 2, 3, 5, 7; what makes real functions of complex ones, as much as p
// = 2.
double allowed(std::size_t n) {
  return 12.5 * std::numeric_limits<double>::epsilon() * (1 + std::log2(static_cast<double>(n)));
}

std::vector<Long> roots_of_unity(std::size_t n) {
  std::vector<Long> roots;
  for (std::size_t m = 0; m < n; ++m)
    roots.push_back(
        std::polar(1.0L, 2 * std::numbers::pi_v<long double> * static_cast<long double>(m) /
                             static_cast<long double>(n)));
  return roots;
}

/// One function of `count`, by the formulas of the header.
struct Definition {
  std::size_t n, count;
  std::vector<Long> roots = roots_of_unity(n);

  const Long& root(std::uint64_t j, std::uint64_t k) const {
    return roots[static_cast<std::size_t>(j * k % n)];
  }
  Long mode(const double* values, std::size_t k) const {
    Long sum = 0;
    for (std::size_t j = 0; j < n; ++j)
      sum += static_cast<long double>(values[j * count]) * std::conj(root(j, k));
    return sum;
  }
  long double value(const Complex* modes, std::size_t j) const {
    long double sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const Complex x = modes[std::min(k, n - k) * count];
      if (k == 0 || 2 * k == n)
        sum += x.real() * root(j, k).real();
      else
        sum += (Long(2 * k < n ? x : std::conj(x)) * root(j, k)).real();
    }
    return sum;
  }
};

/// Root of the sum of squares: of what is off, relative to what is right.
struct TransformError {
  long double off = 0, size = 0;
  void add(Long found, Long right) {
    off += std::norm(found - right);
    size += std::norm(right);
  }
  double relative() const { return size == 0 ? 0 : static_cast<double>(std::sqrt(off / size)); }
};

struct Data {
  std::size_t n, count;
  Scratch<double> values{n * count};
  Scratch<Complex> modes{(n / 2 + 1) * count};

  void draw() const {
    const Stream stream(n, "test.fft");
    stream.normals(0, {values.get(), n * count});
    stream.normals(1, {reinterpret_cast<double*>(modes.get()), 2 * (n / 2 + 1) * count});
  }
};

void expect_definition(std::size_t n, std::size_t count) {
  SCOPED_TRACE(testing::Message() << n << " points, " << count << " functions");
  const RealFft fft(n, count);
  const Data in{n, count}, out{n, count};
  in.draw();
  const Definition truth{n, count};
  const std::vector<double> before(in.values.get(), in.values.get() + n * count);
  fft.analyse(in.values.get(), out.modes.get());
  TransformError forward, backward;
  for (std::size_t c = 0; c < count; ++c)
    for (std::size_t k = 0; k <= n / 2; ++k)
      forward.add(out.modes[k * count + c], truth.mode(in.values.get() + c, k));
  EXPECT_LE(forward.relative(), allowed(n));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), in.values.get()));
  const std::vector<Complex> modes(in.modes.get(), in.modes.get() + (n / 2 + 1) * count);
  fft.synthesise(in.modes.get(), out.values.get());
  for (std::size_t c = 0; c < count; ++c)
    for (std::size_t j = 0; j < n; ++j)
      backward.add(out.values[j * count + c], truth.value(modes.data() + c, j));
  EXPECT_LE(backward.relative(), allowed(n));
}

TEST(RealFft, SmallSizes) {
  for (std::size_t n = 1; n <= 36; ++n)
    for (const std::size_t count : {1U, 2U, 3U, 8U}) expect_definition(n, count);
}

// 4, 5, 6, 7 times a power of two, as on the circle.
TEST(RealFft, OneFunction) {
  for (std::size_t quarter = 16; quarter <= 256; quarter *= 2)
    for (const std::size_t n : {4 * quarter, 5 * quarter, 6 * quarter, 7 * quarter})
      expect_definition(n, 1);
}

// Any product of 2, 3, 5, 7, as in bands of the sphere.
TEST(RealFft, ManyFunctions) {
  for (const std::size_t n : {42U, 45U, 49U, 63U, 64U, 75U, 105U, 125U, 128U, 189U, 210U})
    for (const std::size_t count : {4U, 12U}) expect_definition(n, count);
}

// No sizes that the code asks for; the bound holds for what is seen.
TEST(RealFft, Primes) {
  for (const std::size_t n : {37U, 61U, 97U, 101U, 251U, 509U}) expect_definition(n, 1);
  for (const std::size_t n : {2 * 61U, 3 * 37U, 97U}) expect_definition(n, 4);
}

// A few of the modes, whose errors are those of all: the data are random.
TEST(RealFft, LargeSizes) {
  for (const std::size_t n : {65536U, 81920U, 393216U, 458752U}) {
    const RealFft fft(n);
    const Data in{n, 1}, out{n, 1};
    in.draw();
    const Definition truth{n, 1};
    fft.analyse(in.values.get(), out.modes.get());
    const std::vector<Complex> modes(in.modes.get(), in.modes.get() + n / 2 + 1);
    fft.synthesise(in.modes.get(), out.values.get());
    TransformError forward, backward;
    for (std::size_t k = 3; k <= n / 2; k += n / 24 + 1) {
      forward.add(out.modes[k], truth.mode(in.values.get(), k));
      backward.add(out.values[k], truth.value(modes.data(), k));
    }
    EXPECT_LE(forward.relative(), allowed(n)) << n;
    EXPECT_LE(backward.relative(), allowed(n)) << n;
  }
}

// One plan in several threads at a time: the same bits as alone. 7^3 takes the butterflies of 7.
TEST(RealFft, ThreadsShareAPlan) {
  const std::size_t n = 343, count = 4, rounds = 64, before = threads();
  set_threads(4);
  const RealFft fft(n, count), equal(n, count);
  const Data in{n, count}, alone{n, count};
  in.draw();
  equal.analyse(in.values.get(), alone.modes.get());
  std::vector<int> same(rounds, 0);
  parallel_for(rounds, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      const Data own{n, count};
      fft.analyse(in.values.get(), own.modes.get());
      same[r] =
          std::equal(own.modes.get(), own.modes.get() + (n / 2 + 1) * count, alone.modes.get());
    }
  });
  set_threads(before);
  for (std::size_t r = 0; r < rounds; ++r) EXPECT_TRUE(same[r]) << r;
}

}  // namespace
}  // namespace attractor
