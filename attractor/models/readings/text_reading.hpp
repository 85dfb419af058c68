// One text through one model, read with the theory's instruments: the tokens after each layer as
// points on the sphere, and each layer as attention with an inverse temperature, a step and a time.
//
// Directions are x_i/|x_i| of the stream; tokens that the tokenizer added are left out unless asked
// for. Heads are fitted to the cosines of tokens as attention sees them (normed).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "attractor/base/array.hpp"
#include "attractor/models/pass.hpp"
#include "attractor/models/readings/cluster_tree.hpp"
#include "attractor/models/readings/head_fit.hpp"
#include "attractor/models/tokenizer.hpp"
#include "attractor/observe/observation.hpp"
#include "attractor/observe/pairs.hpp"

namespace attractor::models {

/// Inverse temperatures at which the energy is taken: those of published measurements.
inline constexpr std::array kEnergyBetas = {0.1, 1.0, 2.0, 5.0};

/// The tokens after some layers (0: embedded).
struct StateReading {
  observe::Observation seen{};  // energy and entropy at beta = 1
  double participation_ratio = 0;
  std::array<double, observe::kCosineBins> histogram{};
  std::array<double, kEnergyBetas.size()> energy_ratio{};  // E_beta over that of one cluster
  double measured_energy_ratio = 0;      // at the beta of the next layer (the last: of the last)
  double length = 0, length_spread = 0;  // of x: mean, standard deviation
};
inline auto fields(StateReading& value) {
  auto& [seen, participation_ratio, histogram, energy_ratio, measured_energy_ratio, length,
         length_spread] = value;
  return std::tie(seen, participation_ratio, histogram, energy_ratio, measured_energy_ratio, length,
                  length_spread);
}

/// One layer. NaN: not known (states without a model).
struct LayerReading {
  std::size_t own = 0;  // whose weights it has, of the model's layers
  std::vector<HeadFit> heads{};
  std::vector<HeadUse> uses{};
  double beta = 0, beta_error = 0;  // mean of the heads; its standard error over heads
  double joint_beta = 0;            // of one head that would do what they do (layer_map.hpp)
  double r2 = 0, entropy = 0, entropy_ratio = 0, sink = 0;
  double written = 0;                // |a|, what attention wrote, mean
  double hidden_written = 0;         // feed-forward
  double turn = 0, hidden_turn = 0;  // angle that each turned a token by, mean, radians
  double step = 0;                   // h of the theory
  double predicted = 0;              // next mean cosine, by the layer map
  double time = 0;                   // effective time
  std::vector<double> regulation{};  // s_i = |x_i| / |a_i|: how slow attention turns token i
  std::vector<double> growth{};      // ln of what perturbations of directions grow by
};
inline auto fields(LayerReading& value) {
  auto& [own, heads, uses, beta, beta_error, joint_beta, r2, entropy, entropy_ratio, sink, written,
         hidden_written, turn, hidden_turn, step, predicted, time, regulation, growth] = value;
  return std::tie(own, heads, uses, beta, beta_error, joint_beta, r2, entropy, entropy_ratio, sink,
                  written, hidden_written, turn, hidden_turn, step, predicted, time, regulation,
                  growth);
}

struct TextReading {
  std::vector<std::string> pieces{};  // of the tokens that are measured
  std::size_t tokens = 0;             // passed, with those of the tokenizer
  std::size_t dim = 0;
  std::vector<StateReading> states{};  // layers + 1
  std::vector<LayerReading> layers{};
  ClusterTree tree{};
  std::vector<double> exponents{};  // mean growth
  /// Directions after each layer, if asked for: (layers + 1) x n x dim.
  std::vector<std::vector<double>> directions{};

  double cosine(std::size_t state) const { return states[state].seen.mean_cosine; }
};
inline auto fields(TextReading& value) {
  auto& [pieces, tokens, dim, states, layers, tree, exponents, directions] = value;
  return std::tie(pieces, tokens, dim, states, layers, tree, exponents, directions);
}

struct ReadingOptions {
  Switches switches{};
  bool keep_special = false;
  double cluster_cosine = 0.9, pair_threshold = 0.9;
  std::size_t exponents = 0;  // perturbations that are followed
  std::uint64_t seed = 0;
  bool brief = false;       // only cosines, beta, step and time: for nulls
  bool directions = false;  // keep them
  std::function<bool()> stop{};
};

TextReading read_text(const Model& model, const Encoded& text, const ReadingOptions& options);

/// States that somebody else has saved, (layers + 1) x n x d, and attention logits, layers x heads
/// x n x n (or empty); entries of -1e4 or below, and -infinity, are pairs that are not seen.
TextReading read_states(const Array& states, const Array& logits, const ReadingOptions& options);

}  // namespace attractor::models
