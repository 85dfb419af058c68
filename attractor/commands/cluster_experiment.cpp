#include "attractor/commands/cluster_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/depth/mean_shift/mean_shift.hpp"
#include "attractor/tokens/given_arrays.hpp"

namespace attractor::lab {
namespace {

using depth::MeanShift;

constexpr double kNarrowest = 1e-100, kWidest = 1e100;
constexpr std::size_t kDrawnPoints = 1800, kDrawnModes = 100, kBars = 60;
constexpr std::size_t kMostCoordinates = 1'000'000;  // of modes, in JSON and result.h5

// ---- What is asked.

double chosen_bandwidth(const ClusterSetup& p, const Array& points) {
  if (p.beta && p.bandwidth)
    throw Error(fmt::format("beta = {} and bandwidth = {} say the same; give one of them", *p.beta,
                            *p.bandwidth));
  if (p.beta) return 1 / std::sqrt(*p.beta);
  if (p.bandwidth) return *p.bandwidth;
  const double found = depth::reference_bandwidth(points.data, points.shape[1],
                                                  p.space == PointSpace::sphere, p.seed);
  if (found >= kNarrowest && found <= kWidest) return found;
  throw Error(fmt::format("{}: {}; give a bandwidth", p.points.what(),
                          found == 0 ? "the points that were looked at coincide, or nearly"
                                     : fmt::format("the bandwidth would be {:g}", found)));
}

// ---- Figures.

/// What the figures need: some of the points, the largest clusters.
struct Sketch {
  std::size_t dim = 0, all = 0;
  bool on_sphere = false;
  std::vector<double> rows;  // points, then modes
  std::vector<std::uint32_t> labels;
  std::size_t points = 0;
  std::vector<std::size_t> sizes;
};

Sketch sketch_of(const Array& points, const MeanShift& found, bool on_sphere) {
  const std::size_t dim = points.shape[1], all = points.shape[0];
  Sketch sketch{.dim = dim, .all = all, .on_sphere = on_sphere, .sizes = found.sizes};
  const std::size_t stride = (all + kDrawnPoints - 1) / kDrawnPoints;
  const auto add = [&](const std::vector<double>& from, std::size_t i, std::uint32_t label) {
    const auto at = from.begin() + static_cast<std::ptrdiff_t>(i * dim);
    sketch.rows.insert(sketch.rows.end(), at, at + static_cast<std::ptrdiff_t>(dim));
    sketch.labels.push_back(label);
  };
  for (std::size_t i = 0; i < all; i += stride) add(points.data, i, found.labels[i]);
  sketch.points = sketch.labels.size();
  for (std::uint32_t m = 0; m < std::min(kDrawnModes, found.sizes.size()); ++m)
    add(found.modes, m, m);
  return sketch;
}

std::pair<std::string, std::string> axis_labels(std::size_t dim) {
  if (dim == 2) return {"x_{1}", "x_{2}"};
  if (dim == 3) return {"across the line of sight", "upwards"};
  return {"first principal axis", "second principal axis"};
}

PageFigure scatter_figure(const Sketch& sketch) {
  FlowRecord record;
  record.setup.space = sketch.on_sphere ? depth::Geometry::sphere : depth::Geometry::euclidean;
  record.tokens = sketch.labels.size();
  record.dim = sketch.dim;
  record.snapshots = {{flow::Time(0), sketch.rows, sketch.labels, {}}};
  const FlowView view = flow_view(record);
  Series points{.mark = Mark::points}, rims{.mark = Mark::points}, modes{.mark = Mark::points};
  points.title = "points, coloured by cluster";
  modes.title = "modes";
  modes.colour = report::kInk;
  rims.colour = report::kPaper;
  points.size = 2.2, rims.size = 6, modes.size = 4.4;
  for (std::size_t s = 0; s < view.shown.size(); ++s) {
    const double x = view.scene.xyz[0][3 * s] * view.scene.unit[0],
                 y = view.scene.xyz[0][3 * s + 1] * view.scene.unit[0];
    if (view.shown[s] >= sketch.points) {
      add_point(rims, x, y);
      add_point(modes, x, y);
      continue;
    }
    add_point(points, x, y);
    const std::uint32_t label = sketch.labels[view.shown[s]];
    points.colours.push_back(report::kPalette[label % report::kPalette.size()]);
  }
  const auto [across, up] = axis_labels(sketch.dim);
  std::string caption = fmt::format(
      "{} of {} points. Colour: the cluster of a point{}. Dark dots: modes, the maxima of the "
      "density that the ascents end at.",
      grouped(sketch.points), grouped(sketch.all),
      sketch.sizes.size() > report::kPalette.size() ? " (colours repeat)" : "");
  if (sketch.dim > 3) caption += " Clusters that overlap in this plane may be far apart in others.";
  PageFigure result = plot("clusters", "Points and modes",
                           {.x = {.label = across},
                            .y = {.label = up},
                            .series = {std::move(points), std::move(rims), std::move(modes)},
                            .equal_scale = true},
                           std::move(caption));
  result.figure.height = kSquare;
  return result;
}

PageFigure size_figure(const Sketch& sketch) {
  const std::size_t count = sketch.sizes.size();
  const bool many = count > kBars;
  Series sizes{.mark = many ? Mark::lines : Mark::boxes};
  for (std::size_t k = 0; k < count; ++k)
    add_point(sizes, static_cast<double>(k + 1), static_cast<double>(sketch.sizes[k]));
  report::Axis rank{.label = "cluster, the largest first"}, size{.label = "points in the cluster"};
  if (many) {
    rank.scale = size.scale = report::Scale::log;
  } else {
    rank.low = 0;
    rank.high = static_cast<double>(count + 1);
    rank.whole = true;
    size.low = 0;
  }
  PageFigure result =
      plot("sizes", "Sizes of the clusters", std::move(rank), std::move(size), {std::move(sizes)},
           "How many points each cluster has. A long tail of single points means outliers or a "
           "bandwidth that is too small.");
  result.figure.height = 0.9 * kSquare;  // as high as what stands beside
  return result;
}

// ---- Result.

Table mode_table(const MeanShift& found) {
  Table table{
      .name = "modes", .title = "Modes, the largest cluster first", .columns = {"size", "height"}};
  for (std::size_t m = 0; m < found.sizes.size(); ++m)
    table.rows.push_back({static_cast<double>(found.sizes[m]), found.heights[m]});
  return table;
}

Table coordinate_table(const MeanShift& found, std::size_t dim) {
  Table table{.name = "mode_coordinates", .title = "Coordinates of the modes", .only_data = true};
  for (std::size_t a = 0; a < dim; ++a) table.columns.push_back(fmt::format("x{}", a));
  for (auto at = found.modes.begin(); at != found.modes.end();
       at += static_cast<std::ptrdiff_t>(dim))
    table.rows.emplace_back(at, at + static_cast<std::ptrdiff_t>(dim));
  return table;
}

void fill(const Array& points, double bandwidth, const MeanShift& found, Json& values) {
  values["clusters"] = found.sizes.size();
  values["sizes"] = found.sizes;
  values["points"] = points.shape[0];
  values["dim"] = points.shape[1];
  values["bandwidth"] = number(bandwidth);
  values["beta"] = number(1 / (bandwidth * bandwidth));
  values["seeds"] = found.seeds.size();
  values["iterations"] = found.iterations;
  values["converged"] = found.converged();
}

std::vector<Tile> cluster_tiles(const Array& points, double bandwidth, const MeanShift& found) {
  std::vector<Tile> all;
  add_tile(all, "clusters", grouped(found.sizes.size()), "modes of the density");
  if (!found.sizes.empty())
    add_tile(all, "largest cluster", grouped(found.sizes.front()),
             fmt::format("of {} points", grouped(points.shape[0])));
  const auto single = std::ranges::count(found.sizes, std::size_t{1});
  add_tile(all, "single points", grouped(static_cast<std::uint64_t>(single)),
           "clusters of one point");
  add_tile(all, "bandwidth", rounded(bandwidth), "β = " + rounded(1 / (bandwidth * bandwidth)));
  add_tile(all, "points that climbed", grouped(found.seeds.size()),
           fmt::format("in {} iterations", grouped(found.iterations)));
  add_tile(all, "converged", yes(found.converged()),
           found.climbing == 0 ? "every path has arrived"
                               : fmt::format("{} paths have not arrived", grouped(found.climbing)));
  return all;
}

void add_remarks(const Array& points, const MeanShift& found, Result& answer) {
  const std::size_t all = points.shape[0];
  if (found.seeds.size() < all)
    answer.remarks.push_back(fmt::format(
        "{} of {} points climbed; the others are labelled by their nearest mode, and a cluster "
        "that none of the seeds is in is missing (seeds = all lets every point climb).",
        found.seeds.size(), all));
  const auto single = std::ranges::count(found.sizes, std::size_t{1});
  if (2 * static_cast<std::size_t>(single) > std::min(found.seeds.size(), all) && all > 1)
    answer.remarks.push_back("Most seeds are modes of their own; a larger bandwidth joins them.");
  if (found.modes.size() > kMostCoordinates)
    answer.remarks.push_back(
        "The coordinates of the modes are too many for this summary; modes-out stores them.");
  if (found.climbing > 0)
    answer.not_delivered = fmt::format(
        "{} of {} paths had not arrived after {} iterations, so their modes are not exact; give "
        "more iterations or a larger tolerance",
        found.climbing, found.seeds.size(), found.iterations);
}

void add_outputs(const ClusterSetup& p, std::size_t dim, const MeanShift& found, Result& answer) {
  answer.outputs.push_back(
      {"labels",
       p.labels_out,
       {{found.labels.size()}, std::vector<double>(found.labels.begin(), found.labels.end())}});
  answer.outputs.push_back({"centres", p.modes_out, {{found.sizes.size(), dim}, found.modes}});
}

std::string headline(const Array& points, double bandwidth, const MeanShift& found) {
  const std::size_t count = found.sizes.size();
  return fmt::format("{} points in dimension {} form {} cluster{} at bandwidth {:.4g}.",
                     grouped(points.shape[0]), points.shape[1], grouped(count),
                     count == 1 ? "" : "s", bandwidth);
}

}  // namespace

std::span<const std::string_view> names(PointSpace) {
  static constexpr std::string_view kNames[] = {"euclidean", "sphere"};
  return kNames;
}

ParameterList list(ClusterSetup& p) {
  ParameterList l;
  l.group("Points");
  l.add("points", p.points, "n x d, a row for each point").first();
  l.add("space", p.space, "R^d, or the unit sphere (rows are divided by their length)");
  l.group("Density");
  l.add("bandwidth", p.bandwidth,
        "h of the kernel exp(-|x - y|^2 / 2h^2); auto: a rule for n, d and the spread")
      .within(kNarrowest, kWidest);
  l.add("beta", p.beta, "instead of the bandwidth: beta = h^-2, the inverse temperature")
      .within(1e-200, 1e200)
      .otherwise("");
  l.group("Ascent");
  l.add("seeds", p.seeds, "points that climb, drawn at random; the others get the nearest mode")
      .within(1, 1e9)
      .otherwise("all");
  l.add("seed", p.seed, "seed of every random draw");
  l.add("tolerance", p.tolerance, "distance left to a mode (estimated), in bandwidths")
      .within(1e-14, 0.01);
  l.add("merge", p.merge, "ends closer than this, in bandwidths, are one mode").within(1e-6, 10);
  l.add("iterations", p.iterations, "at most so many steps").within(1, 1e9);
  l.group("Files");
  l.add("labels-out", p.labels_out, "the cluster of each point, from 0")
      .allow("name of a .npy file")
      .written();
  l.add("modes-out", p.modes_out, "the modes, clusters x d").allow("name of a .npy file").written();
  l.short_help({"space", "bandwidth", "beta", "seeds", "labels-out", "modes-out"});
  return l;
}

Result ask(const ClusterSetup& p, const Context& context) {
  check_setup(p);
  if (!p.points.given()) throw Error("points is empty; name a .npy or HDF5 file of n x d numbers");
  depth::MeanShiftOptions options{
      .on_sphere = p.space == PointSpace::sphere,
      .seeds = p.seeds.value_or(std::numeric_limits<std::size_t>::max()),
      .seed = p.seed,
      .tolerance = p.tolerance,
      .merge = p.merge,
      .iterations = p.iterations};
  const Array points = tokens_of(p.points.get(), p.points.what(), options.on_sphere);
  const std::size_t dim = points.shape[1];
  const double bandwidth = chosen_bandwidth(p, points);
  options.beta = 1 / (bandwidth * bandwidth);
  const double paths = static_cast<double>(std::min(options.seeds, points.shape[0]));
  options.watch = [&](std::size_t iteration, std::size_t climbing) {
    context.tell(1 - static_cast<double>(climbing) / paths,
                 fmt::format("step {}, {} paths climb", iteration, climbing));
    return !context.stopped();
  };
  const MeanShift found = depth::mean_shift(points.data, dim, options);
  Result answer{.title = "Clusters", .headline = headline(points, bandwidth, found)};
  fill(points, bandwidth, found, answer.values);
  answer.tiles = cluster_tiles(points, bandwidth, found);
  answer.tables.push_back(mode_table(found));
  if (found.modes.size() <= kMostCoordinates) answer.tables.push_back(coordinate_table(found, dim));
  add_remarks(points, found, answer);
  if (found.stopped) return answer;
  add_outputs(p, dim, found, answer);
  const auto sketch = std::make_shared<Sketch>(sketch_of(points, found, options.on_sphere));
  answer.draw = [sketch] { return std::vector{scatter_figure(*sketch), size_figure(*sketch)}; };
  return answer;
}

Command cluster_command() {
  return {.name = "cluster",
          .about = "Cluster your own points by the modes of their kernel density",
          .examples =
              "  attractor cluster points.npy --bandwidth 0.5 --labels-out labels.npy\n"
              "  attractor cluster vectors.h5:/x --space sphere --beta 40 --out clusters\n"
              "Theory: docs/theory/mean_shift.md.",
          .make = ask_request<ClusterSetup>};
}

}  // namespace attractor::lab
