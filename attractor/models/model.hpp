// A trained model: its architecture and its weights, in single precision. What a layer does with
// them is pass.hpp; where they come from is assemble.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attractor/kernels/matrix/packed_product.hpp"
#include "attractor/models/architecture.hpp"

namespace attractor::models {

/// y = W x + b.
struct Linear {
  kernels::PackedMatrix weights{};
  std::vector<float> bias{};  // empty: none

  bool empty() const { return weights.empty(); }
};

struct Norm {
  std::vector<float> gain{}, bias{};  // bias: of a layer norm only

  bool empty() const { return gain.empty(); }
};

struct Layer {
  Norm attention_norm{}, hidden_norm{};  // post: behind what was added; pre: before the block
  Linear query{}, key{}, value{}, output{};
  std::vector<float> query_gain{}, key_gain{};  // norm of heads: head_dim each, or empty
  Linear up{}, gate{}, down{};
};

struct Model {
  Architecture architecture{};
  std::string name{};           // in titles and messages
  std::vector<float> words{};   // vocabulary x embedding
  std::vector<float> places{};  // positions x embedding; empty: rotary
  std::vector<float> kind{};    // embedding: added to every token; empty: none
  Norm embedding_norm{};        // post
  Linear embedding_map{};       // from embedding to width; empty: they are the same
  std::vector<Layer> layers{};  // own_layers of them
  Norm final_norm{};            // pre
  std::vector<float> head{};    // vocabulary x width; empty: tied, or not read

  /// The weights that layer k of `layers` uses.
  const Layer& layer(std::size_t k) const {
    const std::size_t share = architecture.layers / architecture.own_layers;
    return layers[k / share < layers.size() ? k / share : layers.size() - 1];
  }
};

}  // namespace attractor::models
