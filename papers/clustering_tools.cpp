#include "papers/clustering_tools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/meanfield/cluster_pair.hpp"

namespace attractor::papers {
namespace {

/// M x for every token; an empty matrix is the identity.
std::vector<double> mapped(std::span<const double> tokens, std::span<const double> matrix,
                           std::size_t dim) {
  std::vector<double> result(tokens.begin(), tokens.end());
  if (matrix.empty()) return result;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    result[i] = 0;
    for (std::size_t k = 0; k < dim; ++k)
      result[i] += matrix[i % dim * dim + k] * tokens[i / dim * dim + k];
  }
  return result;
}

}  // namespace

FlowRecord flow_of(const FlowParameters& parameters, const Effort& effort) {
  experiment::RunContext context;
  context.stop = effort.context.stop;
  FlowRecord record = experiment::run_flow(parameters, context);
  if (record.series.empty()) record.series.emplace_back();
  if (record.snapshots.empty()) record.snapshots.emplace_back();
  return record;
}

Sampled sampled(std::span<const double> values) {
  Sampled result;
  const double n = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  if (values.size() > 1) result.error = std::sqrt(squares / (n - 1) / n);
  return result;
}

double passing(std::span<const double> x, std::span<const double> y, double level) {
  for (std::size_t k = 1; k < y.size(); ++k)
    if (y[k - 1] < level && y[k] >= level)
      return x[k - 1] + (x[k] - x[k - 1]) * (level - y[k - 1]) / (y[k] - y[k - 1]);
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> column(const FlowRecord& record, double observe::Observation::*value) {
  std::vector<double> result;
  for (const observe::Observation& o : record.series) result.push_back(o.*value);
  return result;
}

double largest_fall(std::span<const double> values) {
  double fall = 0;
  for (std::size_t k = 1; k < values.size(); ++k) {
    const double step = values[k - 1] - values[k];
    if (!(step <= fall)) fall = step;
    if (std::isnan(step)) break;
  }
  return fall;
}

std::vector<double> angles_of(std::span<const double> positions) {
  std::vector<double> angles;
  for (std::size_t i = 0; i < positions.size(); i += 2)
    angles.push_back(std::atan2(positions[i + 1], positions[i]));
  return angles;
}

double wave_growth(const FlowRecord& record, std::uint64_t k) {
  const auto moment = [k](const experiment::Snapshot& snapshot) {
    std::complex<double> sum = 0;
    for (const double angle : angles_of(snapshot.positions))
      sum += std::polar(1.0, static_cast<double>(k) * angle);
    return std::abs(sum);
  };
  return std::log(moment(record.snapshots.back()) / moment(record.snapshots.front())) /
         record.time.value();
}

report::Series angle_density(std::span<const double> angles, std::size_t bins) {
  report::Series series;
  for (std::size_t k = 0; k < bins; ++k)
    add_point(series, 360 * (static_cast<double>(k) + 0.5) / static_cast<double>(bins), 0);
  for (const double angle : angles) {
    const double turn = angle / (2 * std::numbers::pi);
    const double place = (turn - std::floor(turn)) * static_cast<double>(bins);
    series.y[static_cast<std::size_t>(place) % bins] +=
        static_cast<double>(bins) / static_cast<double>(angles.size());
  }
  return series;
}

const std::vector<double>& phase_at(const Answer& answer, double time) {
  const std::vector<std::vector<double>>& rows = answer.tables.back().rows;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    if (std::abs((*row)[1] - time) < 1e-9) return *row;
  throw Error(fmt::format("the diagram has no time {}; allowed: its outputs", time));
}

Diagrams diagrams_over(const std::vector<std::uint64_t>& dims, PhaseParameters parameters,
                       const Effort& effort, Answer& answer) {
  Diagrams result;
  for (const std::uint64_t dim : dims) {
    parameters.dim = dim;
    result.answers.push_back(ask(parameters, effort.context));
    if (effort.context.stopped()) return {};
    result.titles.push_back(fmt::format("d = {}", dim));
    answer.tables.push_back(result.answers.back().tables.back());
    answer.tables.back().name = fmt::format("diagram_{}", dim);
  }
  return result;
}

PageFigure phase_figure(std::string id, const std::vector<Answer>& diagrams,
                        const std::vector<std::string>& titles, std::string caption) {
  report::Figure figure{.id = std::move(id), .columns = 2, .width = 1120};
  for (std::size_t k = 0; k < diagrams.size(); ++k) {
    std::vector<PageFigure> drawn = diagrams[k].draw();
    if (drawn.empty()) continue;
    figure.panels.push_back(std::move(drawn.front().figure.panels.front()));
    figure.panels.back().title = titles[k];
  }
  figure.height = 380 * static_cast<double>((figure.panels.size() + 1) / 2);
  return {std::move(figure), std::move(caption), true};
}

std::vector<double> textbook_layer(std::span<const double> tokens, const Textbook& layer) {
  const std::size_t d = layer.dim, n = tokens.size() / d;
  const std::vector<double> seen = mapped(tokens, layer.interaction, d);
  const std::vector<double> values = mapped(tokens, layer.value, d);
  std::vector<double> next(tokens.begin(), tokens.end()), logits(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      logits[j] = 0;
      for (std::size_t k = 0; k < d; ++k)
        logits[j] += layer.beta * tokens[i * d + k] * seen[j * d + k];
    }
    const double largest = *std::max_element(logits.begin(), logits.end());
    double total = 0, length = 0;
    for (double& logit : logits) total += logit = std::exp(logit - largest);
    for (std::size_t k = 0; k < d; ++k) {
      for (std::size_t j = 0; j < n; ++j)
        next[i * d + k] += layer.step * logits[j] / total * values[j * d + k];
      length = std::hypot(length, next[i * d + k]);
    }
    for (std::size_t k = 0; k < d; ++k) next[i * d + k] /= length;
  }
  return next;
}

Merger next_merger(const std::vector<Cluster>& clusters, bool closed, double beta, double cosine) {
  using namespace meanfield;
  const std::size_t n = clusters.size();
  const auto gap = [&](std::size_t k) {  // to the next one
    const double turn = k % n + 1 == n ? 2 * std::numbers::pi : 0;
    return clusters[(k + 1) % n].angle - clusters[k % n].angle + turn;
  };
  const auto mass = [&](std::size_t k) { return clusters[k % n].mass; };
  const auto pull = [&](std::size_t k) {
    return std::exp(beta * (std::cos(gap(k)) - 1)) * std::sin(gap(k));
  };
  Merger first{.wait = HUGE_VAL};
  for (std::size_t k = 0; k < (closed ? n : n - 1); ++k) {
    if (gap(k) > std::numbers::pi) continue;
    const double a = mass(k), b = mass(k + 1);
    const ClusterPair pair{.beta = beta, .mass1 = a / (a + b), .mass2 = b / (a + b)};
    const double wait =
        merge_time(pair, PairAngle::of(gap(k)), PairAngle::of_cosine(cosine)).value();
    if (wait >= first.wait) continue;
    double apart = 0;
    if (n > 2 && (closed || k > 0)) apart += mass(k + n - 1) / a * pull(k + n - 1);
    if (n > 2 && (closed || k + 2 < n)) apart += mass(k + 2) / b * pull(k + 1);
    first = {k, wait, apart / ((b / a + a / b) * pull(k))};
  }
  return first;
}

double largest_distance(std::span<const double> a, std::span<const double> b, std::size_t dim) {
  double largest = 0;
  for (std::size_t i = 0; i + dim <= std::min(a.size(), b.size()); i += dim) {
    double distance = 0;
    for (std::size_t k = 0; k < dim; ++k) distance = std::hypot(distance, a[i + k] - b[i + k]);
    largest = std::max(largest, distance);
  }
  return largest;
}

}  // namespace attractor::papers
