// Random tokens and heads for tests of attention layers.
#pragma once

#include <string>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor {

inline std::vector<double> normals(const std::string& name, std::size_t rows, std::size_t dim) {
  return normals_of(name, 5, rows, dim);
}

inline Head random_head(const std::string& name, std::size_t rank, std::size_t dim) {
  return {.query = normals(name + "q", rank, dim),
          .key = normals(name + "k", rank, dim),
          .value = normals(name + "v", dim, dim)};
}

inline LayerOutput attended(const AttentionLayer& layer, const std::vector<double>& tokens,
                            const LayerRequest& request = {}) {
  validate(layer);
  LayerOutput out;
  attend(layer, tokens, request, out);
  return out;
}

/// One layer of every rule, for radial rules of every kernel.
inline std::vector<AttentionLayer> rule_cases(std::size_t dim) {
  std::vector<AttentionLayer> layers;
  for (const Rule rule : every<Rule>()) {
    if (rule != Rule::radial) {
      layers.push_back({.rule = rule, .beta = 0.8, .dim = dim});
      continue;
    }
    for (const RadialKernel kernel : every<RadialKernel>())
      for (const bool normalised : {true, false})
        layers.push_back(
            {.rule = rule, .beta = 0.8, .dim = dim, .kernel = kernel, .normalised = normalised});
  }
  return layers;
}

}  // namespace attractor
