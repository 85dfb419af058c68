// Mirror descent with potential |w|_q^q / q goes to the max-margin solution of least l_q norm: one
// input, where that solution has a closed form.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "attractor/space/space.hpp"
#include "papers/directions.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"

namespace attractor::papers::mirror_descent {
namespace {

constexpr std::array<double, 4> kPowers = {1.5, 2, 3, 4};

/// Only <p, a> >= 1 with a = k_0 - k_2 = (-0.1, 1) is tight: p_b = sign(a_b) |a_b|^{r-1} / |a|_r^r,
/// 1/q + 1/r = 1.
std::array<double, 2> closed_form(double q) {
  const double r = q / (q - 1), power = std::pow(0.1, r) + 1;
  return {-std::pow(0.1, r - 1) / power, 1 / power};
}

double closed_norm(double q) {
  const double r = q / (q - 1);
  return std::pow(std::pow(0.1, r) + 1, -1 / r);
}

SelectRecord descend(double q, double log10_time, const Effort& effort) {
  training::Problem problem = example_named("single-local");
  problem.prompt = {0.01, 0.01, 0};
  SelectSetup p;
  p.mirror = q;
  p.optimizer = lab::Optimizer::flow;
  p.log10_time = log10_time;
  return train(p, std::move(problem), effort);
}

/// How the direction of p approaches the solution, and where it comes from.
void draw_way(const SelectRecord& r, double q, report::Colour colour, report::Panel& panel,
              report::Panel& plane) {
  const std::array<double, 2> exact = closed_form(q);
  const double size = std::hypot(exact[0], exact[1]);
  const std::string name = fmt::format("q = {}", q);
  report::Series series = line(name, colour), way = series;
  for (std::size_t m = 1; m < r.series.size(); ++m) {
    const auto at = weights_of(r, m).first(2);
    const double missing = 1 - cosine(at, exact);
    if (missing > 1e-14) add_point(series, r.series[m].log10_time, missing);
    if (norm(at) > 0.02) add_point(way, at[0] / norm(at), at[1] / norm(at));
  }
  panel.series.push_back(std::move(series));
  plane.series.push_back(std::move(way));
  plane.series.push_back({.mark = report::Mark::points,
                          .x = {exact[0] / size},
                          .y = {exact[1] / size},
                          .colour = colour,
                          .size = 5});
}

void compare(const SelectRecord& r, const SelectRecord& half, double q, Finding& finding,
             Table& table) {
  const std::array<double, 2> exact = closed_form(q), euclid = closed_form(2);
  const double span = (r.time.log() - half.time.log());
  const double growth =
      (norm(r.attention) - norm(half.attention)) / span / std::hypot(exact[0], exact[1]);
  // theta grows like (ln t)^{q-1}, so p = p^mm (ln t - (q - 2) ln ln t + ...).
  const double expected = 1 - (q - 2) * std::numbers::ln2 / span;
  const std::string name = fmt::format("q = {}", q);
  table.rows.push_back(
      {q, exact[0], exact[1], r.svm->norm, r.cosine, cosine(exact, euclid), growth, expected});
  std::vector<Check>& checks = finding.checks;
  checks.push_back(
      near(name + ": least l_q norm against the closed form", r.svm->norm, closed_norm(q), 1e-9));
  checks.push_back(at_most(name + ": duality gap", r.svm->relative_gap, 1e-10));
  checks.push_back(at_least(name + ": cosine of p to the closed form",
                            cosine(std::span(r.attention).first(2), exact), 0.9999));
  checks.push_back(
      near(name + ": d|p| / d ln t over the norm of the solution", growth, expected, 1e-4));
}

Finding run(const Effort& effort) {
  Finding finding;
  const double late = effort.quick ? 1000 : 2000;
  Table table{.name = "powers",
              .title = "Gradient flow of mirror descent, one input of three tokens",
              .columns = {"q", "p_0_exact", "p_1_exact", "norm", "cosine", "cosine_to_q_2",
                          "growth_over_norm", "theory"}};
  report::Panel panel{
      .x = {.label = "time t", .scale = report::Scale::power},
      .y = {.label = "1 − cosine to its l_{q} solution", .scale = report::Scale::log}};
  report::Panel plane{.x = {.label = "coordinate 0 over norm"},
                      .y = {.label = "coordinate 1 over norm", .high = 1.05}};
  for (std::size_t k = 0; k < kPowers.size(); ++k) {
    const SelectRecord r = descend(kPowers[k], late, effort);
    const SelectRecord half = descend(kPowers[k], late / 2, effort);
    if (effort.context.stopped()) return {};
    compare(r, half, kPowers[k], finding, table);
    draw_way(r, kPowers[k], report::kPalette[k], panel, plane);
  }
  finding.answer.headline = fmt::format(
      "Four potentials, four limits: the solution of q = 4 is {:.3f} rad from that of q = 2, and "
      "the flows end {:.1e}, {:.1e}, {:.1e} and {:.1e} short of cosine 1 at t = 10^{{{}}}.",
      std::acos(table.rows[3][5]), 1 - table.rows[0][4], 1 - table.rows[1][4], 1 - table.rows[2][4],
      1 - table.rows[3][4], late);
  finding.answer.tables = {table};
  finding.answer.draw = [=] {
    return std::vector<PageFigure>{
        figure_of("mirror", {panel, plane},
                  "Left: how the direction of p approaches the max-margin solution of its own "
                  "norm. Right: the direction on its way, with the closed form as a dot.")};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "mirror-descent",
          .title = "Mirror descent finds other margins",
          .source = "arXiv 2410.14581",
          .shows =
              "Mirror descent with an l_q potential converges in direction to the max-margin "
              "solution of least l_q norm instead of the Euclidean one.",
          .run = run};
}

}  // namespace attractor::papers::mirror_descent
