#include "attractor/depth/distributed_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/block_rows.hpp"
#include "attractor/kernels/dense/logit_panels.hpp"
#include "attractor/ranks/ranks.hpp"

namespace attractor::depth {
namespace {

std::vector<double> product(const std::vector<double>& matrix, std::span<const double> tokens,
                            std::size_t dim) {
  if (matrix.empty()) return {tokens.begin(), tokens.end()};
  std::vector<double> out(tokens.size());
  kernels::row_products(tokens, matrix, dim, out);
  return out;
}

}  // namespace

TokenBlock block_of(std::size_t tokens, std::size_t rank, std::size_t ranks) {
  const std::size_t least = tokens / ranks,
                    longer = tokens % ranks;  // the first ones have one more
  const std::size_t begin = rank * least + std::min(rank, longer);
  return {begin, begin + least + (rank < longer ? 1 : 0)};
}

DistributedFlow::DistributedFlow(Attention attention, std::size_t tokens)
    : TokenFlow(block_of(tokens, ranks::rank(), ranks::count()).size()),
      attention_(std::move(attention)),
      space_(space_of(attention_)),
      tokens_(tokens),
      own_(block_of(tokens, ranks::rank(), ranks::count())),
      log_unit_(natural_log_unit(attention_)),
      masses_(block_of(tokens, 0, ranks::count()).size(), 1.0) {
  assert(own_.size() > 0);
}

std::vector<double> DistributedFlow::begin(std::vector<double> tokens) {
  const auto at = [&](std::size_t token) {
    return tokens.begin() + static_cast<std::ptrdiff_t>(token * attention_.dim);
  };
  return {at(own_.begin), at(own_.end)};
}

void DistributedFlow::drift(std::span<const double> state, double log_unit,
                            std::span<double> out) const {
  output(state, log_unit, true, out);
}

void DistributedFlow::increment(std::span<const double> state, double log_unit,
                                std::span<double> out) const {
  output(state, log_unit, false, out);
}

double DistributedFlow::largest(double local) const { return ranks::largest(local); }

bool DistributedFlow::at_rest(std::span<const double>) const {
  return tokens_ == 1 && attention_.on_sphere && attention_.value.empty();
}

std::vector<double> DistributedFlow::packed(std::span<const double> state) const {
  if (attention_.by_distance() && attention_.value.empty()) return {state.begin(), state.end()};
  std::vector<double> numbers = product(
      attention_.by_distance() ? std::vector<double>{} : attention_.key, state, attention_.dim);
  const std::vector<double> values = product(attention_.value, state, attention_.dim);
  numbers.insert(numbers.end(), values.begin(), values.end());
  return numbers;
}

DistributedFlow::Packet DistributedFlow::packet(std::span<const double> numbers) const {
  if (attention_.by_distance() && attention_.value.empty()) return {numbers, {}};
  return {numbers.first(numbers.size() / 2), numbers.last(numbers.size() / 2)};
}

// Calls visit for the own block and then for the one of each rank before, in that order; the next
// one is under way meanwhile.
void DistributedFlow::around(std::span<const double> own_numbers, const Visit& visit) const {
  const std::size_t ranks = ranks::count(), me = ranks::rank();
  const std::size_t width = own_numbers.size() / own_.size();
  std::vector<double> present(own_numbers.begin(), own_numbers.end()), next;
  for (std::size_t step = 0; step + 1 < ranks; ++step) {
    next.resize(block_of(tokens_, (me + ranks - step - 1) % ranks, ranks).size() * width);
    ranks::Shift shift(present, next);
    visit(step == 0, packet(present), [&] { shift.nudge(); });
    shift.finish();
    std::swap(present, next);
  }
  visit(ranks == 1, packet(present), {});
}

// sums_ = the sums of attend() over the tokens of all ranks.
void DistributedFlow::sum_over_all(std::span<const double> state, double lift) const {
  assert(state.size() == own_.size() * attention_.dim);
  const std::size_t dim = attention_.dim;
  const bool by_distance = attention_.by_distance();
  const std::vector<double> mine = packed(state);
  const std::vector<double> queries =
      by_distance ? std::vector<double>{} : product(attention_.query, state, dim);
  const Packet own = packet(mine);
  const kernels::BlockTargets targets{by_distance ? state : queries, own.first, own.values};
  more_.pull.resize(state.size());
  more_.weight.resize(own_.size());
  more_.peak.resize(own_.size());
  const kernels::RowSums more{more_.pull, more_.weight, {}, more_.peak};
  around(mine, [&](bool is_own, const Packet& block, const std::function<void()>& nudge) {
    const std::span<const double> masses = std::span(masses_).first(block.first.size() / dim);
    if (is_own) {
      attend(attention_, state, masses, {.lift = lift}, sums_);
      return;
    }
    if (by_distance) {
      kernels::distance_rows_between(
          targets, {dim, block.first, block.values, masses, attention_.beta, lift}, more, nudge);
      std::fill(more_.peak.begin(), more_.peak.end(), -lift);  // as attend() has it
    } else {
      kernels::logit_rows_between(
          targets, {dim, {}, block.first, block.values, masses, attention_.beta}, more, nudge);
    }
    kernels::add_rows(more, dim, {sums_.pull, sums_.weight, {}, sums_.peak});
  });
}

void DistributedFlow::output(std::span<const double> state, double log_unit, bool tangent,
                             std::span<double> out) const {
  sum_over_all(state, log_unit - log_unit_);
  attention_output(attended(state), log_unit, tangent, out);
}

double DistributedFlow::closest_squared(std::span<const double> state) const {
  const std::size_t dim = attention_.dim;
  std::vector<double> nearest(own_.size(), kInfinity);
  const std::vector<double> mine = packed(state);
  around(mine, [&](bool is_own, const Packet& block, const std::function<void()>& nudge) {
    parallel_for(own_.size(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t others = is_own ? i : block.first.size() / dim;
        for (std::size_t j = 0; j < others; ++j)
          nearest[i] = std::min(nearest[i], squared_distance(state.subspan(i * dim, dim),
                                                             block.first.subspan(j * dim, dim)));
      }
    });
    if (nudge) nudge();
  });
  return -largest(-*std::min_element(nearest.begin(), nearest.end()));
}

double DistributedFlow::fitting_log_unit(std::span<const double> state, double present) const {
  if (tokens_ < 2) return present;
  if (attention_.by_distance())  // the nearest pair moves fastest
    return log_unit_ + 0.5 * attention_.beta * closest_squared(state);
  sum_over_all(state, 0);
  const double fastest = largest(log_fastest(attended(state)));
  return std::isfinite(fastest) ? -fastest : present;
}

}  // namespace attractor::depth
