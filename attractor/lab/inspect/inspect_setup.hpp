// What `attractor inspect` may be asked: which model on which texts, or states that were saved by
// somebody else, what is switched off or changed on the way, and what is measured.
#pragma once

#include <cstdint>
#include <string>

#include "attractor/lab/inputs.hpp"
#include "attractor/lab/parameter.hpp"
#include "attractor/models/pass.hpp"

namespace attractor::lab {

struct InspectSetup {
  ModelInput model{};
  TextInput text{};
  bool ids = false;
  std::uint64_t texts = 0;  // 0: all
  std::uint64_t length = 256;
  bool special = false;
  std::uint64_t write = 0;

  ArrayInput states{}, attention{};

  bool no_feed_forward = false, no_attention = false, identity_values = false;
  std::optional<std::uint64_t> iterate{};
  std::uint64_t depth = 0;  // 0: as trained
  double beta_scale = 1;
  models::MaskChange mask = models::MaskChange::as_trained;

  TextInput baseline{};
  std::uint64_t baseline_sentences = 100;
  std::uint64_t nulls = 2;
  std::uint64_t null_texts = 4;
  double cluster_cosine = 0.9;
  std::uint64_t exponents = 2;
  double level = 0.99;
  std::uint64_t seed = 0;
  std::string states_out{}, attention_out{}, keys_out{};
};

ParameterList list(InspectSetup& p);
/// Refuses what does not fit together.
void check(const InspectSetup& p);

}  // namespace attractor::lab
