#include "attractor/observe/close_weights.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/close_search.hpp"

namespace attractor::observe {
namespace {

constexpr std::size_t kCounted = 1024;        // close tokens counted one by one
constexpr std::size_t kTokensTogether = 256;  // tokens a thread takes together

// The log weight of a pair is slope (centre_i - |q_i - k_j|^2) / 2.
struct Pairs {
  std::span<const double> queries, keys, masses;
  std::size_t dim;
  double slope;
  std::vector<double> centres;  // empty: 0
  bool with_own;                // the pair (i, i) counts
  bool pulls;                   // tokens on the sphere, their own keys

  double centre(std::size_t i) const { return centres.empty() ? 0 : centres[i]; }
  double log_weight(std::size_t i, double squared) const {
    return slope * (centre(i) - squared) / 2;
  }
  double squared_radius(std::size_t i, double level) const { return centre(i) - 2 * level / slope; }
};

// Close tokens that are a crowd: its weight is then known to one over their root.
std::size_t crowd(std::size_t tokens) {
  return std::clamp<std::size_t>((std::size_t{1} << 24) / tokens, 32, 1024);
}

// Enough to know a crowd's weight, even if the scan was given up.
constexpr std::size_t kFew = 32;

std::size_t comparisons(std::size_t tokens, int power) {
  return std::max<std::size_t>((std::size_t{1} << power) / tokens, 1024);
}

double bounded_exp(double x) { return std::exp(std::min(x, 700.0)); }

struct Level {
  double low, next;  // log weights from `low`; those beyond `next` are left to the next level
  int power;         // 2^power comparisons of all tokens
};

// The square of the tangent part of sum_j w_j (x_j - x_i).
double squared_pull(const Pairs& pairs, std::size_t i, std::span<const CloseKey> found) {
  const auto row = [&](std::size_t k) { return pairs.keys.subspan(k * pairs.dim, pairs.dim); };
  std::vector<double> pull(pairs.dim, 0.0);
  for (const CloseKey& k : found) {
    const double weight =
        pairs.masses[k.key] * bounded_exp(pairs.log_weight(i, k.squared_distance));
    for (std::size_t a = 0; a < pairs.dim; ++a) pull[a] += weight * (row(k.key)[a] - row(i)[a]);
  }
  Sphere(pairs.dim).project(row(i), pull);
  return dot(pull, pull);
}

// One token at one level; true: done, nothing left for the next.
bool weigh(const Pairs& pairs, const CloseSearch& search, std::size_t i, const Level& level,
           CloseSearch::Cursor& cursor, std::vector<CloseKey>& found, CloseWeights& close) {
  const double squared = pairs.squared_radius(i, level.low);
  if (squared < 0) return true;
  const auto query = pairs.queries.subspan(i * pairs.dim, pairs.dim);
  const std::size_t n = pairs.masses.size();
  const CloseScan scan =
      search.find(query, {squared, crowd(n) + 1, comparisons(n, level.power)}, cursor, found);
  const bool complete = scan.end == ScanEnd::complete;
  double sum = 0, squares = 0;
  for (const CloseKey& k : found) {
    const double log_weight = pairs.log_weight(i, k.squared_distance);
    if ((k.key == i && !pairs.with_own) || (!complete && log_weight > level.next)) continue;
    const double weight = pairs.masses[k.key] * bounded_exp(log_weight);
    sum += weight;
    squares += weight * weight;
  }
  close.weight[i] += sum / scan.share;
  if (complete) {
    close.known[i] = sum;
    if (pairs.pulls) close.power[i] = squared_pull(pairs, i, found);
  } else {
    close.noise[i] = std::hypot(close.noise[i], std::sqrt(squares) / scan.share);
    close.complete[i] = 0;
  }
  if (scan.end == ScanEnd::gave_up && found.size() < kFew)
    close.ceiling[i] = bounded_exp(level.next);
  return complete;
}

// Whether a level is worth it: most of a few tokens end their scan before they give up.
bool feasible(const Pairs& pairs, const CloseSearch& search, const Level& level,
              std::span<const char> pending) {
  constexpr std::size_t kProbes = 32;
  const std::size_t n = pairs.masses.size();
  CloseSearch::Cursor cursor;
  std::vector<CloseKey> found;
  std::size_t probes = 0, lost = 0;
  for (std::size_t at = 0; at < n; at += std::max<std::size_t>(1, n / kProbes)) {
    const std::size_t i = search.order()[at];
    const double squared = pairs.squared_radius(i, level.low);
    if (pending[i] == 0 || squared < 0) continue;
    const CloseScan scan =
        search.find(pairs.queries.subspan(i * pairs.dim, pairs.dim),
                    {squared, crowd(n) + 1, comparisons(n, level.power)}, cursor, found);
    probes += 1;
    lost += scan.end == ScanEnd::gave_up && found.size() < kFew;
  }
  return 2 * lost <= probes;
}

// All tokens that wait, at one level.
void climb_one(const Pairs& pairs, const Level& level, double radius, std::vector<char>& pending,
               CloseWeights& close) {
  const std::size_t n = pairs.masses.size();
  const CloseSearch search(pairs.keys, pairs.dim, radius);
  if (!feasible(pairs, search, level, pending)) {
    for (std::size_t i = 0; i < n; ++i)
      if (pending[i] != 0) {
        close.ceiling[i] = bounded_exp(level.next);
        close.complete[i] = 0;
      }
    return;
  }
  parallel_for(n, kTokensTogether, [&](std::size_t begin, std::size_t end) {
    CloseSearch::Cursor cursor;
    std::vector<CloseKey> found;
    for (std::size_t at = begin; at < end; ++at) {
      const std::size_t i = search.order()[at];
      if (pending[i] != 0 && weigh(pairs, search, i, level, cursor, found, close)) pending[i] = 0;
    }
  });
}

// Levels ascending; more is spent where pairs up to `essential` would be missed otherwise; `top`:
// no pair is heavier.
CloseWeights climb(const Pairs& pairs, std::span<const double> levels, double essential,
                   double top) {
  const std::size_t n = pairs.masses.size();
  CloseWeights close = nothing_close(n);
  close.ceiling.assign(n, bounded_exp(levels.empty() ? top : levels[0]));
  std::vector<char> pending(n, 1);
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const double next = k + 1 == levels.size() ? top : levels[k + 1];
    double radius = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (pending[i] != 0) radius = std::max(radius, pairs.squared_radius(i, levels[k]));
    if (!(radius > 0)) break;
    climb_one(pairs, {levels[k], next, next > essential ? 30 : 28}, std::sqrt(radius), pending,
              close);
  }
  return close;
}

// Terms e^{-beta gap}; those left out by all levels differ by less than e^{lowest} from the
// lightest pair there can be.
CloseWeights by_distance(const Attention& attention, std::span<const double> tokens,
                         std::span<const double> masses, const LogitRange& range) {
  std::vector<double> levels;
  const double factor = masses.size() < (1 << 17) ? 2 : 8;  // each level costs a sort
  for (double level = range.lowest; level < -0.3; level /= factor)
    if (-level < 2 * attention.beta) levels.push_back(level);
  const Pairs pairs{tokens, tokens, masses, attention.dim, attention.beta, {}, false, true};
  CloseWeights close = climb(pairs, levels, range.essential, 0);
  for (double& c : close.ceiling) c = std::max(0.0, c - std::exp(-2 * attention.beta));
  if (attention.rule == Rule::softmax)
    for (std::size_t i = 0; i < masses.size(); ++i) close.power[i] /= close.known[i] + masses[i];
  return close;
}

std::vector<double> products(const std::vector<double>& matrix, std::span<const double> tokens,
                             std::size_t dim) {
  if (matrix.empty()) return {tokens.begin(), tokens.end()};
  std::vector<double> rows(tokens.size());
  for (std::size_t k = 0; k < tokens.size(); ++k)
    rows[k] =
        dot(std::span(matrix).subspan(k % dim * dim, dim), tokens.subspan(k / dim * dim, dim));
  return rows;
}

// One more coordinate makes all vectors as long as the longest: <q, k> is then a distance.
std::vector<double> lifted(std::span<const double> rows, std::size_t dim, double square) {
  std::vector<double> longer;
  longer.reserve(rows.size() / dim * (dim + 1));
  for (std::size_t i = 0; i < rows.size(); i += dim) {
    const auto row = rows.subspan(i, dim);
    longer.insert(longer.end(), row.begin(), row.end());
    longer.push_back(square == 0 ? 0 : std::sqrt(std::max(0.0, square - dot(row, row))));
  }
  return longer;
}

// Up to the largest |q| |k|.
CloseWeights by_logits(const Attention& attention, std::span<const double> tokens,
                       std::span<const double> masses, const LogitRange& range) {
  const std::size_t dim = attention.dim, n = masses.size();
  const std::vector<double> queries = products(attention.query, tokens, dim);
  const std::vector<double> keys = products(attention.key, tokens, dim);
  double longest_query = 0, longest_key = 0;
  std::vector<double> centres(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto q = std::span(queries).subspan(i * dim, dim);
    const auto k = std::span(keys).subspan(i * dim, dim);
    centres[i] = dot(q, q);
    longest_query = std::max(longest_query, centres[i]);
    longest_key = std::max(longest_key, dot(k, k));
  }
  // |q - k|^2 = |q|^2 + K^2 - 2 <q, k>, and logits count from the unit.
  for (double& c : centres) c += longest_key - 2 * range.unit / attention.beta;
  const double top = attention.beta * std::sqrt(longest_query * longest_key) - range.unit;
  std::vector<double> levels;
  if (top < 600) {  // else no double can add up the rows: nothing to search, everything possible
    const double step = std::max(4.0, (top - range.lowest) / 12);
    for (double level = range.lowest; level < top; level += step) levels.push_back(level);
  }
  const std::vector<double> from = lifted(queries, dim, 0), to = lifted(keys, dim, longest_key);
  return climb({from, to, masses, dim + 1, attention.beta, std::move(centres), true, false}, levels,
               range.essential, top);
}

}  // namespace

CloseWeights nothing_close(std::size_t tokens) {
  const std::vector<double> zeros(tokens, 0.0);
  return {zeros, zeros, zeros, zeros, zeros, std::vector<char>(tokens, 1)};
}

CloseWeights close_masses(std::span<const double> directions, std::size_t dim,
                          std::span<const double> masses, double gap) {
  const std::size_t n = masses.size();
  const auto row = [&](std::size_t i) { return directions.subspan(i * dim, dim); };
  const auto is_zero = [&](std::size_t i) { return dot(row(i), row(i)) == 0; };
  CloseWeights close = nothing_close(n);
  const double radius = std::max(std::sqrt(2 * gap) * (1 + 1e-9), 1e-9);
  const CloseSearch search(directions, dim, radius);
  const CloseLimits limits{radius * radius, crowd(n) + 1, comparisons(n, 29)};
  const auto count = [&](std::size_t i, CloseSearch::Cursor& cursor, std::vector<CloseKey>& found) {
    const CloseScan scan = search.find(row(i), limits, cursor, found);
    // A pair at the very threshold counts as it does everywhere: summed in order.
    const auto is_close = [&](const CloseKey& k) {
      return k.key != i && !is_zero(k.key) && squared_distance(row(i), row(k.key)) / 2 <= gap;
    };
    double sum = 0, squares = 0;
    for (const CloseKey& k : found) {
      const double mass = is_close(k) ? masses[k.key] : 0;
      sum += mass;
      squares += mass * mass;
    }
    const bool complete = scan.end == ScanEnd::complete;
    close.weight[i] = sum / scan.share;
    close.known[i] = complete ? sum : 0;
    close.noise[i] = complete ? 0 : std::sqrt(squares) / scan.share;
    close.ceiling[i] = scan.end == ScanEnd::gave_up && found.size() < kFew ? 1 : 0;
    close.complete[i] = complete ? 1 : 0;
  };
  parallel_for(n, kTokensTogether, [&](std::size_t begin, std::size_t end) {
    CloseSearch::Cursor cursor;
    std::vector<CloseKey> found;
    for (std::size_t at = begin; at < end; ++at)
      if (!is_zero(search.order()[at])) count(search.order()[at], cursor, found);
  });
  return close;
}

CloseWeights close_logits(const Attention& attention, std::span<const double> tokens,
                          std::span<const double> masses, const LogitRange& range) {
  if (attention.beta == 0) return nothing_close(masses.size());
  return attention.by_distance() ? by_distance(attention, tokens, masses, range)
                                 : by_logits(attention, tokens, masses, range);
}

}  // namespace attractor::observe
