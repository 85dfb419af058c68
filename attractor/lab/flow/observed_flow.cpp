#include "attractor/lab/flow/observed_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/lab/flow/observing_budget.hpp"
#include "attractor/observe/inside_groups.hpp"

namespace attractor::lab {
namespace {

QueryKey query_key_of(const FlowSetup& p, std::size_t tokens, FlowWeights& weights) {
  const double trained =
      p.rope_trained > 0 ? p.rope_trained : static_cast<double>(tokens) / p.rope_factor;
  return {.norm = p.qk_norm,
          .query_gain = std::move(weights.query_gain),
          .key_gain = std::move(weights.key_gain),
          .rotary = {
              .layout = p.rope,
              .theta = p.rope_base,
              .fastest = p.rope_frequency,
              .scaling = {
                  .kind = p.rope_scaling, .factor = p.rope_factor, .original_positions = trained}}};
}

depth::Architecture architecture_of(const FlowSetup& p, std::size_t tokens, std::size_t dim,
                                    FlowWeights weights) {
  depth::Architecture a;
  a.layer.rule = p.dynamics;
  a.layer.beta = p.beta;
  a.layer.dim = dim;
  a.layer.heads = std::move(weights.heads);
  a.layer.output = std::move(weights.output);
  a.layer.query_key = query_key_of(p, tokens, weights);
  a.layer.mask.causal = p.mask == MaskKind::causal;
  if (p.window > 0) a.layer.mask.window = p.window;
  a.layer.mask.slope = p.distance_bias;
  a.layer.self = p.self;
  a.layer.sink_mass = p.sink_mass;
  a.first_fixed = p.sink_fixed;
  a.layer.kernel = p.kernel;
  a.geometry = p.space;
  a.norm = p.norm;
  a.alpha = p.alpha;
  a.alpha_power = p.alpha_power;
  a.switch_time = p.switch_time;
  a.deepnorm_scale = p.deepnorm_scale;
  a.gain = std::move(weights.gain);
  a.feed_forward = std::move(weights.block);
  a.noise = p.noise;
  a.common_noise = p.common_noise;
  a.noise_kind = p.noise_kind;
  a.noise_axes = channel_factors(p.noise_axes, "dim", dim);
  return a;
}

/// The energy of the house is that of cosines; only sa and usa have one.
Attention energy_attention(const FlowSetup& p, std::size_t dim) {
  return {.rule = Rule::softmax,
          .beta = p.beta,
          .dim = dim,
          .on_sphere = p.space == depth::Geometry::sphere};
}

}  // namespace

ObservedFlow::ObservedFlow(const FlowSetup& p, std::size_t tokens, std::size_t dim,
                           double merge_radius, bool distributed)
    : setup_(p), dim_(dim), weights_(p, dim) {
  depth::TokenFlowSetup setup{.architecture = architecture_of(p, tokens, dim, weights_.at(0)),
                              .tokens = tokens,
                              .engine = engine_of(p, tokens, dim),
                              .accuracy = p.accuracy,
                              .precision = p.precision,
                              .merge_radius = merge_radius,
                              .adaptive = is_adaptive(p)};
  if (asks_fields(p) && setup.engine != p.engine) throw Error(engine_refusal(p, tokens, dim));
  observed_ = setup.engine ? depth::plain_attention(setup.architecture) : energy_attention(p, dim);
  logit_bound_ = observed_.logit_bound();
  if (distributed) whole_ = depth::make_token_flow(setup);
  setup.shared = distributed;
  flow_ = depth::make_token_flow(std::move(setup));
  plain_ = dynamic_cast<depth::AttentionFlow*>(&whole());
  layers_ = dynamic_cast<depth::LayerFlow*>(flow_.get());
}

depth::ClumpHistory ObservedFlow::clump_history() const {
  return plain_ ? plain_->clump_history() : depth::ClumpHistory{};
}

void ObservedFlow::set_clump_history(const depth::ClumpHistory& history) {
  if (plain_) plain_->set_clump_history(history);
}

std::vector<double> ObservedFlow::tokens_at(const flow::Step& step, double theta) {
  std::vector<double> state(step.after.size());
  step.state_at(theta, state);
  flow().carry(step.stretch(), step.clock.share(theta));
  return groups().expand(state);
}

bool ObservedFlow::members_visible() const { return observe::members_visible(groups()); }

flow::Time ObservedFlow::next_change(const flow::Time& now, const flow::Time& end) const {
  flow::Time next = end;
  const auto earlier = [&](double time) {
    const flow::Time candidate(time, 0);
    if (now < candidate && candidate < next) next = candidate;
  };
  if (setup_.norm == Normalisation::mix) earlier(setup_.switch_time);
  if (setup_.redraw > 0) {
    // The quotient of a time that is a whole number of periods may round down.
    const double periods = std::floor(now.value() / setup_.redraw * (1 + 1e-12));
    earlier((periods + 1) * setup_.redraw);
  }
  return next;
}

void ObservedFlow::enter(const flow::Time& now, std::vector<double>& state) {
  flow_->enter(now, state);
  if (setup_.redraw == 0) return;
  // A run resumed at its end has no period left to enter: it is still in the one before.
  const bool ended = !(now < flow::Time(setup_.time));
  FlowWeights w = weights_.at(
      ended ? period_before(now)
            : static_cast<std::uint64_t>(std::floor(now.value() / setup_.redraw * (1 + 1e-12))));
  layers_->set_weights(std::move(w.heads), std::move(w.output), std::move(w.block));
}

std::uint64_t ObservedFlow::period_before(const flow::Time& end) const {
  if (setup_.redraw == 0) return 0;
  const double periods = std::ceil(end.value() / setup_.redraw * (1 - 1e-12));
  return periods > 1 ? static_cast<std::uint64_t>(periods) - 1 : 0;
}

// Where rows of all pairs move the tokens, sums over them cost no more than a few velocities; they
// take memory for another such state, though.
constexpr std::size_t kSummedWhole = std::size_t{1} << 21;  // coordinates

observe::ObserveOptions ObservedFlow::options() const {
  const std::uint64_t many = setup_.exact_limit.value_or(kObservedFreely);
  const bool rows = (whole().engine() == "dense" || whole().engine() == "layers") &&
                    groups().owner().size() * dim_ <= kSummedWhole;
  return {.pair_threshold = setup_.pair_threshold,
          .cluster_radius = std::sqrt(2 * (1 - cluster_cosine_of(setup_))),
          .seed = setup_.seed,
          .exact_limit = setup_.exact_limit.value_or(rows ? groups().owner().size() : many),
          .many = many};
}

observe::Observation ObservedFlow::observe(const flow::Time& time, std::span<const double> state,
                                           std::span<const double> shape,
                                           const observe::ObserveOptions& options, bool thorough,
                                           observe::Details* details) const {
  observe::Observation o = observe::observe(observed_, logit_bound_, shape, groups().masses(), time,
                                            options, thorough, details);
  const auto length = [](std::span<const double> x) {  // squares may overflow, lengths must not
    double largest = 0;
    for (const double c : x) largest = std::max(largest, std::abs(c));
    if (largest == 0 || largest < 1e150) return norm(x);
    std::vector<double> scaled(x.begin(), x.end());
    for (double& c : scaled) c /= largest;
    return largest * norm(scaled);
  };
  const std::span<const double> lengths = whole().has_lengths() ? state : shape;
  double sum = 0;
  for (std::size_t i = 0; i < groups().count(); ++i)
    sum += groups().masses()[i] * length(lengths.subspan(i * dim_, dim_));
  o.mean_norm = sum / groups().total();
  if (plain_ != nullptr) observe::observe_inside(*plain_, state, options, o);
  know_energy(state, o);
  // Each costs as much as a step: left out for many tokens.
  const bool affordable = groups().count() <= options.many && whole().has_increments();
  o.layer_cosine = affordable ? layer_cosine(time, state) : kNan;
  if (layers_ != nullptr) observe_layer(time, state, affordable, o);
  return o;
}

/// Linear engines sum the energy over all pairs at the price of a velocity.
void ObservedFlow::know_energy(std::span<const double> state, observe::Observation& o) const {
  const double log_energy = whole().log_energy(state);
  if (!std::isfinite(log_energy)) return;
  o.energy_ratio *= std::exp(log_energy - o.log_energy);
  o.log_energy = log_energy;
  o.energy = std::exp(log_energy);
  o.energy_relative_error = setup_.accuracy / o.energy_ratio;
  o.energy_relative_unseen = 0;
}

/// One layer of the step of --stepper layers, else of the natural unit of time.
double ObservedFlow::layer_cosine(const flow::Time& time, std::span<const double> state) const {
  const double unit = flow().log_unit();
  const double step =
      stepper_of(setup_) == flow::Method::layers ? flow::Time(setup_.step).in_unit(unit) : 1;
  std::vector<double> next(state.size());
  whole().increment_at(time, state, unit, next);
  double sum = 0;
  for (std::size_t i = 0; i < groups().count(); ++i) {
    const auto x = state.subspan(i * dim_, dim_);
    const auto y = std::span(next).subspan(i * dim_, dim_);
    for (std::size_t c = 0; c < dim_; ++c) y[c] = x[c] + step * y[c];
    const double lengths = norm(x) * norm(y);
    sum += groups().masses()[i] * (lengths > 0 ? dot(x, y) / lengths : 1);
  }
  return sum / groups().total();
}

// dE/dt and softmax rows belong to plain attention; here the rows are those of the layer.
void ObservedFlow::observe_layer(const flow::Time& time, std::span<const double> state,
                                 bool affordable, observe::Observation& o) const {
  o.dissipation = o.log_dissipation = o.attention_entropy = kNan;
  o.dissipation_relative_error = o.dissipation_relative_unseen = kNan;
  o.attention_entropy_error = o.attention_entropy_unseen = 0;
  if (!affordable) return;
  const std::vector<double> entropies = whole().head_entropies(time, state);
  o.attention_entropy = std::accumulate(entropies.begin(), entropies.end(), 0.0) /
                        static_cast<double>(entropies.size());
}

}  // namespace attractor::lab
