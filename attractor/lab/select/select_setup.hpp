// The parameters of `attractor select`, listed once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attractor/lab/parameter.hpp"
#include "attractor/training/descent_flow.hpp"
#include "attractor/training/margins/margin_norm.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::lab {

enum class Optimizer { gd, ngd, published, polyak, flow, adam, sign, muon };
std::span<const std::string_view> names(Optimizer);

enum class MarginsAsked { own, all };
std::span<const std::string_view> names(MarginsAsked);

struct SelectSetup {
  ProblemInput data;
  training::Train train = training::Train::p;
  training::Loss loss = training::Loss::logistic;
  std::uint64_t rank = 0;    // of K and Q if the problem gives none; 0: d
  double init_scale = 0.01;  // of their random start
  std::uint64_t seed = 0;

  Optimizer optimizer = Optimizer::ngd;
  double step = 0.1;
  std::uint64_t steps = 1000;
  kernels::Precision precision = kernels::Precision::f64;  // of the keys that a step reads
  double decay = 0;                                        // the k-th step is step k^-decay
  double momentum = 0, mirror = 2;
  double beta1 = 0.9, beta2 = 0.999;        // adam
  double epsilon = 1e-9, epsilon_v = 1e-9;  // published: added to the norm of the gradient
  double log10_time = 100;                  // flow: end time
  double tolerance = 1e-10;                 // flow
  std::uint64_t outputs = 200;              // rows of the record
  Rows starts;                              // further starts of p

  Numbers choice, relaxed;                   // tokens, one for each input; inputs
  MarginsAsked margins = MarginsAsked::own;  // all: which of them does training approach?
  double margins_within = 0.01;              // of the best margin
  bool local = false;                        // find all locally optimal choices
  std::uint64_t local_limit = 100'000;
  bool basins = false;  // map which start ends where
  std::uint64_t basins_side = 41, basins_samples = 1000;
  double basins_radius = 3;
  Numbers path;  // radii of a regularisation path
  double path_ratio = 1, path_cone = 0;
  std::uint64_t path_starts = 8;
  bool exact = false;  // check the max-margin solution in rational arithmetic
};

ParameterList list(SelectSetup& p);
/// What belongs together fits together; throws Error.
void check(const SelectSetup& p);

/// The parameters that make the same run again, as a command line.
std::string command(const SelectSetup& p);

training::DescentOptions descent_options(const SelectSetup& p);
/// The norm that the optimiser is known to prefer.
training::MarginNorm margin_norm(const SelectSetup& p);
/// Whole numbers below `bound`; throws Error naming the entry. what: for messages.
std::vector<std::size_t> indices(const Numbers& list, std::size_t bound, const std::string& what);

}  // namespace attractor::lab
