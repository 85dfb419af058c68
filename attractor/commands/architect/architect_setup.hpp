// What `attractor architect` may be asked: a model that need not exist yet, by its config.json, by
// flags, or by both (flags win). What neither says has the value that many decoders have.
//
// Inverse temperature: one convention, attention/logit_scale.hpp. Without QK-norm the lengths of
// queries and keys decide, which no configuration has; |q| = |k| = sqrt(d_head), entries of size 1,
// unless they are given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attractor/attention/logit_scale.hpp"
#include "attractor/attention/normalisation.hpp"
#include "attractor/lab/inputs.hpp"
#include "attractor/lab/parameter.hpp"

namespace attractor::lab {

struct ArchitectSetup {
  ArchitectureInput model{};
  std::optional<std::uint64_t> depth{}, heads{}, head_dim{}, window{};
  std::optional<Normalisation> norm{};
  std::optional<double> context{}, trained_context{};

  std::optional<double> beta{};  // as measured: nothing below is used
  std::optional<QueryNorm> qk_norm{};
  double query_gain = 1, key_gain = 1;
  std::optional<double> qk_norm_gain{};  // their product
  std::optional<double> query_length{}, key_length{};
  double temperature = 1;
  std::optional<double> logit_factor{};

  double rho = 0.1;
  double level = 0.9;
  std::optional<double> spread{};             // standard deviation of cosines about rho
  double beta_error = 0.1, rho_error = 0.05;  // standard errors; that of beta as a share
  ArrayInput keys{};
  std::uint64_t seed = 0;
};

ParameterList list(ArchitectSetup& p);

/// The model that is meant, every number known.
struct Design {
  std::string name;  // of the configuration; empty: none
  std::size_t depth = 32;
  std::size_t heads = 0;  // 0: not said
  Normalisation norm = Normalisation::pre;
  double head_dim = 128;
  double context = 8192, trained = 8192;
  double window = 0;  // 0: all tokens are seen
  double beta = 8;    // logits over cosines, with every factor
  double factor = 1;  // of the logits, in beta
  LogitScale scale{};
  std::vector<std::string> assumed{};  // sentences

  /// Tokens that one attends to in a context of n.
  double seen(double tokens) const { return window > 0 ? std::min(tokens, window) : tokens; }
};
Design design_of(const ArchitectSetup& p);

/// D of turning_band.hpp: as many dimensions as the spread of cosines says, else those of a head
/// less the one that tokens share. Throws Error on a spread that no tokens have.
double spread_dimension(const ArchitectSetup& p, const Design& d);

}  // namespace attractor::lab
