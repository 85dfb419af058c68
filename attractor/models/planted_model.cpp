#include "attractor/models/planted_model.hpp"

#include <cmath>
#include <string>

#include "attractor/base/random.hpp"

namespace attractor::models {

std::vector<float> scaled_identity(std::size_t dim, double factor) {
  std::vector<float> w(dim * dim, 0.0F);
  for (std::size_t k = 0; k < dim; ++k) w[k * dim + k] = static_cast<float>(factor);
  return w;
}

Model planted_model(const Planted& p, std::span<const double> directions) {
  const std::size_t d = p.dim, heads = p.betas.size();
  Model m;
  m.name = "planted";
  m.architecture = {.layers = p.layers,
                    .own_layers = p.layers,
                    .width = d,
                    .heads = heads,
                    .key_heads = heads,
                    .head_dim = d,
                    .hidden = 1,
                    .vocabulary = p.tokens,
                    .positions = p.tokens,
                    .norm = NormKind::rms,
                    .place = p.place,
                    .epsilon = 0,
                    .causal = p.causal};
  for (const double x : directions)
    m.words.push_back(static_cast<float>(x * std::sqrt(static_cast<double>(d))));
  m.places.assign(p.tokens * d, 0.0F);
  const Stream stream(p.seed, "planted noise");
  for (std::size_t k = 0; k < p.layers; ++k) {
    Layer layer;
    layer.attention_norm.gain.assign(d, 1.0F);
    layer.hidden_norm.gain.assign(d, 1.0F);
    std::vector<float> query, key, value, output(d * heads * d, 0.0F);
    for (std::size_t h = 0; h < heads; ++h) {
      // <q, k> / sqrt(d) = beta cos for tokens of length sqrt(d).
      const double factor = p.betas[h] / std::sqrt(static_cast<double>(d));
      std::vector<float> q = scaled_identity(d, factor);
      for (std::size_t e = 0; p.noise > 0 && e < q.size(); ++e)
        q[e] += static_cast<float>(p.noise * std::abs(factor) * stream.normal(k * heads + h, e) /
                                   static_cast<double>(d));
      query.insert(query.end(), q.begin(), q.end());
      for (std::vector<float>* to : {&key, &value}) {
        const std::vector<float> one = scaled_identity(d, 1);
        to->insert(to->end(), one.begin(), one.end());
      }
      for (std::size_t a = 0; a < d; ++a)
        output[a * heads * d + h * d + a] =
            static_cast<float>(p.step * p.value / static_cast<double>(heads));
    }
    layer.query.weights = kernels::PackedMatrix(query, heads * d, d);
    layer.key.weights = kernels::PackedMatrix(key, heads * d, d);
    layer.value.weights = kernels::PackedMatrix(value, heads * d, d);
    layer.output.weights = kernels::PackedMatrix(output, d, heads * d);
    layer.up.weights = kernels::PackedMatrix(std::vector<float>(d, 0.0F), 1, d);
    layer.down.weights = kernels::PackedMatrix(std::vector<float>(d, 0.0F), d, 1);
    m.layers.push_back(std::move(layer));
  }
  return m;
}

std::vector<double> tokens_with_cosine(std::size_t n, std::size_t dim, double rho,
                                       std::uint64_t seed) {
  const Stream stream(seed, "planted tokens");
  std::vector<double> all(n * dim);
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = std::span(all).subspan(i * dim, dim);
    stream.normals(i, x);
    x[0] = 0;
    double squares = 0;
    for (const double c : x) squares += c * c;
    for (double& c : x) c *= std::sqrt((1 - rho) / squares);
    x[0] = std::sqrt(rho);
  }
  return all;
}

Encoded all_tokens(std::size_t n) {
  Encoded text;
  for (std::size_t i = 0; i < n; ++i) {
    text.ids.push_back(static_cast<std::uint32_t>(i));
    text.pieces.push_back(std::to_string(i));
    text.special.push_back(false);
  }
  return text;
}

}  // namespace attractor::models
