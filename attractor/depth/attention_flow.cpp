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
      total_mass_(static_cast<double>(tokens)),
      log_unit_(natural_log_unit(attention_)),
      radius_(radius) {
  std::vector<std::uint32_t> owner(tokens);
  std::iota(owner.begin(), owner.end(), 0U);
  set_owner(std::move(owner));
}

void AttentionFlow::set_owner(std::vector<std::uint32_t> owner) {
  owner_ = std::move(owner);
  const std::size_t groups =
      owner_.empty() ? 0 : *std::max_element(owner_.begin(), owner_.end()) + 1;
  masses_.assign(groups, 0.0);
  names_.assign(groups, 0);
  for (std::size_t i = owner_.size(); i-- > 0;) {
    masses_[owner_[i]] += 1;
    names_[owner_[i]] = static_cast<std::uint32_t>(i);
  }
}

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
  assert(state.size() == masses_.size() * attention_.dim);
  attend(attention_, state, masses_, {.lift = log_unit - log_unit_}, sums_);
  const std::size_t dim = attention_.dim;
  const bool softmax = attention_.rule == Rule::softmax;
  const double absolute = log_unit + sums_.offset;
  // On the sphere the own value of an identity V is normal: its tangent part is exactly zero.
  const bool own_value = !(tangent && attention_.on_sphere && sums_.values.empty());
  const std::span<const double> values = sums_.values.empty() ? state : std::span(sums_.values);
  parallel_for(
      masses_.size(), std::max<std::size_t>(1, 4096 / dim),
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const auto z = sums_.partition(i, masses_[i]);
          const double factor = softmax ? std::exp(log_unit + sums_.peak[i] - z.top) / z.scaled
                                        : std::exp(absolute + sums_.peak[i]) / total_mass_;
          const double share =
              softmax ? std::exp(log_unit) : std::exp(absolute + z.top) * z.scaled / total_mass_;
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
  const std::size_t dim = attention_.dim, n = masses_.size();
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
  attend(attention_, state, masses_, {}, sums_);
  double fastest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < n; ++i) {
    const double log_z = attention_.rule == Rule::softmax ? sums_.log_partition(i, masses_[i])
                                                          : std::log(total_mass_);
    const double pull = norm(std::span(sums_.pull).subspan(i * dim, dim));
    fastest = std::max(fastest, sums_.peak[i] - log_z + std::log(pull));
  }
  return std::isfinite(fastest) ? -fastest : present;
}

bool AttentionFlow::simplify(const flow::Time& now, std::vector<double>& state) {
  if (radius_ == 0 || masses_.size() < 2) return false;
  const std::vector<Group> groups = coalescing_groups(*this, state, radius_);
  if (groups.empty()) return false;
  std::vector<std::uint32_t> target(masses_.size());
  std::iota(target.begin(), target.end(), 0U);
  for (const Group& group : groups) {
    const std::uint32_t into = group.members.front();
    std::copy(group.centre.begin(), group.centre.end(),
              state.begin() + static_cast<std::ptrdiff_t>(into * attention_.dim));
    for (std::uint32_t member : group.members) target[member] = into;
    const double share = group.error / static_cast<double>(group.members.size() - 1);
    for (std::size_t k = 1; k < group.members.size(); ++k)
      coalescences_.push_back({now, names_[into], names_[group.members[k]], share});
    merge_error_ += group.error;
  }
  // Close the gaps in the state, keeping the order of tokens.
  std::vector<std::uint32_t> place(masses_.size());
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < masses_.size(); ++i) {
    if (target[i] != i) continue;
    std::copy_n(state.begin() + static_cast<std::ptrdiff_t>(i * attention_.dim), attention_.dim,
                state.begin() + static_cast<std::ptrdiff_t>(kept * attention_.dim));
    place[i] = kept++;
  }
  state.resize(kept * attention_.dim);
  std::vector<std::uint32_t> owner = owner_;
  for (std::uint32_t& o : owner) o = place[target[o]];
  set_owner(std::move(owner));
  return true;
}

bool AttentionFlow::at_rest(std::span<const double>) const {
  return masses_.size() == 1 && attention_.on_sphere && attention_.value.empty();
}

std::vector<double> AttentionFlow::expand(std::span<const double> state) const {
  std::vector<double> all(owner_.size() * attention_.dim);
  for (std::size_t i = 0; i < owner_.size(); ++i)
    std::copy_n(state.begin() + static_cast<std::ptrdiff_t>(owner_[i] * attention_.dim),
                attention_.dim, all.begin() + static_cast<std::ptrdiff_t>(i * attention_.dim));
  return all;
}

void AttentionFlow::restore(std::vector<std::uint32_t> owner, std::vector<Coalescence> coalescences,
                            double merge_error) {
  set_owner(std::move(owner));
  coalescences_ = std::move(coalescences);
  merge_error_ = merge_error;
}

}  // namespace attractor::depth
