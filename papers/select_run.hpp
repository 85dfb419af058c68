// Runs of `attractor select` that end early if the effort says so, of problems by name or as they
// stand, and their weights at a given step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attractor/lab/select/select_experiment.hpp"
#include "papers/entry.hpp"

namespace attractor::papers {

using lab::SelectMoment;
using lab::SelectRecord;
using lab::SelectSetup;

SelectRecord select(const SelectSetup& parameters, const Effort& effort);
/// The same from another start and for a problem without a name: training, its moments, and the
/// max-margin solution of the tokens it selects; no theory beyond that.
SelectRecord train(const SelectSetup& parameters, training::Problem problem, const Effort& effort);
/// "multi,seed=3"
training::Problem example_named(const std::string& name);

/// The max-margin solution of these tokens (none: the best) where `train` is what is trained.
training::MaxMargin margin_of(const training::Problem& problem, training::Train train,
                              std::vector<std::size_t> chosen = {});

/// How many outputs of a run, which are even in log time, record every step up to `step`.
std::uint64_t outputs_to(std::uint64_t step, std::uint64_t steps);
/// Weights at a moment of the series.
std::span<const double> weights_of(const SelectRecord& record, std::size_t moment);
/// Weights at the recorded moment nearest to a step; start 0 is the run's own, then come the
/// others.
std::span<const double> weights_at(const SelectRecord& record, std::uint64_t step,
                                   std::size_t start = 0);
const SelectMoment& moment_at(const SelectRecord& record, std::uint64_t step);

}  // namespace attractor::papers
