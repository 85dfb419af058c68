#include "web/core/theory.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/reductions/cluster_pair.hpp"
#include "attractor/reductions/equiangular.hpp"
#include "attractor/stability/stability.hpp"

namespace attractor::web {
namespace {

using lab::Json;

constexpr std::size_t kMostClusters = 400;  // all pairs of them are looked at

struct Cluster {
  std::vector<double> centre;  // not normalised
  double mass = 0;
};

std::vector<Cluster> clusters_of(const LiveFlow& flow, std::size_t dim) {
  const std::vector<double> x = flow.positions();
  const std::vector<std::uint32_t> label = flow.clusters();
  std::vector<Cluster> all;
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (label[i] >= all.size()) all.resize(label[i] + 1, Cluster{std::vector<double>(dim), 0});
    Cluster& c = all[label[i]];
    for (std::size_t k = 0; k < dim; ++k) c.centre[k] += x[i * dim + k];
    ++c.mass;
  }
  for (Cluster& c : all) {
    const double length = norm(c.centre);
    for (double& k : c.centre) k /= length;
    c.mass /= static_cast<double>(label.size());
  }
  return all;
}

/// Through the chord, which keeps its digits where two centres nearly agree.
meanfield::PairAngle angle_between(const Cluster& a, const Cluster& b) {
  double difference = 0, sum = 0;
  for (std::size_t k = 0; k < a.centre.size(); ++k) {
    difference += (a.centre[k] - b.centre[k]) * (a.centre[k] - b.centre[k]);
    sum += (a.centre[k] + b.centre[k]) * (a.centre[k] + b.centre[k]);
  }
  return meanfield::PairAngle::of(2 * std::atan2(std::sqrt(difference), std::sqrt(sum)));
}

}  // namespace

Json next_merge(const LiveFlow& flow) {
  const lab::FlowSetup& setup = flow.setup();
  if (!is_plain(setup) || setup.space != depth::Geometry::sphere) return {};
  const std::size_t dim =
      flow.positions().size() / std::max<std::size_t>(1, flow.clusters().size());
  const std::vector<Cluster> all = clusters_of(flow, dim);
  if (all.size() < 2 || all.size() > kMostClusters) return {};
  double best = kInfinity, cosine = 0, mass1 = 0, mass2 = 0;
  const meanfield::PairAngle met = meanfield::PairAngle::of_cosine(cluster_cosine_of(setup));
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      const meanfield::PairAngle angle = angle_between(all[a], all[b]);
      if (angle.gap() <= met.gap())
        continue;  // neighbours through a chain: it is not the centres that meet
      const double log_time = meanfield::log_merge_time(
          {.rule = setup.dynamics, .beta = setup.beta, .mass1 = all[a].mass, .mass2 = all[b].mass},
          angle, met);
      if (log_time < best)
        best = log_time, cosine = angle.cosine(), mass1 = all[a].mass, mass2 = all[b].mass;
    }
  if (std::isinf(best)) return {};
  return {{"log10_time", best / std::numbers::ln10},
          {"cosine", cosine},
          {"mass1", mass1},
          {"mass2", mass2}};
}

Json theory(const LiveFlow& flow) {
  const lab::FlowSetup& setup = flow.setup();
  Json answer = Json::object();
  const bool sphere = setup.space == depth::Geometry::sphere;
  const bool exponential = setup.dynamics == Rule::softmax || setup.dynamics == Rule::unnormalised;
  if (!sphere || !exponential) return answer;
  const Json facts = flow.facts();
  const auto dim = facts["dim"].get<std::size_t>();
  const auto tokens = facts["tokens"].get<double>();
  if (setup.mask == MaskKind::full && setup.norm == Normalisation::post &&
      setup.common_noise == 0) {
    const meanfield::Stability s = meanfield::stability(
        {.rule = setup.dynamics, .dim = dim, .beta = setup.beta, .noise = setup.noise});
    answer["predicted_clusters"] = s.predicted_clusters();
    answer["log10_growth_time"] = lab::number(-s.log_growth(s.fastest) / std::numbers::ln10);
    answer["critical_noise"] = lab::number(s.critical_noise());
  }
  const bool scheme = setup.dynamics == Rule::softmax || setup.norm == Normalisation::post;
  if (is_plain(setup) ||
      (setup.mask == MaskKind::full && setup.noise == 0 && setup.common_noise == 0 && scheme)) {
    const meanfield::EquiangularFlow exact(
        {.tokens = std::max(2.0, tokens),
         .beta = setup.beta,
         .cosine0 = setup.init == Arrangement::equiangular ? setup.rho : 0,
         .rule = setup.dynamics,
         .norm = setup.norm,
         .alpha = setup.alpha,
         .switch_time = setup.switch_time,
         .deepnorm_scale = setup.deepnorm_scale});
    Json curve = Json::array();
    for (double log10 = -2; log10 <= 30.01; log10 += 0.1) {
      const double cosine = exact.at(log10 * std::numbers::ln10).cosine;
      curve.push_back({log10, cosine});
      if (cosine > 1 - 1e-9) break;
    }
    answer["equiangular"] = std::move(curve);
  }
  return answer;
}

}  // namespace attractor::web
