// Three inputs of seven tokens, the authors' keys of seed 0: six starts, one max-margin direction.
#include <fmt/format.h>

#include <cmath>

#include "attractor/commands/select/select_plane.hpp"
#include "papers/directions.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"
#include "papers/selection/published_inputs.hpp"
#include "papers/selection/training_pictures.hpp"

namespace attractor::papers::multi_input {
namespace {

struct Start {
  double x;
  double normalised[2];  // p after 200 normalised steps, logarithmic arithmetic
  double plain[2];       // p after 1000 plain steps of 1
};
constexpr Start kStarts[] = {
    {1, {20.594646261724616, 3.633575541497821}, {5.250814934149879, 0.19209813684168872}},
    {0.5, {20.10030000079705, 3.503262501301973}, {5.245482864627916, 0.16619411537192944}},
    {0, {19.602900605801143, 3.3712616228902665}, {5.238052059692963, 0.13651898963040698}},
    {-0.5, {19.102252078096846, 3.2376252808786172}, {5.224625784598367, 0.10333889746785176}},
    {-1, {18.598291428697237, 3.1024442506328747}, {5.196856165105045, 0.06592778483058895}},
    {-1.5, {18.091113780806996, 2.965850221169038}, {5.134609259153544, 0.021260502498885333}}};
/// In rational arithmetic.
constexpr double kMargin[] = {0.8446263935366952, 0.17112231016114665};
constexpr double kRounding = 1e-9;

SelectRecord from(double x, lab::Optimizer optimizer, double step, std::uint64_t steps,
                  const Effort& effort) {
  training::Problem problem = published_multi();
  problem.prompt = {x, 0, 0};
  SelectSetup p;
  p.optimizer = optimizer;
  p.step = step;
  p.steps = steps;
  p.outputs = outputs_to(1000, steps);
  return train(p, std::move(problem), effort);
}

std::vector<PageFigure> draw(const std::vector<SelectRecord>& runs) {
  std::vector<PageFigure> figures;
  SelectRecord keys = runs[2];  // its keys and margin lines only
  const training::Objective objective(keys.problem, training::Loss::logistic, {});
  keys.trajectory.clear();
  const auto plane = lab::plane_figure(keys, objective);
  std::vector<PlanePath> paths;
  for (const SelectRecord& r : runs) {
    paths.push_back(plane_path(r, r.trajectory, 3, 0, 200));
    paths.back().colour = report::kGreen;
  }
  report::Panel panel = plane_panel(
      "paths of p", paths,
      {{{kMargin[0], kMargin[1]}, report::kVermillion, "max-margin direction of tokens 0 0 0"}});
  std::vector<report::Panel> panels;
  if (plane) panels = plane->figure.panels;
  panels.push_back(std::move(panel));
  figures.push_back(figure_of(
      "paths", std::move(panels),
      "Left: keys, one colour for each input, best tokens in rings; thin lines: where the other "
      "tokens of an input may stand at most; dashed: the max-margin direction. Right: six starts "
      "(open dots), 200 normalised steps of 0.1, a dot every ten.",
      500));
  return figures;
}

Finding run(const Effort& effort) {
  Finding finding;
  std::vector<SelectRecord> runs;
  Table table{.name = "starts",
              .title = "Six starts (x, 0)",
              .columns = {"x", "p_0_at_200", "p_1_at_200", "cosine_1000", "cosine_20000",
                          "plain_cosine_1000"}};
  for (const Start& s : kStarts) {
    runs.push_back(from(s.x, lab::Optimizer::ngd, 0.1, 20000, effort));
    const SelectRecord plain = from(s.x, lab::Optimizer::gd, 1, 1000, effort);
    if (effort.context.stopped()) return {};
    const SelectRecord& r = runs.back();
    const auto p = weights_at(r, 200);
    table.rows.push_back({s.x, p[0], p[1], moment_at(r, 1000).cosine, r.cosine, plain.cosine});
    finding.checks.push_back(
        at_most(fmt::format("normalised: distance to the recorded p(200), start ({}, 0)", s.x),
                apart(p, s.normalised), kRounding * 200));
    finding.checks.push_back(
        at_most(fmt::format("plain: distance to the recorded p(1000), start ({}, 0)", s.x),
                apart(plain.weights, s.plain), kRounding));
    finding.checks.push_back(at_least(fmt::format("cosine after 20000 steps, start ({}, 0)", s.x),
                                      r.svm->globally_optimal ? r.cosine : -1, 0.999999));
  }
  const SelectRecord& zero = runs[2];
  finding.checks.push_back(at_most("distance of the max-margin solution to the rational one",
                                   apart(zero.svm->solution, kMargin), 1e-12));
  finding.checks.push_back(at_most("its duality gap", zero.svm->relative_gap, 1e-12));
  finding.checks.push_back(
      near("cosine at step 1000 from 0", moment_at(zero, 1000).cosine, 0.99978, 5e-6));
  finding.answer.headline = fmt::format(
      "All six starts select the best token of each input; cosine to the max-margin direction "
      "{:.5f} after 1000 and 1 − {:.1e} after 20 000 normalised steps; plain descent has {:.3f} "
      "after 1000.",
      moment_at(zero, 1000).cosine, 1 - zero.cosine, table.rows[2].back());
  finding.answer.tables = {table};
  finding.answer.draw = [=] { return draw(runs); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "multi-input",
          .title = "Three inputs: one direction for all",
          .source = "arXiv 2306.13596, Figure 1(c)",
          .shows =
              "Three inputs of seven tokens around common centres, score 1 for the first and "
              "0.5 for the others: from six starts p turns to the max-margin direction that "
              "separates the best token of every input.",
          .run = run};
}

}  // namespace attractor::papers::multi_input
