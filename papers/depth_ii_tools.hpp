// What several experiments about depth share: tokens moved by any architecture from any start
// (files and words aside), slopes, and figures in few words.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attractor/depth/layer_flow.hpp"
#include "attractor/experiment/flow_experiment.hpp"
#include "attractor/flow/tableau.hpp"
#include "papers/entry.hpp"

namespace attractor::papers {

/// `attractor flow` that can be stopped.
experiment::FlowRecord flow_record(const experiment::FlowParameters& parameters,
                                   const Effort& effort);

struct Walk {
  depth::Architecture architecture{};
  std::vector<double> tokens{};  // n x dim
  std::vector<double> times{};   // ascending; of fixed steps: whole numbers of them
  std::string stepper = "adaptive";
  double step = 0.1, tolerance = 1e-9;
  std::uint64_t max_steps = 10'000'000;
};

/// The tokens at each time. Throws Error if the end is not reached for another reason than a stop;
/// if `reached` is given, too many steps are none: it tells when they ended, and times after that
/// have the tokens of then.
std::vector<std::vector<double>> states_of(const Walk& walk, const Effort& effort,
                                           double* reached = nullptr);

/// n tokens uniform in [-size, size]^dim.
std::vector<double> box(std::size_t n, std::size_t dim, double size, std::uint64_t seed);
/// One head with this value matrix (empty: identity), softmax at beta, tokens in R^d.
depth::Architecture plane(std::size_t dim, depth::Geometry geometry, double beta,
                          std::vector<double> value = {});

std::span<const double> row(std::span<const double> tokens, std::size_t dim, std::size_t index);
/// Points farther than `radius` from all earlier ones: how many values there are.
std::size_t distinct(std::span<const double> points, std::size_t dim, double radius);
/// How far a point is from supporting the hull in its own direction: 0 if <p, q> <= <p, p> for all
/// p, q, which puts every p on the boundary.
double excess(std::span<const double> points, std::size_t dim);

/// Least squares of y in x.
double slope(std::span<const double> x, std::span<const double> y);
double mean(std::span<const double> values);
/// Of the mean: sample deviation over the root of the count.
double standard_error(std::span<const double> values);
/// The value below which a share of them lies, by linear interpolation.
double quantile(std::vector<double> values, double share);

report::Series line(std::string title, report::Colour colour, double width = 2.2,
                    bool dashed = false);
report::Series dots(std::string title, report::Colour colour, double size = 3.5);
/// Coordinates `a` and `b` of every token.
report::Series scatter(std::string title, std::span<const double> tokens, std::size_t dim,
                       report::Colour colour, double size = 3);
PageFigure picture(std::string id, std::string title, std::vector<report::Panel> panels,
                   std::string caption);

}  // namespace attractor::papers
