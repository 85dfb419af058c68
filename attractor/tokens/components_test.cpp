#include "attractor/tokens/components.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"

namespace attractor {
namespace {

// Every pair, joined by union-find; labels in order of the first token.
Components brute_force(const std::vector<double>& tokens, std::size_t dim, double radius) {
  const std::size_t n = tokens.size() / dim;
  std::vector<std::uint32_t> parent(n);
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&](std::uint32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t j = 0; j < i; ++j) {
      double squared = 0;
      for (std::size_t a = 0; a < dim && squared <= radius * radius; ++a) {
        const double difference = tokens[i * dim + a] - tokens[j * dim + a];
        squared += difference * difference;
      }
      if (squared > radius * radius) continue;
      const std::uint32_t a = root(i), b = root(j);
      parent[std::max(a, b)] = std::min(a, b);
    }
  Components result{std::vector<std::uint32_t>(n), 0};
  for (std::uint32_t i = 0; i < n; ++i)  // a root is the first token of its set
    result.label[i] =
        root(i) == i ? static_cast<std::uint32_t>(result.count++) : result.label[root(i)];
  return result;
}

void expect_like_brute_force(const std::vector<double>& tokens, std::size_t dim, double radius) {
  const Components found = components(tokens, dim, radius);
  const Components expected = brute_force(tokens, dim, radius);
  EXPECT_EQ(found.count, expected.count)
      << tokens.size() / dim << " tokens, dim " << dim << ", radius " << radius;
  EXPECT_EQ(found.label, expected.label)
      << tokens.size() / dim << " tokens, dim " << dim << ", radius " << radius;
}

// Half are independent points, the other half copies of earlier tokens moved by 0 to 1e-2: links of
// every length exist.
std::vector<double> scattered(std::size_t n, std::size_t dim, bool on_sphere) {
  const Stream stream(n * 1000 + dim, "components test");
  std::vector<double> tokens(n * dim), step(dim);
  constexpr double kSteps[] = {0, 3e-10, 8e-10, 3e-9, 1e-6, 1e-3, 1e-2};
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<double> x = std::span(tokens).subspan(i * dim, dim);
    stream.normals(i, x);
    if (i > 0 && stream.below(2, i, 1000) == 1) {
      const std::uint64_t twin = stream.below(i, i, 1001);
      const double size = kSteps[stream.below(std::size(kSteps), i, 1002)];
      for (std::size_t a = 0; a < dim; ++a)
        x[a] = tokens[twin * dim + a] + size * x[a] / std::sqrt(static_cast<double>(dim));
    } else if (on_sphere) {
      double squares = 0;
      for (const double c : x) squares += c * c;
      for (double& c : x) c /= std::sqrt(squares);
    }
  }
  return tokens;
}

constexpr double kRadii[] = {1e-9, 1e-8, 2e-6, 5e-4, 0.02, 0.2, 0.9, 1.4, 100, 1e300};

TEST(TokenComponents, AgreeWithUnionFindOverAllPairsOnTheSphere) {
  for (const std::size_t n : {1, 2, 3, 17, 255, 256, 257, 300, 1000})
    for (const std::size_t dim : {2, 3, 8, 64})
      for (const double radius : kRadii)
        expect_like_brute_force(scattered(n, dim, true), dim, radius);
}

TEST(TokenComponents, AgreeWithUnionFindOverAllPairsInSpace) {
  for (const std::size_t n : {256, 257, 700})
    for (const std::size_t dim : {2, 3, 8, 64})
      for (const double radius : kRadii)
        expect_like_brute_force(scattered(n, dim, false), dim, radius);
}

TEST(TokenComponents, AgreeWithUnionFindForTwoThousandTokens) {
  for (const std::size_t dim : {2, 3, 8, 64})
    for (const double radius : {1e-9, 0.02, 0.9})
      expect_like_brute_force(scattered(2000, dim, true), dim, radius);
}

TEST(TokenComponents, AgreeWithUnionFindWhenTokensSpreadAlongOneAxisOnly) {
  for (const std::size_t n : {250, 260, 900}) {
    std::vector<double> tokens(n * 5, 0.25);
    const Stream stream(3, "line");
    for (std::size_t i = 0; i < n; ++i) tokens[i * 5 + 4] = stream.normal(i, 0);
    for (const double radius : {1e-9, 1e-3, 0.01, 0.5}) expect_like_brute_force(tokens, 5, radius);
  }
}

TEST(TokenComponents, AgreeWithUnionFindWhereCoordinatesAreLongAgainstTheRadius) {
  // Clouds around (1000, 1000, 1000) whose neighbours are a few units in the last place apart: the
  // radius spans nine of them, and no link is close to it.
  const double unit = std::ldexp(1.0, -43);  // of doubles in [512, 1024)
  for (const std::size_t dim : {2, 3}) {
    const Stream stream(17, "far");
    std::vector<double> tokens(1200 * dim);
    for (std::size_t k = 0; k < tokens.size(); ++k)
      tokens[k] = 1000 - static_cast<double>(stream.below(400, k, 0)) * unit;
    expect_like_brute_force(tokens, dim, 9.5 * unit);
  }
}

TEST(TokenComponents, TokensOnALatticeOfThatSpacingAreLinked) {
  // 0.1 i in doubles: about half of the neighbours are within 0.1, the others are not.
  for (const double spacing : {0.1, 0.3, 1.0 / 3, 0.7, 0.25}) {
    std::vector<double> tokens;
    for (int i = 0; i < 600; ++i) {
      tokens.push_back((i - 300) * spacing);
      tokens.push_back(0);
    }
    expect_like_brute_force(tokens, 2, spacing);
  }
}

// What boxes are bad at: balls about as wide as the radius, or many times, that touch or almost do;
// chains with links just short of the radius and just beyond it; copies; all in one cloud.
std::vector<double> adversarial(std::size_t dim, double size, double apart) {
  const Stream stream(dim * 100 + static_cast<std::uint64_t>(100 * size + apart), "boxes");
  std::vector<double> tokens, centre(dim), way(dim);
  const auto unit = [&](std::uint64_t number, std::vector<double>& x) {
    stream.normals(number, x);
    double squares = 0;
    for (const double c : x) squares += c * c;
    for (double& c : x) c /= std::sqrt(squares);
  };
  const auto add = [&](const std::vector<double>& from, double length) {
    for (std::size_t a = 0; a < dim; ++a) tokens.push_back(from[a] + length * way[a]);
  };
  for (std::uint64_t ball = 0; ball < 5; ++ball) {
    unit(ball, way);
    for (std::size_t a = 0; a < dim; ++a) centre[a] += apart * way[a];
    for (std::uint64_t i = 0; i < 90; ++i) {
      unit(1000 + 100 * ball + i, way);
      add(centre, size * std::pow(stream.uniform(ball, i), 1.0 / static_cast<double>(dim)));
    }
    for (int copy = 0; copy < 20; ++copy) add(centre, 0);
  }
  for (const double step : {0.99, 1.01}) {
    unit(static_cast<std::uint64_t>(step * 1e6), way);
    for (int link = 0; link < 60; ++link) add(centre, size + 0.9 + step * link);
  }
  return tokens;
}

TEST(TokenComponents, AgreeWithUnionFindWhereBoxesAreNoHelp) {
  for (const std::size_t dim : {1, 2, 3, 5, 17, 64})
    for (const double size : {0.1, 0.5, 0.8, 1.5, 6.0})
      for (const double apart : {0.0, 0.5, 1.2, 2.0, 2.9, 13.5})
        expect_like_brute_force(adversarial(dim, size, apart), dim, 1);
}

TEST(TokenComponents, AreTheSameForAnyNumberOfThreads) {
  const std::vector<double> tokens = scattered(3000, 5, true);
  set_threads(1);
  const Components one = components(tokens, 5, 0.2);
  set_threads(3);
  EXPECT_EQ(components(tokens, 5, 0.2).label, one.label);
  set_threads(0);
  EXPECT_GT(one.count, 100U);
}

TEST(TokenComponents, AChainIsOneComponent) {
  const std::vector<double> three{0, 0, 0.9, 0, 1.8, 0};
  EXPECT_EQ(components(three, 2, 1).count, 1U);
  EXPECT_EQ(components(three, 2, 0.8).count, 3U);
  // 1000 tokens along a line, in an order that visits its ends first, with one gap.
  std::vector<double> line;
  for (int i = 0; i < 1000; ++i) {
    const int place = i % 2 == 0 ? i / 2 : 999 - i / 2;
    line.push_back(place < 700 ? place : place + 3);
    line.push_back(0);
  }
  const Components found = components(line, 2, 1.5);
  EXPECT_EQ(found.count, 2U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(found.label[i], line[2 * i] < 701 ? 0U : 1U) << i;
  EXPECT_EQ(components(line, 2, 4.0).count, 1U);
  EXPECT_EQ(components(line, 2, 0.5).count, 1000U);
}

TEST(TokenComponents, AreLinkedAtExactlyTheRadius) {
  for (const std::size_t copies : {1, 300}) {  // below and above the switch to cells
    std::vector<double> tokens;
    for (std::size_t k = 0; k < copies; ++k)
      for (const double x : {0.0, 0.5}) {
        tokens.push_back(x + 100 * static_cast<double>(k));
        tokens.push_back(0);
      }
    EXPECT_EQ(components(tokens, 2, 0.5).count, copies);
    EXPECT_EQ(components(tokens, 2, 0.4999).count, 2 * copies);
  }
}

TEST(TokenComponents, LabelsAreNumberedByTheirFirstToken) {
  const std::vector<double> tokens{5, 0, 1, 0, 5, 0.1, 9, 0, 1, 0.1};
  const Components found = components(tokens, 2, 0.2);
  EXPECT_EQ(found.label, (std::vector<std::uint32_t>{0, 1, 0, 2, 1}));
  EXPECT_EQ(found.count, 3U);
}

TEST(TokenComponents, DuplicatesAreOneComponentForEveryRadius) {
  for (const std::size_t n : {2, 256, 257, 2000})
    for (const double radius : {1e-300, 1e-12, 1.0}) {
      std::vector<double> tokens;
      for (std::size_t i = 0; i < n; ++i) tokens.insert(tokens.end(), {0.6, -0.8, 0});
      EXPECT_EQ(components(tokens, 3, radius).count, 1U) << n << " " << radius;
    }
}

TEST(TokenComponents, AntipodalTokensOfACircleAreFarApart) {
  std::vector<double> tokens;
  for (int i = 0; i < 400; ++i) {
    tokens.push_back(i % 2 == 0 ? 1 : -1);
    tokens.push_back(0);
  }
  EXPECT_EQ(components(tokens, 2, 1.9).count, 2U);
  EXPECT_EQ(components(tokens, 2, 2.0).count, 1U);
}

TEST(TokenComponents, NoTokensHaveNone) {
  const Components found = components({}, 3, 0.1);
  EXPECT_EQ(found.count, 0U);
  EXPECT_TRUE(found.label.empty());
}

}  // namespace
}  // namespace attractor
