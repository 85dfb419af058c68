// Tokens flowing through layers of any architecture: any rule, mask and heads of attention
// (attention/attention_layer.hpp), any normalisation (attention/normalisation.hpp), feed-forward
// blocks and noise. With theta = N(x) the direction of a token, y = gain * theta (channel by
// channel) what the block reads, and u = A(y) + F(y) what it writes,
//
//   on the sphere    as the table of normalisation.hpp says, A there being u here. The state is x:
//                    its length is r where the scheme lets it grow, else 1.
//   in R^d           euclidean: x' = u(x);   attracted: x_i' = sum_j P_ij V (x_j - x_i)  (mean
//                    shift, bounded confidence, Frank-Wolfe steps for hardmax);   rescaled: z =
//                    e^{-tV} x of the euclidean flow, z_i' = sum_j P_ij V (z_j - z_i) with logits
//                    of e^{tV} z (arXiv 2305.05465).
//
// The layer map of flow::layers() is the layer of the architecture itself, h = 1 being the real
// one. AttentionFlow is the faster special case: one head, full mask, sa or usa, post, no noise.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/attention/normalisation.hpp"
#include "attractor/depth/feed_forward.hpp"
#include "attractor/depth/token_flow.hpp"

namespace attractor::depth {

enum class Geometry { sphere, euclidean, attracted, rescaled };
std::span<const std::string_view> names(Geometry);

struct Architecture {
  AttentionLayer layer{};
  Geometry geometry = Geometry::sphere;
  Normalisation norm = Normalisation::post;
  double alpha = 1, alpha_power = 0;  // ngpt: alpha_t = alpha (1 + t)^{-alpha_power}
  double switch_time = 1;             // mix: post before, pre from then on
  double deepnorm_scale = 1;          // a
  std::vector<double> gain{};         // one for each channel; empty: 1
  FeedForward feed_forward{};
  double noise = 0, common_noise = 0;  // kappa
  flow::NoiseKind noise_kind = flow::NoiseKind::additive;
  std::vector<double> noise_axes{};  // one for each channel; empty: 1
  bool first_fixed = false;          // the first token neither turns nor grows
};

/// Throws Error on a combination that has no meaning.
void validate(const Architecture& architecture);

class LayerFlow final : public TokenFlow {
 public:
  LayerFlow(Architecture architecture, std::size_t tokens);

  const Space& space() const override;
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  void drift_at(const flow::Time& now, std::span<const double> state, double log_unit,
                std::span<double> out) const override;
  void increment_at(const flow::Time& now, std::span<const double> state, double log_unit,
                    std::span<double> out) const override;
  bool autonomous() const override;
  double log_unit() const override { return log_unit_; }
  flow::NoiseLaw noise() const override {
    const Architecture& a = architecture_;
    return {.own = a.noise, .common = a.common_noise, .kind = a.noise_kind, .axes = a.noise_axes};
  }
  /// mix: goes over to pre when its time has come.
  bool simplify(const flow::Time& now, std::vector<double>& state) override;

  std::string_view engine() const override { return "layers"; }
  void enter(const flow::Time& now, std::vector<double>& state) override { simplify(now, state); }
  std::span<const double> directions(std::span<const double> state,
                                     std::vector<double>& storage) const override;
  bool has_lengths() const override { return scheme(architecture_.norm).grows; }
  std::vector<double> head_entropies(const flow::Time& now,
                                     std::span<const double> state) const override;
  std::vector<std::uint32_t> selected(const flow::Time& now,
                                      std::span<const double> state) const override;

  const Architecture& architecture() const { return architecture_; }
  /// For weights that are redrawn.
  void set_weights(std::vector<Head> heads, std::vector<double> output, FeedForward feed_forward);
  LayerStatus status() const override { return status_; }
  void set_status(LayerStatus status) override { status_ = status; }

  /// Attention of a state, as the block at time t sees it.
  void attend(const flow::Time& now, std::span<const double> state, const LayerRequest& request,
              LayerOutput& out) const;

 private:
  std::span<const double> block_input(std::span<const double> state) const;
  void write(const flow::Time& now, std::span<const double> state, double log_unit, bool tangent,
             std::span<double> out) const;
  const Scheme& present() const;  // mix is what it is at present
  double clock(double time) const;

  Architecture architecture_;
  std::unique_ptr<Space> sphere_, plane_;
  double log_unit_ = 0;
  bool switched_ = false;
  mutable LayerStatus status_ = LayerStatus::complete;
  mutable LayerOutput output_;         // scratch
  mutable std::vector<double> input_;  // scratch
};

}  // namespace attractor::depth
