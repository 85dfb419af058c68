// What several experiments on tokens in depth need: runs that can be stopped, times at which a
// measured curve passes a value, diagrams side by side, and one layer in plain arithmetic.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attractor/experiment/flow_experiment.hpp"
#include "attractor/experiment/phase_experiment.hpp"
#include "papers/entry.hpp"

namespace attractor::papers {

using experiment::FlowParameters;
using experiment::FlowRecord;
using experiment::PhaseParameters;

/// If it was stopped the record is of no use, but has a series and a snapshot.
FlowRecord flow_of(const FlowParameters& parameters, const Effort& effort);

/// Mean of a sample and the standard error of that mean.
struct Sampled {
  double mean = 0, error = 0;
};
Sampled sampled(std::span<const double> values);

/// Where a rising curve first passes `level`, linear between its points; NaN: nowhere.
double passing(std::span<const double> x, std::span<const double> y, double level);

/// A column of the series of a run.
std::vector<double> column(const FlowRecord& record, double observe::Observation::*value);

/// The largest fall of a column from one output to the next; 0 if it never falls, NaN where
/// it is not known.
double largest_fall(std::span<const double> values);

/// ln of the growth of |mean e^{ik theta}| per unit of time, tokens on the circle.
double wave_growth(const FlowRecord& record, std::uint64_t k);

/// Density of angles times 2 pi, over degrees.
report::Series angle_density(std::span<const double> angles, std::size_t bins);
std::vector<double> angles_of(std::span<const double> positions);

/// Row (beta, time, fraction, error) of a phase answer's diagram at its last beta. Throws Error if
/// the time is no output.
const std::vector<double>& phase_at(const Answer& answer, double time);

/// One diagram for each dimension, titled "d = 8"; the diagrams' tables go into the answer as
/// diagram_8. Empty if it was stopped.
struct Diagrams {
  std::vector<Answer> answers;
  std::vector<std::string> titles;
};
Diagrams diagrams_over(const std::vector<std::uint64_t>& dims, PhaseParameters parameters,
                       const Effort& effort, Answer& answer);

/// The heat maps of several phase answers as one figure of two columns.
PageFigure phase_figure(std::string id, const std::vector<Answer>& diagrams,
                        const std::vector<std::string>& titles, std::string caption);

/// x_i <- normalise(x_i + step sum_j softmax_j(beta <x_i, B x_j>) V x_j), written as in a textbook:
/// what the kernels must compute. Tokens: n x dim, row-major; empty matrices: the identity.
struct Textbook {
  std::size_t dim = 2;
  double beta = 1, step = 0.1;
  std::vector<double> interaction{}, value{};  // B, V
};
std::vector<double> textbook_layer(std::span<const double> tokens, const Textbook& layer);

/// Clusters on the circle, ascending in angle; masses are shares.
struct Cluster {
  double angle, mass;
};
/// The pair (number k and the next one) that would merge first if it were alone, by coming to
/// `cosine`, and when. Neighbours pull it apart by at most `disturbance` of its speed, to leading
/// order in e^{-beta}: it merges between wait and wait / (1 - disturbance). closed: the last and
/// the first are neighbours too.
struct Merger {
  std::size_t pair = 0;
  double wait = 0, disturbance = 0;
};
Merger next_merger(const std::vector<Cluster>& clusters, bool closed, double beta, double cosine);

/// The largest distance between tokens of the same number.
double largest_distance(std::span<const double> a, std::span<const double> b, std::size_t dim);

}  // namespace attractor::papers
