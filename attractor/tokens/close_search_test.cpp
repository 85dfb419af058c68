#include "attractor/tokens/close_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"

namespace attractor {
namespace {

constexpr std::size_t kAll = 1'000'000'000;

// Normal points; every third is an earlier one moved by 0 to 0.1.
std::vector<double> scattered(std::size_t n, std::size_t dim, double scale) {
  const Stream stream(n + 1000 * dim, "close search test");
  std::vector<double> points(n * dim), step(dim);
  constexpr double kSteps[] = {0, 1e-9, 1e-6, 1e-3, 1e-2, 0.1};
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = std::span(points).subspan(i * dim, dim);
    stream.normals(i, x);
    if (i % 3 == 2)
      for (std::size_t a = 0; a < dim; ++a)
        x[a] = points[i / 2 * dim + a] / scale + kSteps[i % std::size(kSteps)] * x[a];
    for (double& c : x) c *= scale;
  }
  return points;
}

std::vector<std::uint32_t> brute_force(std::span<const double> query, std::span<const double> keys,
                                       double radius) {
  std::vector<std::uint32_t> found;
  for (std::size_t j = 0; j < keys.size() / query.size(); ++j)
    if (squared_distance(query, keys.subspan(j * query.size(), query.size())) <= radius * radius)
      found.push_back(static_cast<std::uint32_t>(j));
  return found;
}

TEST(CloseSearch, FindsWhatBruteForceFinds) {
  for (const std::size_t dim : {1, 2, 3, 7, 8, 20})
    for (const std::size_t n : {1, 7, 300})
      for (const double scale : {1.0, 1e-3})
        for (const double radius : {1e-300, 3e-9, 2e-3, 0.07, 0.6, 5.0, 1e200}) {
          const std::vector<double> keys = scattered(n, dim, scale);
          const std::vector<double> others = scattered(n + 5, dim, 2 * scale);
          const CloseSearch search(keys, dim, radius * scale);
          CloseSearch::Cursor cursor;
          std::vector<CloseKey> found;
          // The keys themselves, and queries that also lie outside of them.
          for (const std::vector<double>* queries : {&keys, &others})
            for (std::size_t i = 0; i < queries->size() / dim; i += 3) {
              const auto query = std::span(*queries).subspan(i * dim, dim);
              const double r = radius * scale;
              const CloseScan scan = search.find(query, {r * r, kAll, kAll}, cursor, found);
              std::vector<std::uint32_t> names;
              for (const CloseKey& k : found) names.push_back(k.key);
              std::sort(names.begin(), names.end());
              EXPECT_EQ(names, brute_force(query, keys, r)) << n << " x " << dim << ", " << radius;
              EXPECT_EQ(scan.end, ScanEnd::complete);
              EXPECT_EQ(scan.share, 1);
            }
        }
}

TEST(CloseSearch, ASmallerRadiusThanThatOfTheCellsIsExactToo) {
  const std::vector<double> keys = scattered(500, 4, 1);
  const CloseSearch search(keys, 4, 1.0);
  CloseSearch::Cursor cursor;
  std::vector<CloseKey> found;
  for (std::size_t i = 0; i < 500; i += 11)
    for (const double radius : {1e-6, 0.05, 0.5, 1.0}) {
      const auto query = std::span(keys).subspan(i * 4, 4);
      search.find(query, {radius * radius, kAll, kAll}, cursor, found);
      EXPECT_EQ(found.size(), brute_force(query, keys, radius).size());
    }
}

// 900 of 1000 keys coincide: a scan that stops early says how much it has seen, and what it found
// over that is what there is.
TEST(CloseSearch, StopsEarlyAndSaysSo) {
  std::vector<double> keys(3000, 0.25);
  for (std::size_t i = 900; i < 1000; ++i) keys[3 * i] = 0.25 + 1e-3;
  const CloseSearch search(keys, 3, 0.1);
  CloseSearch::Cursor cursor;
  std::vector<CloseKey> found;
  const std::vector<double> query(3, 0.25);
  CloseScan scan = search.find(query, {1e-8, 64, kAll}, cursor, found);
  EXPECT_EQ(scan.end, ScanEnd::found_enough);
  EXPECT_GE(found.size(), 64U);
  EXPECT_NEAR(static_cast<double>(found.size()) / scan.share, 900, 90);
  scan = search.find(query, {1e-8, kAll, 200}, cursor, found);
  EXPECT_EQ(scan.end, ScanEnd::gave_up);
  EXPECT_NEAR(scan.share, 0.2, 0.01);
  EXPECT_NEAR(static_cast<double>(found.size()) / scan.share, 900, 60);
  scan = search.find(query, {1e-8, kAll, kAll}, cursor, found);
  EXPECT_EQ(scan.end, ScanEnd::complete);
  EXPECT_EQ(found.size(), 900U);
}

TEST(CloseSearch, NoKeys) {
  const CloseSearch search({}, 2, 0.5);
  CloseSearch::Cursor cursor;
  std::vector<CloseKey> found;
  EXPECT_EQ(search.find(std::vector<double>{0, 1}, {0.25, 5, 5}, cursor, found).end,
            ScanEnd::complete);
  EXPECT_TRUE(found.empty());
}

}  // namespace
}  // namespace attractor
