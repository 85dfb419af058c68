#include "attractor/depth/make_token_flow.hpp"

#include <cassert>
#include <utility>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/depth/chord_flow.hpp"
#include "attractor/depth/circle_flow.hpp"
#include "attractor/depth/distributed_flow.hpp"
#include "attractor/depth/moments_flow.hpp"
#include "attractor/depth/sphere_flow.hpp"

namespace attractor::depth {
namespace {

std::unique_ptr<TokenFlow> linear_flow(const TokenFlowSetup& setup) {
  const AttentionLayer& layer = setup.architecture.layer;
  const FieldFlowSettings settings{
      .rule = layer.rule, .beta = layer.beta, .accuracy = setup.accuracy, .dim = layer.dim};
  if (setup.engine == Engine::sphere) return std::make_unique<SphereFlow>(settings, setup.tokens);
  if (setup.engine == Engine::moments) return std::make_unique<MomentsFlow>(settings, setup.tokens);
  if (!setup.adaptive) return std::make_unique<ChordFlow>(settings, setup.tokens);
  return std::make_unique<CircleFlow>(
      CircleFlowSettings{settings.rule, settings.beta, settings.accuracy}, setup.tokens);
}

}  // namespace

bool is_plain(const Architecture& a) {
  const AttentionLayer& layer = a.layer;
  const bool map = layer.heads.size() == 1 && layer.heads[0].rank(layer.dim) == layer.dim &&
                   layer.output.empty() && !layer.mask.causal &&
                   layer.mask.window == Mask::kUnlimited && layer.mask.slope == 0 &&
                   layer.self == SelfAttention::include && layer.sink_mass == 1 &&
                   layer.query_key.plain();
  const bool flow = (a.geometry == Geometry::sphere || a.geometry == Geometry::euclidean) &&
                    a.norm == Normalisation::post && a.gain.empty() && !a.feed_forward.present() &&
                    a.noise == 0 && a.common_noise == 0 && !a.first_fixed;
  return is_exponential(layer.rule) && layer.beta >= 0 && map && flow;
}

Attention plain_attention(const Architecture& a) {
  const Head& head = a.layer.heads.front();
  return {.rule = a.layer.rule,
          .beta = a.layer.beta,
          .dim = a.layer.dim,
          .on_sphere = a.geometry == Geometry::sphere,
          .query = head.query,
          .key = head.key,
          .value = head.value};
}

std::unique_ptr<TokenFlow> make_token_flow(TokenFlowSetup setup) {
  if (!setup.engine)
    return std::make_unique<LayerFlow>(std::move(setup.architecture), setup.tokens);
  assert(is_plain(setup.architecture));
  const bool clumps = *setup.engine == Engine::clumps;
  if (*setup.engine != Engine::dense && !clumps) return linear_flow(setup);
  if (setup.shared)
    return std::make_unique<DistributedFlow>(plain_attention(setup.architecture), setup.tokens);
  auto dense = std::make_unique<AttentionFlow>(plain_attention(setup.architecture), setup.tokens,
                                               setup.merge_radius);
  dense->set_precision(setup.precision);
  if (clumps) dense->set_clumps(setup.accuracy);
  return dense;
}

}  // namespace attractor::depth
