#include "attractor/depth/attention_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "attractor/base/threads.hpp"
#include "attractor/depth/coalesce.hpp"

namespace attractor::depth {
namespace {

double natural_log_unit(const Attention& attention) {
  const bool fast = attention.rule == Rule::unnormalised && attention.on_sphere;
  return fast ? -attention.logit_bound() : 0.0;
}

std::unique_ptr<Space> make_space(const Attention& attention) {
  if (attention.on_sphere) return std::make_unique<Sphere>(attention.dim);
  return std::make_unique<Euclidean>(attention.dim);
}

}  // namespace

AttentionFlow::AttentionFlow(Attention attention, std::size_t tokens, double radius)
    : attention_(std::move(attention)),
      space_(make_space(attention_)),
      groups_(tokens),
      log_unit_(natural_log_unit(attention_)),
      radius_(radius) {}

void AttentionFlow::drift(std::span<const double> state, double log_unit,
                          std::span<double> out) const {
  output(state, log_unit, true, out);
}

void AttentionFlow::increment(std::span<const double> state, double log_unit,
                              std::span<double> out) const {
  output(state, log_unit, false, out);
}

// out_i = e^log_unit A_i, A_i = share_i v_i + factor_i pull_i, projected if tangent.
// Softmax: share = 1, factor = e^peak / Z_i. Unnormalised: share = Z_i / N, factor = e^peak / N.
void AttentionFlow::output(std::span<const double> state, double log_unit, bool tangent,
                           std::span<double> out) const {
  const std::span<const double> masses = groups_.masses();
  assert(state.size() == masses.size() * attention_.dim);
  attend(attention_, state, masses, {.lift = log_unit - log_unit_, .precision = precision_}, sums_);
  const std::size_t dim = attention_.dim;
  const bool softmax = attention_.rule == Rule::softmax;
  const double absolute = log_unit + sums_.offset;
  // On the sphere the own value of an identity V is normal: its tangent part is exactly zero.
  const bool own_value = !(tangent && attention_.on_sphere && sums_.values.empty());
  const std::span<const double> values = sums_.values.empty() ? state : std::span(sums_.values);
  parallel_for(
      masses.size(), std::max<std::size_t>(1, 4096 / dim), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const auto z = sums_.partition(i, masses[i]);
          const double factor = softmax ? std::exp(log_unit + sums_.peak[i] - z.top) / z.scaled
                                        : std::exp(absolute + sums_.peak[i]) / groups_.total();
          const double share = softmax ? std::exp(log_unit)
                                       : std::exp(absolute + z.top) * z.scaled / groups_.total();
          const auto row = out.subspan(i * dim, dim);
          for (std::size_t a = 0; a < dim; ++a) {
            // A factor that underflows meets a pull that is zero too: keep 0, not 0 * inf.
            const double pull = sums_.pull[i * dim + a];
            row[a] =
                (own_value ? share * values[i * dim + a] : 0) + (pull == 0 ? 0 : factor * pull);
          }
          if (tangent) space_->project(state.subspan(i * dim, dim), row);
        }
      });
}

double AttentionFlow::fitting_log_unit(std::span<const double> state, double present) const {
  const std::size_t dim = attention_.dim, n = groups_.count();
  if (n < 2) return present;
  if (attention_.by_distance()) {  // the nearest pair moves fastest
    std::vector<double> nearest(n, std::numeric_limits<double>::infinity());
    parallel_for(n, 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t j = 0; j < i; ++j)
          nearest[i] = std::min(nearest[i], squared_distance(state.subspan(i * dim, dim),
                                                             state.subspan(j * dim, dim)));
    });
    const double closest = *std::min_element(nearest.begin() + 1, nearest.end());
    return log_unit_ + 0.5 * attention_.beta * closest;
  }
  attend(attention_, state, groups_.masses(), {}, sums_);
  double fastest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n; ++i) {
    const double log_z = attention_.rule == Rule::softmax
                             ? sums_.log_partition(i, groups_.masses()[i])
                             : std::log(groups_.total());
    const double pull = norm(std::span(sums_.pull).subspan(i * dim, dim));
    fastest = std::max(fastest, sums_.peak[i] - log_z + std::log(pull));
  }
  return std::isfinite(fastest) ? -fastest : present;
}

bool AttentionFlow::simplify(const flow::Time& now, std::vector<double>& state) {
  if (radius_ == 0 || groups_.count() < 2) return false;
  const std::vector<Group> groups = coalescing_groups(*this, state, radius_);
  if (groups.empty()) return false;
  groups_.coalesce(groups, now, state);
  return true;
}

bool AttentionFlow::at_rest(std::span<const double>) const {
  return groups_.count() == 1 && attention_.on_sphere && attention_.value.empty();
}

}  // namespace attractor::depth
