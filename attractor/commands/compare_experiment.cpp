#include "attractor/commands/compare_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/commands/time_axis.hpp"
#include "attractor/mean_field/distances.hpp"
#include "attractor/space/space.hpp"

namespace attractor::lab {
namespace {

struct Run {
  std::string name;
  std::vector<double> log10_time;
  std::size_t tokens = 0, dim = 0;
  std::vector<double> positions;  // directions, where tokens have lengths
  std::vector<double> lengths;    // empty: none beside the positions

  std::size_t snapshots() const { return log10_time.size(); }
  std::span<const double> at(std::size_t snapshot) const {
    return std::span(positions).subspan(snapshot * tokens * dim, tokens * dim);
  }
};

void refuse(bool wrong, const std::string& sentence) {
  if (wrong) throw Error(sentence);
}

std::vector<double> read_times(const RunInput& input, const std::string& name,
                               std::size_t snapshots) {
  std::vector<double> times = input.arrays.at("/snapshots/log10_time").data;
  refuse(times.size() != snapshots,
         fmt::format("{} has {} times for {} snapshots", name, times.size(), snapshots));
  for (const double t : times)  // t = 0 is -infinity here
    refuse(std::isnan(t) || t == kInfinity,
           fmt::format("{} holds a snapshot at log10_time {}", name, t));
  refuse(!std::is_sorted(times.begin(), times.end()),
         fmt::format("{} holds snapshots that are not in the order of time", name));
  return times;
}

std::vector<double> read_lengths(const RunInput& input, const Run& run) {
  if (!input.has("/snapshots/norms")) return {};
  Array norms = input.arrays.at("/snapshots/norms");
  refuse(norms.shape != std::vector<std::size_t>{run.snapshots(), run.tokens},
         fmt::format("{} holds lengths of other tokens than its positions", run.name));
  for (const double r : norms.data)
    refuse(!(r >= 0 && std::isfinite(r)),
           fmt::format("{} holds the length {} of a token; it cannot be compared", run.name, r));
  return std::move(norms.data);
}

Run run_of(const std::string& which, const RunInput& input) {
  const std::string& text = input.name;
  if (text.empty() && input.arrays.empty())
    throw Error(fmt::format("the {} run is missing; two runs of flow are needed", which));
  refuse(!input.has("/snapshots/positions") || !input.has("/snapshots/log10_time"),
         fmt::format("{} holds no snapshots of tokens; two runs of flow with their results are "
                     "needed",
                     text));
  Array positions = input.arrays.at("/snapshots/positions");
  refuse(positions.shape.size() != 3 || positions.data.empty(),
         fmt::format("{} holds no snapshots of tokens", text));
  const std::size_t tokens = positions.shape[1], dim = positions.shape[2];
  for (std::size_t k = 0; k < positions.data.size(); ++k)
    refuse(!std::isfinite(positions.data[k]),
           fmt::format("{} holds the position {} of token {} in snapshot {} (counted from 0); it "
                       "cannot be compared",
                       text, positions.data[k], k / dim % tokens, k / dim / tokens));
  Run run{.name = text,
          .log10_time = read_times(input, text, positions.shape[0]),
          .tokens = tokens,
          .dim = dim,
          .positions = std::move(positions.data),
          .lengths = {}};
  run.lengths = read_lengths(input, run);
  return run;
}

/// Tokens themselves instead of their directions.
void stretch(Run& run) {
  for (std::size_t i = 0; i < run.lengths.size(); ++i)
    for (std::size_t c = 0; c < run.dim; ++c) run.positions[i * run.dim + c] *= run.lengths[i];
}

/// Snapshots at the same time are compared; others have no partner.
std::vector<std::pair<std::size_t, std::size_t>> common_times(const Run& a, const Run& b) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < a.log10_time.size(); ++i)
    for (std::size_t j = 0; j < b.log10_time.size(); ++j) {
      const double s = a.log10_time[i], t = b.log10_time[j];
      if (s == t || std::abs(s - t) < 1e-9) pairs.emplace_back(i, j);
    }
  return pairs;
}

double wasserstein(std::span<const double> a, std::span<const double> b) {
  const auto angles = [](std::span<const double> x) {
    std::vector<double> result;
    for (std::size_t i = 0; i < x.size(); i += 2) result.push_back(std::atan2(x[i + 1], x[i]));
    return result;
  };
  const std::vector<double> first = angles(a), second = angles(b);
  return meanfield::circle_distance({.points = first}, {.points = second});
}

/// mean and largest distance of partners, distance of means, Wasserstein-1 on the circle.
std::vector<double> distances(std::span<const double> a, std::span<const double> b,
                              std::size_t dim) {
  const std::size_t tokens = a.size() / dim;
  double sum = 0, largest = 0;
  std::vector<double> mean(dim, 0.0);
  for (std::size_t i = 0; i < tokens; ++i) {
    const double d = std::sqrt(squared_distance(a.subspan(i * dim, dim), b.subspan(i * dim, dim)));
    sum += d;
    largest = std::max(largest, d);
    for (std::size_t c = 0; c < dim; ++c) mean[c] += a[i * dim + c] - b[i * dim + c];
  }
  const double n = static_cast<double>(tokens);
  return {sum / n, largest, norm(mean) / n, dim == 2 ? wasserstein(a, b) : kNan};
}

PageFigure distance_figure(const Table& table) {
  Series mean = curve(report::kBlue, 2.4), largest = curve(report::kOrange, 1.6);
  mean.title = "mean";
  largest.title = "largest";
  std::vector<double> times;
  for (const std::vector<double>& row : table.rows) times.push_back(row[1]);
  const TimeAxis time = time_axis(times);
  for (const std::vector<double>& row : table.rows) {
    add_point(mean, time.at(row[1]), row[2]);
    add_point(largest, time.at(row[1]), row[3]);
  }
  if (table.rows.size() == 1)  // a line needs two points
    mean.mark = largest.mark = Mark::points;
  return plot("distance", "Distance of the two runs", time.axis, {.label = "distance", .low = 0},
              {std::move(mean), std::move(largest)},
              "Chord from each token to its partner in the other run.");
}

}  // namespace

ParameterList list(CompareSetup& p) {
  ParameterList l;
  l.group("Runs");
  l.add("first", p.first, "a run directory of attractor flow, or its result.h5").first();
  l.add("second", p.second, "the other run").first();
  return l;
}

Result ask(const CompareSetup& p, const Context& /*context*/) {
  Run a = run_of("first", p.first), b = run_of("second", p.second);
  if (a.tokens != b.tokens || a.dim != b.dim)
    throw Error(
        fmt::format("{} has {} tokens in dimension {}, {} has {} in dimension {}; equal "
                    "numbers are needed",
                    a.name, a.tokens, a.dim, b.name, b.tokens, b.dim));
  const bool lengths = !a.lengths.empty() && !b.lengths.empty();
  if (lengths) stretch(a), stretch(b);
  Table table{.name = "distances",
              .title = "Distance of the two runs at common times",
              .columns = {"time", "log10_time", "mean_distance", "largest_distance",
                          "distance_of_means", "wasserstein"}};
  for (const auto& [i, j] : common_times(a, b)) {
    std::vector<double> row = {std::pow(10, a.log10_time[i]), a.log10_time[i]};
    for (const double d : distances(a.at(i), b.at(j), a.dim)) row.push_back(d);
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty())
    throw Error(
        fmt::format("{} and {} have no snapshot at the same time; run both with the same "
                    "time and snapshots",
                    a.name, b.name));
  Result answer{.title = "two runs"};
  const std::vector<double>&first = table.rows.front(), &last = table.rows.back();
  answer.headline =
      fmt::format("The two runs are {} apart on average at t = {}; at t = {} they were {} apart.",
                  rounded(last[2]), rounded(last[0]), rounded(first[0]), rounded(first[2]));
  answer.tiles = {{"mean distance", rounded(last[2]),
                   fmt::format("of partners at t = {}; {} at t = {}", rounded(last[0]),
                               rounded(first[2]), rounded(first[0]))},
                  {"largest distance", rounded(last[3]), "of partners at the end"},
                  {"distance of means", rounded(last[4]), "of the two clouds at the end"},
                  {"common times", grouped(table.rows.size()), "snapshots that both runs have"}};
  if (std::isfinite(last[5]))
    answer.tiles.push_back(
        {"Wasserstein distance", rounded(last[5]), "of the two clouds, whoever is who"});
  answer.values["first_mean_distance"] = number(first[2]);
  answer.values["mean_distance"] = number(last[2]);
  answer.values["largest_distance"] = number(last[3]);
  answer.values["distance_of_means"] = number(last[4]);
  answer.values["wasserstein"] = number(last[5]);
  answer.values["times"] = table.rows.size();
  answer.tables = {table};
  if (lengths != (!a.lengths.empty() || !b.lengths.empty()))
    answer.remarks.push_back(
        "Only one of the runs has lengths of tokens: directions are compared.");
  const bool finite = std::all_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
    return std::isfinite(row[2]) && std::isfinite(row[3]) && std::isfinite(row[4]);
  });
  if (!finite)
    answer.not_delivered =
        "distances leave the range of double precision; scale the tokens of both runs down";
  answer.draw = [table] { return std::vector<PageFigure>{distance_figure(table)}; };
  return answer;
}

Command compare_command() {
  return {.name = "compare",
          .about = "How far two runs of attractor flow are apart, token by token",
          .examples =
              "  attractor flow --noise 0.1 --time 5 --seed 1 --out a\n"
              "  attractor flow --noise 0.1 --time 5 --seed 1 --step 0.05 --out b\n"
              "  attractor compare a b",
          .make = ask_request<CompareSetup>};
}

}  // namespace attractor::lab
