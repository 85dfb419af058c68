#include "attractor/experiment/compare_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "attractor/base/error.hpp"
#include "attractor/meanfield/distances.hpp"
#include "attractor/report/hdf5.hpp"
#include "attractor/space/space.hpp"

namespace attractor::experiment {
namespace {

using report::add_point;
using report::curve;
using report::Series;

struct Run {
  std::string name, command;
  std::vector<double> log10_time;
  std::size_t tokens = 0, dim = 0;
  std::vector<double> positions;

  std::span<const double> at(std::size_t snapshot) const {
    return std::span(positions).subspan(snapshot * tokens * dim, tokens * dim);
  }
};

Run read_run(const std::string& name, const std::string& text) {
  if (text.empty()) throw Error(fmt::format("the {} run is missing; see --help", name));
  const std::filesystem::path given = text;
  const Hdf5Reader file(std::filesystem::is_directory(given) ? given / "result.h5" : given);
  Hdf5Array positions = file.read("/snapshots/positions");
  if (positions.shape.size() != 3 || positions.data.empty())
    throw Error(fmt::format("{} holds no snapshots of tokens", text));
  Run run{.name = text,
          .command = file.text_attribute("/", "command"),
          .log10_time = file.read("/snapshots/log10_time").data,
          .tokens = positions.shape[1],
          .dim = positions.shape[2],
          .positions = std::move(positions.data)};
  if (run.log10_time.size() != positions.shape[0])
    throw Error(fmt::format("{} has {} times for {} snapshots", text, run.log10_time.size(),
                            positions.shape[0]));
  return run;
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
  return {sum / n, largest, norm(mean) / n,
          dim == 2 ? wasserstein(a, b) : std::numeric_limits<double>::quiet_NaN()};
}

PageFigure distance_figure(const Table& table) {
  PageFigure figure{.figure = {.id = "distance", .title = "Distance of the two runs"},
                    .caption = "Chord from each token to its partner in the other run."};
  Series mean = curve(report::kBlue, 2.4), largest = curve(report::kOrange, 1.6);
  mean.title = "mean";
  largest.title = "largest";
  for (const std::vector<double>& row : table.rows) {
    add_point(mean, row[1], row[2]);
    add_point(largest, row[1], row[3]);
  }
  figure.figure.panels = {{.x = {.label = "time t", .scale = report::Scale::power},
                           .y = {.label = "distance"},
                           .series = {mean, largest}}};
  return figure;
}

}  // namespace

ParameterList list(CompareParameters& p) {
  return {{.name = "first",
           .group = "Runs",
           .help = "a run directory of attractor flow, or its result.h5",
           .target = &p.first},
          {.name = "second", .group = "Runs", .help = "the other run", .target = &p.second}};
}

Answer ask(const CompareParameters& p, const AskContext&) {
  const Run a = read_run("first", p.first), b = read_run("second", p.second);
  if (a.tokens != b.tokens || a.dim != b.dim)
    throw Error(
        fmt::format("{} has {} tokens in dimension {}, {} has {} in dimension {}; equal "
                    "numbers are needed",
                    a.name, a.tokens, a.dim, b.name, b.tokens, b.dim));
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
                    "--time and --snapshots",
                    a.name, b.name));
  Answer answer{.title = "two runs"};
  const std::vector<double>&first = table.rows.front(), &last = table.rows.back();
  answer.headline =
      fmt::format("Mean distance of partners: {:.4g} at t = {:.4g}, {:.4g} at t = {:.4g}.",
                  first[2], first[0], last[2], last[0]);
  answer.values["first_mean_distance"] = number(first[2]);
  answer.values["mean_distance"] = number(last[2]);
  answer.values["largest_distance"] = number(last[3]);
  answer.values["distance_of_means"] = number(last[4]);
  answer.values["wasserstein"] = number(last[5]);
  answer.values["times"] = table.rows.size();
  answer.tables = {table};
  answer.draw = [table] { return std::vector<PageFigure>{distance_figure(table)}; };
  return answer;
}

}  // namespace attractor::experiment
