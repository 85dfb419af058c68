#include "attractor/solve/exact/exact_margin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/solve/exact/fraction.hpp"

namespace attractor::solve {
namespace {

// A row and its bound times one positive factor that makes all of them integers.
struct Row {
  std::vector<Integer> g{};
  Integer h{};
  Fraction factor{};
};

Integer product(std::span<const Integer> a, std::span<const Integer> b) {
  Integer sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

Rational rational(const Fraction& x) {
  double value = towards_zero(x);
  const double next = std::nextafter(value, x.sign() * kInfinity);
  const auto distance = [&](double y) { return Fraction(abs(x - Fraction(y))); };
  if (std::isfinite(next) && distance(next) < distance(value)) value = next;
  const double rest = std::isfinite(value) ? towards_zero(x - Fraction(value)) : 0;
  return {x.str(), value, rest};
}

// Doubles next to each other around the root of x >= 0; the same one twice if it is the root.
std::pair<double, double> root_between(const Fraction& x) {
  const auto square = [](double y) { return Fraction(Fraction(y) * Fraction(y)); };
  if (x == 0) return {0, 0};
  // x may be beyond all doubles where its root is not: x = 4^half rest with rest near 1.
  Integer n = numerator(x), d = denominator(x);
  const long half = (bits(n) - bits(d)) / 2;
  if (half > 0)
    d <<= 2 * half;
  else
    n <<= -2 * half;
  double lower = std::ldexp(std::sqrt(towards_zero(Fraction(n, d))), static_cast<int>(half));
  if (!std::isfinite(lower)) return {std::numeric_limits<double>::max(), kInfinity};
  while (square(lower) > x) lower = std::nextafter(lower, 0.0);
  double upper = std::nextafter(lower, kInfinity);
  while (std::isfinite(upper) && square(upper) <= x)
    lower = upper, upper = std::nextafter(lower, kInfinity);
  return {lower, square(lower) == x ? lower : upper};
}

Fraction exact(double x, std::size_t j) {
  if (!std::isfinite(x))
    throw Error(fmt::format("constraint {} contains {}; its entries must be finite", j, x));
  return Fraction(x);
}

// The rows of a problem: rounded through the Constraints, exact through the entries.
class Rows {
 public:
  using Entries = std::function<void(std::size_t j, std::span<Fraction> out)>;
  Rows(const Constraints& rounded, Entries entries)
      : rounded_(rounded), entries_(std::move(entries)) {}

  std::size_t size() const { return rounded_.size(); }
  std::size_t dim() const { return rounded_.dim(); }
  Row row(std::size_t j) const;
  // <g_j, p> > h_j for certain. Entries, p and every sum carry one rounding each.
  bool clearly_holds(std::size_t j, std::span<const double> p) const;

 private:
  const Constraints& rounded_;
  Entries entries_;
};

Row Rows::row(std::size_t j) const {
  std::vector<Fraction> values(dim() + 1);
  entries_(j, std::span(values).first(dim()));
  values.back() = exact(rounded_.bound(j), j);
  Integer common = 1;  // a power of two, as every denominator
  for (const Fraction& value : values) common = std::max(common, Integer(denominator(value)));
  Row row{.factor = Fraction(common)};
  for (const Fraction& value : values)
    row.g.push_back(numerator(value) * (common / denominator(value)));
  row.h = row.g.back();
  row.g.pop_back();
  return row;
}

bool Rows::clearly_holds(std::size_t j, std::span<const double> p) const {
  std::vector<double> row(dim());
  rounded_.row(j, row);
  const double h = rounded_.bound(j);
  double sum = 0, size = std::abs(h), square = 0;
  for (std::size_t b = 0; b < row.size(); ++b)
    sum += row[b] * p[b], size += std::abs(row[b] * p[b]), square += p[b] * p[b];
  const double roundings = static_cast<double>(dim() + 8) * kEpsilon;
  const double error = roundings * size + 1.01 * rounded_.row_error(j) * std::sqrt(square);
  return size > 1e-280 && sum - h > error;  // below, products may underflow
}

// The symmetric system A x = b with A positive semidefinite, by fraction-free elimination. A pivot
// is zero just if its row depends on those before; it is left out, and x there is 0.
std::vector<Fraction> solve(std::vector<std::vector<Integer>> a, std::vector<Integer> b) {
  const std::size_t n = b.size();
  std::vector<std::size_t> pivots;
  Integer before = 1;
  for (std::size_t k = 0; k < n; ++k) {
    if (a[k][k] == 0) continue;
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j) {
        a[i][j] = a[k][k] * a[i][j] - a[k][i] * a[k][j];
        divide_exactly(a[i][j], before);
      }
      b[i] = a[k][k] * b[i] - a[k][i] * b[k];
      divide_exactly(b[i], before);
    }
    before = a[k][k];
    pivots.push_back(k);
  }
  // By Cramer's rule the last pivot is a common denominator.
  std::vector<Fraction> x(n, 0);
  std::vector<Integer> numerators(n, 0);
  for (std::size_t k = pivots.size(); k-- > 0;) {
    const std::size_t i = pivots[k];
    Integer sum = before * b[i];
    for (std::size_t l = k + 1; l < pivots.size(); ++l)
      sum -= a[i][pivots[l]] * numerators[pivots[l]];
    divide_exactly(sum, a[i][i]);
    numerators[i] = sum;
    x[i] = Fraction(numerators[i], before);
  }
  return x;
}

// The dual active-set method. Multipliers are positive, and p = sum lambda g has <g, p> = h for
// every active row. Rows are scaled to integers, their multipliers by the inverse.
class ExactActiveSet {
 public:
  struct Active {
    std::size_t index;
    Row row;
    Fraction lambda{};
  };

  // Of these rows, those that can be active together.
  void start(std::vector<Active> rows);
  // True if these rows are a Farkas proof, which active() then is.
  bool contradict(std::vector<Active> rows);
  // A violated row. False: with it, active() is a Farkas proof.
  bool enter(Active entering);
  const std::vector<Active>& active() const { return active_; }
  std::size_t exchanges() const { return exchanges_; }

 private:
  // g = sum r g_i + z with z orthogonal to the active rows; missing = h - <g, p>.
  struct Split {
    std::vector<Fraction> r;
    Fraction rest, missing;  // rest = |z|^2
  };
  Split split(const Active& entering) const;
  std::vector<std::vector<Integer>> gram() const;
  std::size_t drop_if(bool (*out)(const Active&)) { return std::erase_if(active_, out); }
  void become_farkas(const Split& parts, Active entering);

  std::vector<Active> active_{};
  std::size_t exchanges_ = 0;
};

std::vector<std::vector<Integer>> ExactActiveSet::gram() const {
  const std::size_t n = active_.size();
  std::vector<std::vector<Integer>> a(n, std::vector<Integer>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) a[i][j] = product(active_[i].row.g, active_[j].row.g);
  return a;
}

void ExactActiveSet::start(std::vector<Active> rows) {
  active_ = std::move(rows);
  for (std::size_t dropped = 1; dropped > 0; exchanges_ += dropped) {
    std::vector<Integer> h;
    for (const Active& one : active_) h.push_back(one.row.h);
    const std::vector<Fraction> lambda = solve(gram(), h);
    for (std::size_t i = 0; i < active_.size(); ++i) active_[i].lambda = lambda[i];
    // Dependent rows have the multiplier 0 here and leave with those whose sign is wrong.
    dropped = drop_if([](const Active& one) { return one.lambda <= 0; });
  }
}

ExactActiveSet::Split ExactActiveSet::split(const Active& entering) const {
  std::vector<Integer> products;
  for (const Active& one : active_) products.push_back(product(one.row.g, entering.row.g));
  const Integer square = product(entering.row.g, entering.row.g);
  Split parts{.r = solve(gram(), products),
              .rest = square,
              .missing = entering.row.h - entering.lambda * square};
  for (std::size_t i = 0; i < active_.size(); ++i) {
    parts.rest -= parts.r[i] * products[i];
    parts.missing -= active_[i].lambda * products[i];
  }
  return parts;
}

// 0 = g - sum r g_i with r <= 0.
void ExactActiveSet::become_farkas(const Split& parts, Active entering) {
  for (std::size_t i = 0; i < active_.size(); ++i) active_[i].lambda = -parts.r[i];
  entering.lambda = 1;
  active_.push_back(std::move(entering));
  drop_if([](const Active& one) { return one.lambda == 0; });
}

bool ExactActiveSet::contradict(std::vector<Active> rows) {
  if (rows.empty()) return false;
  Active last = std::move(rows.back());
  rows.pop_back();
  active_ = std::move(rows);
  const Split parts = split(last);
  Fraction bounds = last.row.h;  // sum lambda h
  bool holds = parts.rest == 0;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    holds = holds && parts.r[i] <= 0;
    bounds -= parts.r[i] * active_[i].row.h;
  }
  if (!holds || bounds <= 0) return false;
  become_farkas(parts, std::move(last));
  return true;
}

bool ExactActiveSet::enter(Active entering) {
  for (;;) {
    const Split parts = split(entering);
    const std::vector<Fraction>& r = parts.r;
    std::size_t blocking = r.size();
    for (std::size_t i = 0; i < r.size(); ++i)
      if (r[i] > 0 && (blocking == r.size() ||
                       active_[i].lambda * r[blocking] < active_[blocking].lambda * r[i]))
        blocking = i;
    bool full = parts.rest != 0;
    if (!full && blocking == r.size()) {
      become_farkas(parts, std::move(entering));
      return false;
    }
    Fraction step = 0;
    if (full) step = parts.missing / parts.rest;
    if (blocking < r.size()) {
      const Fraction longest = active_[blocking].lambda / r[blocking];
      if (!full || longest < step) step = longest, full = false;
    }
    for (std::size_t i = 0; i < r.size(); ++i) active_[i].lambda -= step * r[i];
    entering.lambda += step;
    exchanges_ += drop_if([](const Active& one) { return one.lambda == 0; });
    if (!full) continue;
    active_.push_back(std::move(entering));
    ++exchanges_;
    return true;
  }
}

// p = numerators / common
struct Point {
  std::vector<Integer> numerators{};
  Integer common = 1;

  Point(std::span<const ExactActiveSet::Active> active, std::size_t dim) : numerators(dim, 0) {
    for (const auto& one : active) common = lcm(common, denominator(one.lambda));
    for (const auto& one : active) {
      const Integer weight = numerator(one.lambda) * (common / denominator(one.lambda));
      for (std::size_t b = 0; b < dim; ++b) numerators[b] += weight * one.row.g[b];
    }
  }
  Fraction entry(std::size_t b) const { return Fraction(numerators[b], common); }
  Fraction squared_norm() const {
    return Fraction(product(numerators, numerators), Integer(common * common));
  }
};

// The most violated row, or size(); and the rows that are tight.
std::size_t price(const Rows& rows, const Point& point, std::vector<std::size_t>& tight) {
  std::vector<double> p;
  bool doubles_decide = true;  // not if an entry of p underflows
  for (std::size_t b = 0; b < rows.dim(); ++b) {
    p.push_back(towards_zero(point.entry(b)));
    if (point.numerators[b] != 0 && std::abs(p[b]) < 1e-290) doubles_decide = false;
  }
  tight.clear();
  std::size_t worst = rows.size();
  double most = 0;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    if (doubles_decide && rows.clearly_holds(j, p)) continue;
    const Row row = rows.row(j);
    const Integer slack = product(row.g, point.numerators) - row.h * point.common;
    if (slack == 0) tight.push_back(j);
    if (slack >= 0) continue;
    const Fraction missing(Integer(-slack), point.common), square(product(row.g, row.g));
    const double distance = towards_zero(missing) / std::sqrt(towards_zero(square));
    if (worst == rows.size() || distance > most) most = distance, worst = j;
  }
  return worst;
}

double relative_error(const Point& point, std::span<const double> p) {
  if (p.empty()) return 1;
  double off = 0, size = 0;
  for (std::size_t b = 0; b < p.size(); ++b) {
    const Fraction entry = point.entry(b);
    off = std::hypot(off, towards_zero(entry - Fraction(p[b])));
    size = std::hypot(size, towards_zero(entry));
  }
  return size > 0 ? off / size : off;
}

void report(ExactMargin& found, const ExactActiveSet& set) {
  found.proved = true;
  if (found.infeasible) found.lower = found.upper = kInfinity;
  found.exchanges = set.exchanges();
  for (const auto& one : set.active()) {
    found.support.push_back(one.index);
    found.lambda.push_back(rational(one.lambda * one.row.factor));
  }
}

void check(const Rows& rows, const HardMargin& answer) {
  const bool may_be_empty = answer.status == MarginStatus::infeasible;
  if (answer.p.size() != rows.dim() && !(may_be_empty && answer.p.empty()))
    throw Error(fmt::format("the answer has dimension {}, the constraints {}", answer.p.size(),
                            rows.dim()));
  for (std::size_t b = 0; b < answer.p.size(); ++b)
    if (!std::isfinite(answer.p[b]))
      throw Error(fmt::format("entry {} of the answer is {}; it must be finite", b, answer.p[b]));
  for (const auto* list : {&answer.support, &answer.farkas})
    for (const Multiplier& row : *list)
      if (row.index >= rows.size())
        throw Error(fmt::format("the answer names row {} of {}", row.index, rows.size()));
}

ExactMargin prove(const Rows& rows, const HardMargin& answer, const ExactMarginOptions& options) {
  check(rows, answer);
  const bool claims_none = answer.status == MarginStatus::infeasible;
  const std::vector<Multiplier>& guess = claims_none ? answer.farkas : answer.support;
  ExactMargin found;
  const auto refuse = [&](std::string why) {
    found.why_not = std::move(why);
    return found;
  };
  if (guess.size() > options.max_support + claims_none)
    return refuse(fmt::format("the answer has {} support rows, more than the limit of {}",
                              guess.size(), options.max_support));
  std::vector<ExactActiveSet::Active> start;
  for (const Multiplier& row : guess) start.push_back({row.index, rows.row(row.index)});
  ExactActiveSet set;
  if (claims_none && set.contradict(start)) {
    found.infeasible = true;
    report(found, set);
    return found;
  }
  set.start(std::move(start));
  for (;;) {
    if (set.active().size() > options.max_support)
      return refuse(fmt::format("on the way to the optimum more than {} rows became active",
                                options.max_support));
    const Point point(set.active(), rows.dim());
    const std::size_t j = price(rows, point, found.tight);
    if (j == rows.size()) {
      report(found, set);
      for (std::size_t b = 0; b < rows.dim(); ++b) found.p.push_back(rational(point.entry(b)));
      found.squared_norm = rational(point.squared_norm());
      std::tie(found.lower, found.upper) = root_between(point.squared_norm());
      found.error = relative_error(point, answer.p);
      return found;
    }
    found.exchanges = set.exchanges();
    if (set.exchanges() >= options.max_exchanges)
      return refuse(fmt::format("{} exchanges did not reach the optimum", set.exchanges()));
    if (!set.enter({j, rows.row(j)})) {
      found.infeasible = true;
      found.tight.clear();
      report(found, set);
      return found;
    }
  }
}

}  // namespace

ExactMargin exact_margin(const Constraints& constraints, const HardMargin& answer,
                         const ExactMarginOptions& options) {
  const auto entries = [&](std::size_t j, std::span<Fraction> out) {
    std::vector<double> row(out.size());
    constraints.row(j, row);
    for (std::size_t b = 0; b < out.size(); ++b) out[b] = exact(row[b], j);
  };
  return prove({constraints, entries}, answer, options);
}

namespace {

// x_alpha - x_t of row j, and the same mapped.
void exact_row(const ExactTokens& data, const TokenDifferences& rounded, std::size_t j,
               std::span<Fraction> out) {
  const auto [chosen, other] = rounded.places(j);
  const std::size_t d = data.dim;
  for (std::size_t b = 0; b < d; ++b)
    out[b] = exact(data.tokens[chosen + b], j) - exact(data.tokens[other + b], j);
  if (data.map.empty()) return;
  const std::vector<Fraction> difference(out.begin(), out.end());
  for (std::size_t b = 0; b < d; ++b) {
    out[b] = 0;
    for (std::size_t c = 0; c < d; ++c) out[b] += difference[c] * exact(data.map[c * d + b], j);
  }
}

std::vector<double> mapped(const ExactTokens& data) {
  const std::size_t d = data.dim;
  std::vector<double> keys(data.tokens.size(), 0.0);
  for (std::size_t k = 0; k < keys.size(); k += d)
    for (std::size_t c = 0; c < d; ++c)
      for (std::size_t b = 0; b < d; ++b) keys[k + b] += data.tokens[k + c] * data.map[c * d + b];
  return keys;
}

}  // namespace

ExactMargin exact_margin(const ExactTokens& data, const TokenChoice& choice,
                         const HardMargin& answer, const ExactMarginOptions& options) {
  const auto proof = [&](const TokenDifferences& rounded) {
    const auto entries = [&](std::size_t j, std::span<Fraction> out) {
      exact_row(data, rounded, j, out);
    };
    return prove({rounded, entries}, answer, options);
  };
  if (data.map.empty()) return proof(TokenDifferences(data.tokens, data.count, data.dim, choice));
  const std::vector<double> keys = mapped(data);
  return proof(MappedDifferences(data.tokens, data.map, keys, data.count, data.dim, choice));
}

}  // namespace attractor::solve
