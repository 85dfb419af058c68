#include "papers/selection/training_pictures.hpp"

#include <algorithm>

#include "attractor/space/space.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"

namespace attractor::papers {

using report::Series;

PlanePath plane_path(const SelectRecord& r, std::span<const double> trajectory, std::size_t stride,
                     std::size_t begin, std::uint64_t last_step) {
  PlanePath path;
  for (std::size_t k = 0; k < r.series.size(); ++k) {
    if (r.series[k].steps > static_cast<double>(last_step)) break;
    path.x.push_back(trajectory[k * stride + begin]);
    path.y.push_back(trajectory[k * stride + begin + 1]);
  }
  return path;
}

std::vector<PlanePath> paths_of_starts(const SelectRecord& r, std::uint64_t last_step) {
  std::vector<PlanePath> paths{plane_path(r, r.trajectory, 3, 0, last_step)};
  for (const lab::OtherStart& other : r.others)
    paths.push_back(plane_path(r, other.trajectory, 3, 0, last_step));
  return paths;
}

report::Panel plane_panel(std::string title, const std::vector<PlanePath>& paths,
                          const std::vector<PlaneRay>& rays) {
  report::Panel panel{.title = std::move(title),
                      .x = {.label = "coordinate 0"},
                      .y = {.label = "coordinate 1"},
                      .equal_scale = true};
  double low[2] = {0, 0}, high[2] = {0, 0};
  for (const PlanePath& path : paths)
    for (std::size_t c : {std::size_t{0}, std::size_t{1}}) {
      const std::vector<double>& at = c == 0 ? path.x : path.y;
      low[c] = std::min(low[c], *std::min_element(at.begin(), at.end()));
      high[c] = std::max(high[c], *std::max_element(at.begin(), at.end()));
    }
  const double half = 0.54 * std::max(high[0] - low[0], high[1] - low[1]);
  for (std::size_t c : {std::size_t{0}, std::size_t{1}}) {
    report::Axis& axis = c == 0 ? panel.x : panel.y;
    axis.low = 0.5 * (low[c] + high[c]) - half;
    axis.high = 0.5 * (low[c] + high[c]) + half;
  }
  for (const PlaneRay& ray : rays) {
    const double reach = 6 * half / norm(ray.to);
    panel.series.push_back(
        line(ray.title, ray.colour, {0, ray.to[0] * reach}, {0, ray.to[1] * reach}, true));
  }
  for (const PlanePath& path : paths) {
    panel.series.push_back(line(path.title, path.colour, path.x, path.y));
    panel.series.back().width = paths.size() > 2 ? 1.2 : 2.2;
    Series tens = dots("", path.colour, paths.size() > 2 ? 1.8 : 2.6),
           start = dots("", path.colour, 5), hole = dots("", 0xffffff, 3);
    for (std::size_t k = 0; k < path.x.size(); k += 10) add_point(tens, path.x[k], path.y[k]);
    for (Series* s : {&start, &hole}) add_point(*s, path.x[0], path.y[0]);
    panel.series.insert(panel.series.end(), {std::move(tens), std::move(start), std::move(hole)});
  }
  return panel;
}

Series against_steps(const SelectRecord& r, double SelectMoment::*column, report::Colour colour,
                     std::string title) {
  Series series = line(std::move(title), colour);
  for (const SelectMoment& m : r.series)
    if (m.steps >= 1) add_point(series, m.steps, m.*column);
  return series;
}

}  // namespace attractor::papers
