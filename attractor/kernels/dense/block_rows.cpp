#include "attractor/kernels/dense/block_rows.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/attention_rows.hpp"

namespace attractor::kernels {
namespace {

// Targets taken together. They join the sources with mass 0, so that the kernels for tokens of one
// block do the work: a share of kTargets / n more of it.
constexpr std::size_t kTargets = 512;

// An array over the sources with room for the targets behind them.
class Joined {
 public:
  Joined(std::span<const double> sources, std::size_t width)
      : width_(width), sources_(sources.size()), data_(sources.begin(), sources.end()) {
    data_.reserve(sources.size() + kTargets * width);
  }
  /// With targets [begin, end) of `all` behind the sources.
  std::span<const double> with(std::span<const double> all, std::size_t begin, std::size_t end) {
    const std::span<const double> part = all.subspan(begin * width_, (end - begin) * width_);
    data_.resize(sources_);
    data_.insert(data_.end(), part.begin(), part.end());
    return data_;
  }

 private:
  std::size_t width_, sources_;
  std::vector<double> data_;
};

std::span<double> part(std::span<double> all, std::size_t width, std::size_t begin,
                       std::size_t end) {
  return all.empty() ? all : all.subspan(begin * width, (end - begin) * width);
}

// Calls rows(begin, end, masses, list of rows, out) for the targets, some at a time.
template <class Rows>
void by_parts(std::span<const double> masses, std::size_t dim, const RowSums& out,
              const std::function<void()>& between, const Rows& rows) {
  const std::size_t sources = masses.size(), count = out.weight.size();
  const std::vector<double> nothing(std::min(kTargets, count), 0.0);
  Joined joined(masses, 1);
  for (std::size_t begin = 0; begin < count; begin += kTargets) {
    const std::size_t end = std::min(count, begin + kTargets);
    std::vector<std::uint32_t> list(end - begin);
    std::iota(list.begin(), list.end(), static_cast<std::uint32_t>(sources));
    rows(begin, end, joined.with(nothing, 0, end - begin), list,
         RowSums{part(out.pull, dim, begin, end), part(out.weight, 1, begin, end),
                 part(out.moment, 1, begin, end), part(out.peak, 1, begin, end)});
    if (between) between();
  }
}

}  // namespace

void distance_rows_between(const BlockTargets& targets, const DistanceSources& in,
                           const RowSums& out, const std::function<void()>& between) {
  assert(targets.points.size() == out.weight.size() * in.dim);
  assert(targets.values.empty() == in.values.empty());
  Joined points(in.points, in.dim), values(in.values, in.dim);
  by_parts(in.masses, in.dim, out, between,
           [&](std::size_t begin, std::size_t end, std::span<const double> masses,
               std::span<const std::uint32_t> rows, const RowSums& sums) {
             DistanceSources both = in;
             both.points = points.with(targets.points, begin, end);
             if (!in.values.empty()) both.values = values.with(targets.values, begin, end);
             both.masses = masses;
             distance_rows(both, rows, sums);
           });
}

void logit_rows_between(const BlockTargets& targets, const LogitSources& in, const RowSums& out,
                        const std::function<void()>& between) {
  assert(targets.points.size() == out.weight.size() * in.dim);
  assert(targets.keys.size() == targets.points.size());
  assert(targets.values.size() == targets.points.size());
  // Sources have no queries: zeros, which no row asks for.
  const std::vector<double> nobody(in.keys.size(), 0.0);
  Joined queries(nobody, in.dim), keys(in.keys, in.dim), values(in.values, in.dim);
  by_parts(in.masses, in.dim, out, between,
           [&](std::size_t begin, std::size_t end, std::span<const double> masses,
               std::span<const std::uint32_t> rows, const RowSums& sums) {
             LogitSources both = in;
             both.queries = queries.with(targets.points, begin, end);
             both.keys = keys.with(targets.keys, begin, end);
             both.values = values.with(targets.values, begin, end);
             both.masses = masses;
             logit_rows(both, rows, sums);
           });
}

void add_rows(const RowSums& more, std::size_t dim, const RowSums& sums) {
  parallel_for(sums.weight.size(), std::max<std::size_t>(1, 4096 / dim),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t k = begin; k < end; ++k) {
                   const double peak = std::max(sums.peak[k], more.peak[k]);
                   const double old = std::exp(sums.peak[k] - peak);
                   const double added = std::exp(more.peak[k] - peak);
                   const auto join = [&](double& sum, double term) {
                     sum = old * sum + added * term;
                   };
                   sums.peak[k] = peak;
                   join(sums.weight[k], more.weight[k]);
                   for (std::size_t a = 0; a < dim; ++a)
                     join(sums.pull[k * dim + a], more.pull[k * dim + a]);
                 }
               });
}

}  // namespace attractor::kernels
