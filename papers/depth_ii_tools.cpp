#include "papers/depth_ii_tools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/space/space.hpp"

namespace attractor::papers {

using report::Series;

experiment::FlowRecord flow_record(const experiment::FlowParameters& parameters,
                                   const Effort& effort) {
  return experiment::run_flow(parameters, {.stop = effort.context.stop});
}

std::vector<std::vector<double>> states_of(const Walk& walk, const Effort& effort,
                                           double* reached) {
  depth::validate(walk.architecture);
  depth::LayerFlow flow(walk.architecture, walk.tokens.size() / walk.architecture.layer.dim);
  flow::Plan plan{.end = flow::Time(walk.times.back()),
                  .tolerance = walk.tolerance,
                  .step = walk.step,
                  .max_steps = walk.max_steps};
  for (const double time : walk.times) plan.outputs.emplace_back(time);
  flow::Progress progress{.state = walk.tokens};
  std::vector<std::vector<double>> states;
  flow::Hooks hooks{.stop = effort.context.stop};
  hooks.output = [&](const flow::Time&, std::span<const double> state) {
    states.emplace_back(state.begin(), state.end());
  };
  const flow::Status status =
      flow::run(flow, flow::tableau_named(walk.stepper), plan, progress, hooks);
  const bool short_of = reached && status == flow::Status::too_many_steps;
  if (reached) *reached = short_of ? progress.time.value() : walk.times.back();
  if (status != flow::Status::complete && !short_of && !effort.context.stopped())
    throw Error(
        fmt::format("a flow ended with '{}': {}", flow::name(status), flow::remedy(status)));
  states.resize(walk.times.size(), progress.state);  // a flow at rest has no more outputs
  return states;
}

std::vector<double> box(std::size_t n, std::size_t dim, double size, std::uint64_t seed) {
  const Stream stream(seed, "box");
  std::vector<double> tokens;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < dim; ++c) tokens.push_back(size * (2 * stream.uniform(i, c) - 1));
  return tokens;
}

depth::Architecture plane(std::size_t dim, depth::Geometry geometry, double beta,
                          std::vector<double> value) {
  depth::Architecture a;
  a.layer.dim = dim;
  a.layer.beta = beta;
  a.layer.heads.front().value = std::move(value);
  a.geometry = geometry;
  return a;
}

std::span<const double> row(std::span<const double> tokens, std::size_t dim, std::size_t index) {
  return tokens.subspan(index * dim, dim);
}

std::size_t distinct(std::span<const double> points, std::size_t dim, double radius) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < points.size() / dim; ++i)
    if (std::none_of(found.begin(), found.end(), [&](std::size_t j) {
          return squared_distance(row(points, dim, i), row(points, dim, j)) <= radius * radius;
        }))
      found.push_back(i);
  return found.size();
}

double excess(std::span<const double> points, std::size_t dim) {
  double worst = 0;
  for (std::size_t i = 0; i < points.size() / dim; ++i) {
    const auto p = row(points, dim, i);
    for (std::size_t j = 0; j < points.size() / dim; ++j)
      worst = std::max(worst, (dot(p, row(points, dim, j)) - dot(p, p)) / norm(p));
  }
  return worst;
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double standard_error(std::span<const double> values) {
  const double centre = mean(values), count = static_cast<double>(values.size());
  double sum = 0;
  for (const double v : values) sum += (v - centre) * (v - centre);
  return std::sqrt(sum / (count - 1) / count);
}

double slope(std::span<const double> x, std::span<const double> y) {
  const double mx = mean(x), my = mean(y);
  double top = 0, bottom = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    top += (x[k] - mx) * (y[k] - my);
    bottom += (x[k] - mx) * (x[k] - mx);
  }
  return top / bottom;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

Series line(std::string title, report::Colour colour, double width, bool dashed) {
  Series series = report::curve(colour, width);
  series.title = std::move(title);
  series.dashed = dashed;
  return series;
}

Series dots(std::string title, report::Colour colour, double size) {
  Series series{.title = std::move(title), .mark = report::Mark::points};
  series.colour = colour;
  series.size = size;
  return series;
}

Series scatter(std::string title, std::span<const double> tokens, std::size_t dim,
               report::Colour colour, double size) {
  Series series = dots(std::move(title), colour, size);
  for (std::size_t i = 0; i < tokens.size(); i += dim)
    report::add_point(series, tokens[i], tokens[i + 1]);
  return series;
}

PageFigure picture(std::string id, std::string title, std::vector<report::Panel> panels,
                   std::string caption) {
  PageFigure result{.caption = std::move(caption), .wide = panels.size() > 1};
  result.figure.id = std::move(id);
  // Above three columns it would meet the title of the middle one.
  if (panels.size() < 3) result.figure.title = std::move(title);
  result.figure.columns = std::min<std::size_t>(3, panels.size());
  const double rows = std::ceil(static_cast<double>(panels.size()) / 3);
  result.figure.width = panels.size() == 1 ? 640 : panels.size() == 2 ? 980 : 1180;
  result.figure.height = 440 * rows;
  result.figure.panels = std::move(panels);
  return result;
}

}  // namespace attractor::papers
