#include "attractor/depth/attention_output.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::depth {

std::unique_ptr<Space> space_of(const Attention& attention) {
  if (attention.on_sphere) return std::make_unique<Sphere>(attention.dim);
  return std::make_unique<Euclidean>(attention.dim);
}

double natural_log_unit(const Attention& attention) {
  const bool fast = attention.rule == Rule::unnormalised && attention.on_sphere;
  return fast ? -attention.logit_bound() : 0.0;
}

double single_velocity_error(const Attention& attention) {
  const double values = attention.value.empty() ? 1 : norm(attention.value);  // at least |V|
  return 3 * values * kernels::single_error(2 * attention.logit_bound(), attention.dim);
}

// A_i = share_i v_i + factor_i pull_i.
// Softmax: share = 1, factor = e^peak / Z_i. Unnormalised: share = Z_i / N, factor = e^peak / N.
void attention_output(const Attended& tokens, double log_unit, bool tangent,
                      std::span<double> out) {
  const AttentionSums& sums = tokens.sums;
  const std::size_t dim = tokens.attention.dim;
  const bool softmax = tokens.attention.rule == Rule::softmax;
  const double absolute = log_unit + sums.offset;
  // On the sphere the own value of an identity V is normal: its tangent part is exactly zero.
  const bool own_value = !(tangent && tokens.attention.on_sphere && sums.values.empty());
  const std::span<const double> values = sums.values.empty() ? tokens.state : sums.values;
  parallel_for(
      tokens.masses.size(), std::max<std::size_t>(1, 4096 / dim),
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          const auto z = sums.partition(i, tokens.masses[i]);
          const double factor = softmax ? std::exp(log_unit + sums.peak[i] - z.top) / z.scaled
                                        : std::exp(absolute + sums.peak[i]) / tokens.total;
          const double share =
              softmax ? std::exp(log_unit) : std::exp(absolute + z.top) * z.scaled / tokens.total;
          const auto row = out.subspan(i * dim, dim);
          for (std::size_t a = 0; a < dim; ++a) {
            // A factor that underflows meets a pull that is zero too: keep 0, not 0 * inf.
            const double pull = tokens.pull[i * dim + a];
            row[a] =
                (own_value ? share * values[i * dim + a] : 0) + (pull == 0 ? 0 : factor * pull);
          }
          if (tangent) tokens.space.project(tokens.state.subspan(i * dim, dim), row);
        }
      });
}

double log_fastest(const Attended& tokens) {
  const AttentionSums& sums = tokens.sums;
  const std::size_t dim = tokens.attention.dim;
  double fastest = -kInfinity;
  for (std::size_t i = 0; i < tokens.masses.size(); ++i) {
    const double log_z = tokens.attention.rule == Rule::softmax
                             ? sums.log_partition(i, tokens.masses[i])
                             : std::log(tokens.total);
    const double pull = norm(tokens.pull.subspan(i * dim, dim));
    fastest = std::max(fastest, sums.peak[i] - log_z + std::log(pull));
  }
  return fastest;
}

}  // namespace attractor::depth
