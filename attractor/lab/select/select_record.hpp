// What a run of `attractor select` leaves: the one value that the summary, result.h5, the figures
// and the page are made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attractor/flow/run.hpp"
#include "attractor/lab/select/select_setup.hpp"
#include "attractor/solve/exact/exact_margin.hpp"
#include "attractor/training/margins/basins.hpp"
#include "attractor/training/margins/choices.hpp"
#include "attractor/training/margins/margin_approach.hpp"
#include "attractor/training/margins/max_margin.hpp"
#include "attractor/training/margins/regularisation_path.hpp"

namespace attractor::lab {

/// The run at one moment. Cosines are to the solutions the run ends with; NaN where there is none.
struct SelectMoment {
  double log10_time = 0, steps = 0;
  double loss = 0, log10_excess = 0;  // excess: over the loss of the best tokens
  double attention_norm = 0, head_norm = 0;
  double cosine = 0, relaxed_cosine = 0, head_cosine = 0;
  double margin = 0;  // least lead of a selected token over another, for weights of length one
  double softmax_min = 0, softmax_mean = 0;  // weight on the tokens selected in the end
  double entropy = 0, effective_tokens = 0;  // of attention, means over inputs
};
/// Name and value of every column, in order.
std::vector<std::pair<std::string, double SelectMoment::*>> select_columns();

/// The same training from another start.
struct OtherStart {
  std::vector<double> trajectory{};  // p at moments like those of the series
  training::MaxMargin svm{};         // of the tokens it selects
  double cosine = 0;
};

struct SelectRecord {
  SelectSetup setup{};
  training::Problem problem{};
  std::vector<training::Block> blocks{};
  bool trained = false;  // false: only the margin problem of a given choice was solved
  flow::Status status = flow::Status::complete;
  flow::Time time{};
  std::uint64_t steps = 0, rejected = 0;
  bool at_minimum = false;  // the weights rest at a finite minimum: attention mixes tokens
  bool saturated = false;   // the gradient underflowed to zero: further steps would change nothing

  std::vector<double> weights{};    // of the blocks, at the end
  std::vector<double> attention{};  // p or W = K Q^T at the end; empty if frozen
  std::vector<double> head{};       // v at the end
  std::vector<double> softmax{};    // n x T
  double loss = 0;
  double log10_excess = 0;   // of the loss over that of the best tokens; NaN if not known
  double softmax_min = 0;    // smallest weight on a selected token
  bool unique_best = true;   // every input has one best token
  bool equal_others = true;  // and all its others have the same score
  std::vector<std::size_t> selected{};
  std::vector<flow::Time> lock_in{};  // when each input selected its token for good
  /// Least lead of the selected token over another, for each input: of the weights reached or,
  /// without training, of the max-margin solution; for weights of length one. Empty: none.
  std::vector<double> leads{};

  std::optional<training::MaxMargin> svm{};      // of the selected tokens
  std::optional<training::MaxMargin> relaxed{};  // joint training: with non-support inputs relaxed
  std::optional<training::MarginVerdict> margins{};  // all norms, if asked for
  std::optional<training::LabelMargin> label{};      // v trained on labels +1, -1
  double cosine = 0, relaxed_cosine = 0, head_cosine = 0;
  /// Cosine of the present velocity to the solution: it gets there long before the weights do.
  double velocity_cosine = 0;
  std::optional<solve::ExactMargin> exact{};
  std::optional<training::LocalChoices> local{};
  std::optional<training::Basins> basins{};
  std::vector<training::PathPoint> path{};
  /// Of the path's points: to the max-margin solution of the best tokens (joint: relaxed where v
  /// says so), or of the local path's choice.
  std::vector<double> path_cosine{};
  std::optional<training::MaxMargin> path_svm{};

  std::vector<SelectMoment> series{};
  std::vector<double> trajectory{};  // weights at the moments of the series
  std::vector<OtherStart> others{};
};

}  // namespace attractor::lab
