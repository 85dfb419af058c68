#include "attractor/depth/clumps/clump_partition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

constexpr std::size_t kSample = 2048, kLeaderBlock = 4096;
constexpr double kWidest = 0.5, kTightest = 1e-7;  // reaches; each a quarter of the one before
constexpr double kTables = 1 << 24;                // numbers
constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

// Most tokens differ in their first coordinates already.
bool within_reach(const double* x, const double* y, std::size_t dim, double squared) {
  double sum = 0;
  for (std::size_t begin = 0; begin < dim; begin += 8) {
    const std::size_t end = std::min(dim, begin + 8);
    for (std::size_t a = begin; a < end; ++a) sum += (x[a] - y[a]) * (x[a] - y[a]);
    if (sum > squared) return false;
  }
  return true;
}

struct Leaders {
  std::span<const double> tokens;
  std::size_t dim;
  double squared;  // reach
  std::vector<std::uint32_t> token{}, size{};

  std::uint32_t of(std::size_t i, std::uint32_t from) const {
    for (std::uint32_t l = from; l < token.size(); ++l)
      if (within_reach(&tokens[i * dim], &tokens[token[l] * dim], dim, squared)) return l;
    return kNobody;
  }
};

/// The leader of each token; empty if there are more than `most`. What a block of tokens finds
/// among earlier leaders is found by all threads, the rest in order.
std::vector<std::uint32_t> follow(Leaders& leaders, std::size_t most) {
  const std::size_t n = leaders.tokens.size() / leaders.dim;
  std::vector<std::uint32_t> label(n, kNobody);
  for (std::size_t block = 0; block < n; block += kLeaderBlock) {
    const std::size_t size = std::min(kLeaderBlock, n - block);
    const auto known = static_cast<std::uint32_t>(leaders.token.size());
    parallel_for(size, 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = block + begin; i < block + end; ++i) label[i] = leaders.of(i, 0);
    });
    for (std::size_t i = block; i < block + size; ++i) {
      if (label[i] == kNobody) label[i] = leaders.of(i, known);
      if (label[i] == kNobody) {
        if (leaders.token.size() == most) return {};
        label[i] = static_cast<std::uint32_t>(leaders.token.size());
        leaders.token.push_back(static_cast<std::uint32_t>(i));
        leaders.size.push_back(0);
      }
      ++leaders.size[label[i]];
    }
  }
  return label;
}

// Of a sample: what sums over all tokens would take at this reach; infinite with too many leaders.
double sampled_cost(const ClumpTask& task, std::span<const double> sample, std::size_t tokens,
                    double reach) {
  const std::size_t m = sample.size() / task.dim;
  Leaders leaders{sample, task.dim, reach * reach};
  const std::vector<std::uint32_t> label = follow(leaders, m / 2);
  if (label.empty()) return kInfinity;
  std::vector<double> widest(leaders.token.size(), 0.0);
  for (std::size_t i = 0; i < m; ++i)
    widest[label[i]] =
        std::max(widest[label[i]],
                 squared_distance(sample.subspan(i * task.dim, task.dim),
                                  sample.subspan(leaders.token[label[i]] * task.dim, task.dim)));
  const double scale = static_cast<double>(tokens) / static_cast<double>(m);
  std::size_t clumps = 0;
  double own = 0, alone = 0;
  for (std::size_t l = 0; l < widest.size(); ++l) {
    if (leaders.size[l] == 1) {
      alone += scale;
      continue;
    }
    ++clumps;
    // The centre is nearer than the leader: about by a half where coordinates are many.
    const double spread = 0.5 * task.beta * widest[l];
    const double members = scale * leaders.size[l];
    if (2 * spread * spread > 0.5 * task.accuracy) own += members * members / 2;
  }
  own += 2 * alone * static_cast<double>(tokens);
  if (clumps == 0 || !clumps_fit(clumps, task.dim)) return kInfinity;
  return clump_cost(tokens, task.dim, clumps, own);
}

}  // namespace

// Not fitted: of fifty clumps in d = 64 it says a third of what was measured. So auto never takes
// clumps (docs/decisions/engines.md).
double dense_cost(std::size_t tokens, std::size_t dim) {
  const auto n = static_cast<double>(tokens);
  return n * n * (0.4 + 0.06 * static_cast<double>(dim));
}

double clump_cost(std::size_t tokens, std::size_t dim, std::size_t clumps, double own_pairs) {
  const auto n = static_cast<double>(tokens), d = static_cast<double>(dim);
  const double each = 20 + 0.5 * d + 0.1 * d * d;  // differences, the matrix of the own clump
  return n * (each + static_cast<double>(clumps) * (2 + 0.25 * d)) + own_pairs * (0.8 + 0.12 * d);
}

bool clumps_fit(std::size_t clumps, std::size_t dim) {
  const auto k = static_cast<double>(clumps);
  return k * k * static_cast<double>(dim + 8) <= kTables;
}

ClumpPartition gather(std::span<const double> tokens, std::size_t dim, double reach) {
  const std::size_t n = tokens.size() / dim;
  Leaders leaders{tokens, dim, reach * reach};
  const std::vector<std::uint32_t> label = follow(leaders, std::max<std::size_t>(16, n / 4));
  ClumpPartition result;
  if (label.empty()) return result;
  std::size_t members = 0;
  for (const std::uint32_t size : leaders.size) {  // those of several tokens, in order
    if (size < 2) continue;
    result.begin.push_back(members);
    members += size;
  }
  if (result.begin.empty() || !clumps_fit(result.begin.size(), dim)) return ClumpPartition{};
  // Where the next token of each leader goes.
  std::vector<std::size_t> next;
  std::size_t clump = 0, alone = members;
  for (const std::uint32_t size : leaders.size)
    next.push_back(size < 2 ? alone++ : result.begin[clump++]);
  result.begin.push_back(members);
  result.order.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) result.order[next[label[i]]++] = i;
  return result;
}

ClumpPartition find_clumps(const ClumpTask& task, std::span<const double> tokens) {
  const std::size_t n = tokens.size() / task.dim, m = std::min(n, kSample);
  std::vector<double> sample(m * task.dim);
  for (std::size_t k = 0; k < m; ++k)
    std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(k * n / m * task.dim), task.dim,
                sample.begin() + static_cast<std::ptrdiff_t>(k * task.dim));
  double best = kInfinity, reach = 0;
  for (double r = kWidest; r > kTightest; r /= 4) {
    const double cost = sampled_cost(task, sample, n, r);
    if (cost < best) best = cost, reach = r;
    if (std::isinf(cost)) break;  // tighter ones are still more
  }
  if (!(best < 0.5 * dense_cost(n, task.dim))) return {};
  return gather(tokens, task.dim, reach);
}

}  // namespace attractor::depth
