// The same three keys with scores 1, 0.9, 0: token 1 is locally optimal too, and the start decides.
#include <fmt/format.h>

#include <cmath>

#include "attractor/commands/select/select_plane.hpp"
#include "papers/directions.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"
#include "papers/selection/training_pictures.hpp"

namespace attractor::papers::single_input_local {
namespace {

struct Start {
  double height;
  std::size_t token;
  double end[2];  // p after 200 steps in logarithmic arithmetic, of the script's 24-bit data
};
constexpr Start kStarts[] = {{0, 0, {-1.996263899779091, 19.703162868809454}},
                             {1, 0, {-2.4127025921789045, 20.840365147655206}},
                             {0.5, 0, {-2.27691044146261, 20.320748583822258}},
                             {-0.5, 0, {-1.1547037898910173, 18.041588503873868}},
                             {-1, 1, {19.870432626286988, 0.5875766211504997}},
                             {-1.5, 1, {19.968074812833333, -0.8710696791139675}}};
constexpr double kShortData = 2e-6;
/// Far out the basins meet where <p, x_0 - x_2> = 0.
constexpr double kEdge = 0.09966865249116, kFar = 300;
constexpr double kAngles[] = {-0.3, -0.15, 0, 0.08, 0.0986, 0.1008, 0.12, 0.3};

SelectRecord six_starts(const Effort& effort) {
  SelectSetup p;
  p.data.name = "example:single-local";
  p.starts = {{{0, 1, 0}, {0, 0.5, 0}, {0, -0.5, 0}, {0, -1, 0}, {0, -1.5, 0}}};
  p.steps = 1000;
  p.outputs = outputs_to(200, p.steps);
  p.local = true;
  p.basins = true;
  p.basins_side = effort.quick ? 21 : 61;
  return select(p, effort);
}

SelectRecord far_starts(const Effort& effort) {
  SelectSetup p;
  p.data.name = "example:single-local";
  for (double a : kAngles) p.starts.values.push_back({kFar * std::cos(a), kFar * std::sin(a), 0});
  p.steps = 12000;
  return select(p, effort);
}

std::vector<PageFigure> draw(const SelectRecord& r) {
  std::vector<PlanePath> paths = paths_of_starts(r, 200);
  for (std::size_t k = 0; k < paths.size(); ++k)
    paths[k].colour = kStarts[k].token == 0 ? report::kVermillion : report::kBlue;
  std::vector<PageFigure> figures{figure_of(
      "paths",
      {plane_panel("", paths,
                   {{{-0.099009901, 0.99009901}, report::kVermillion, "max margin of token 0"},
                    {{1, 0}, report::kBlue, "max margin of token 1, locally optimal"}})},
      "Paths of p from six starts (open dots), 200 normalised steps of 0.1, a dot every ten; "
      "colour: the token selected.",
      540)};
  if (auto basins = lab::basin_figure(r)) figures.push_back(std::move(*basins));
  return figures;
}

void add_far_checks(const SelectRecord& far, std::vector<Check>& checks) {
  for (std::size_t k = 0; k < far.others.size(); ++k)
    checks.push_back(between(
        fmt::format("token selected from |p| = 300 at {} rad, edge {:.4f}", kAngles[k], kEdge),
        static_cast<double>(far.others[k].svm.chosen[0]), kAngles[k] < kEdge ? 1 : 0,
        kAngles[k] < kEdge ? 1 : 0));
}

Finding run(const Effort& effort) {
  const SelectRecord r = six_starts(effort), far = far_starts(effort);
  Finding finding;
  if (effort.context.stopped() || r.others.size() < 5 || !r.local || !r.basins) return {};
  Table table{.name = "starts",
              .title = "Where six starts go",
              .columns = {"start_height", "token", "p_0_at_200", "p_1_at_200", "cosine_at_1000"}};
  for (std::size_t k = 0; k < 6; ++k) {
    const Start& s = kStarts[k];
    const auto p = weights_at(r, 200, k);
    const auto token = static_cast<double>(k == 0 ? r.selected[0] : r.others[k - 1].svm.chosen[0]);
    const double cosine = k == 0 ? r.cosine : r.others[k - 1].cosine;
    table.rows.push_back({s.height, token, p[0], p[1], cosine});
    const auto expected = static_cast<double>(s.token);
    finding.checks.push_back(
        between(fmt::format("token selected from (0, {})", s.height), token, expected, expected));
    finding.checks.push_back(
        at_most(fmt::format("distance to the recorded p at step 200 from (0, {})", s.height),
                apart(p, s.end), kShortData));
  }
  finding.checks.push_back(near("cosine to the local direction at step 1000 from (0, -1)",
                                r.others[3].cosine, 0.99996, 5e-6));
  finding.checks.push_back(
      between("locally optimal choices", static_cast<double>(r.local->found.size()), 2, 2));
  add_far_checks(far, finding.checks);
  std::size_t local = 0, strangers = 0;
  for (const training::BasinStart& s : r.basins->starts) {
    if (s.limit >= r.basins->limits.size() || !r.basins->limits[s.limit].locally_optimal)
      ++strangers;
    else if (!r.basins->limits[s.limit].globally_optimal)
      ++local;
  }
  finding.checks.push_back(between("starts of the map that do not end in a locally optimal choice",
                                   static_cast<double>(strangers), 0, 0));
  const double share = static_cast<double>(local) / static_cast<double>(r.basins->starts.size());
  finding.answer.headline = fmt::format(
      "Four of the six starts select token 0, two the local solution, token 1. Of a map of {} "
      "starts {:.1f} % "
      "end with token 1, none elsewhere.",
      r.basins->starts.size(), 100 * share);
  finding.answer.tables = {table};
  finding.answer.draw = [=] { return draw(r); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "single-input-local",
          .title = "One input: two basins",
          .source = "arXiv 2306.13596, Figure 1(b)",
          .shows =
              "Scores 1, 0.9, 0: the tight neighbour of token 1 has a smaller score, so its "
              "max-margin direction attracts as well; of six starts the two lowest end there, "
              "the others with the best token.",
          .run = run};
}

}  // namespace attractor::papers::single_input_local
