// Runs of `attractor flow` that end early if the effort says so, and what is read off their series.
#pragma once

#include <span>
#include <vector>

#include "attractor/lab/flow/flow_experiment.hpp"
#include "papers/entry.hpp"

namespace attractor::papers {

using lab::FlowRecord;
using lab::FlowSetup;

/// If it was stopped the record is of no use, but has a series and a snapshot.
FlowRecord flow_of(const FlowSetup& parameters, const Effort& effort);

/// Tokens at these angles on the circle.
FlowSetup at_angles(std::span<const double> angles);

/// A column of the series of a run.
std::vector<double> column(const FlowRecord& record, double observe::Observation::*value);

/// The largest fall of a column from one output to the next; 0 if it never falls, NaN where
/// it is not known.
double largest_fall(std::span<const double> values);

}  // namespace attractor::papers
