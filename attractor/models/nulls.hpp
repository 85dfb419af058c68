// Models that are like a trained one but know nothing: what a reading of the trained one must beat.
//
//   shuffled   the entries of every weight matrix of a layer in random order
//   redrawn    every matrix turned at random on both sides, W <- O W O': its singular values stay,
//              what they act on does not. Turns are 4 log2(n) rounds in which coordinates are
//              paired at random and each pair is turned by a random angle (Kac's walk): orthogonal
//              exactly, uniform nearly.
//
// Embeddings, gains and biases stay as they are. Layers that share weights share the new ones.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attractor/models/model.hpp"

namespace attractor::models {

enum class Null { shuffled, redrawn };
std::span<const std::string_view> names(Null);

Model null_model(const Model& model, Null kind, std::uint64_t seed);

}  // namespace attractor::models
