// The head v and the prompt p trained together: v goes to the label margin of the selected tokens,
// p to the token margin, relaxed for inputs that are no support vectors of v.
#include <fmt/format.h>

#include <cmath>

#include "attractor/base/numbers.hpp"
#include "papers/directions.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"
#include "papers/selection/training_pictures.hpp"

namespace attractor::papers::joint_training {
namespace {

/// After 1000 normalised steps, logarithmic arithmetic.
struct Case {
  const char *name, *words;
  double p[2], v[2];
  double all[2], cosine_all;  // max-margin solution of all inputs
};
constexpr Case kCases[] = {{"joint-tight",
                            "every input supports v",
                            {95.29300489736158, 23.48015628797918},
                            {0.221917896165202, 99.78082353877197},
                            {4.0 / 3, 1.0 / 3},
                            0.999994},
                           {"joint-relaxed",
                            "input 2 does not",
                            {98.11236705592452, 0.3013021738974801},
                            {6.720288311692565e-15, 99.81313988972491},
                            {1.25, 0.25},
                            0.981}};
constexpr double kRounding = 1e-9;

SelectRecord descend(const Case& c, lab::Optimizer optimizer, const Effort& effort) {
  SelectSetup p;
  p.data.name = fmt::format("example:{}", c.name);
  p.train = training::Train::v_p;
  p.optimizer = optimizer;
  p.steps = 1000;
  p.epsilon = 1e-19, p.epsilon_v = 1e-9;  // the authors'
  p.outputs = outputs_to(200, p.steps);
  return select(p, effort);
}

/// p comes first in the trajectory, then v.
std::vector<double> block_at(const SelectRecord& r, const char* name,
                             std::span<const double> weights) {
  for (const training::Block& b : r.blocks)
    if (b.name == name) return {b.of(weights).begin(), b.of(weights).end()};
  return {};
}

std::size_t begin_of(const SelectRecord& r, const char* name) {
  for (const training::Block& b : r.blocks)
    if (b.name == name) return b.begin;
  return 0;
}

/// Mean over inputs of 1 / (1 + e^{-Y f}).
report::Series label_probability(const SelectRecord& r, report::Colour colour, std::string title) {
  const training::Objective objective(r.problem, training::Loss::logistic, training::Train::v_p);
  training::Evaluation e;
  report::Series series = line(std::move(title), colour, 1.6, true);
  for (std::size_t k = 0; k < r.series.size() && r.series[k].steps <= 200; ++k) {
    objective.evaluate(weights_of(r, k), e);
    double mean = 0;
    for (std::size_t i = 0; i < 3; ++i)
      mean += 1 / (1 + std::exp(-r.problem.labels[i] * e.output[i])) / 3;
    add_point(series, r.series[k].steps, mean);
  }
  return series;
}

std::vector<PageFigure> draw(const SelectRecord& tight, const SelectRecord& relaxed) {
  std::vector<report::Panel> panels;
  report::Panel weights{.title = "probabilities",
                        .x = {.label = "step", .low = 0, .high = 200},
                        .y = {.label = "mean over inputs", .low = 0, .high = 1.02}};
  for (const SelectRecord* r : {&tight, &relaxed}) {
    PlanePath p = plane_path(*r, r->trajectory, 4, begin_of(*r, "p"), 200);
    PlanePath v = plane_path(*r, r->trajectory, 4, begin_of(*r, "v"), 200);
    p.title = "p", v.title = "v", v.colour = report::kBlue;
    std::vector<PlaneRay> rays{{r->label->svm.p, report::kBlue, "label margin"},
                               {r->svm->solution, r->relaxed ? report::kGrey : report::kVermillion,
                                "token margin, all inputs"}};
    if (r->relaxed)
      rays.push_back({r->relaxed->solution, report::kVermillion, "token margin, input 2 relaxed"});
    panels.push_back(plane_panel(
        r->relaxed ? "input 2 not a support vector" : "all inputs support v", {p, v}, rays));
    const report::Colour colour = r->relaxed ? report::kPurple : report::kGreen;
    const std::string words = r->relaxed ? "relaxed" : "tight";
    report::Series softmax =
        against_steps(*r, &SelectMoment::softmax_mean, colour, "softmax, " + words);
    weights.series.push_back(std::move(softmax));
    weights.series.push_back(label_probability(*r, colour, "label, " + words));
  }
  PageFigure planes =
      figure_of("paths", std::move(panels),
                "Paths of p and v, 200 normalised steps of 0.1 from (0, −1) and (−1, 0), with "
                "the directions that theory gives them (dashed).",
                480);
  return {std::move(planes),
          figure_of("probabilities", {std::move(weights)},
                    "Softmax weight of the selected tokens and probability of the right label.")};
}

void compare(const Case& c, const SelectRecord& r, const SelectRecord& published,
             Finding& finding) {
  const std::string name = c.name;
  const auto p = block_at(r, "p", r.weights), v = block_at(r, "v", r.weights);
  std::vector<Check>& checks = finding.checks;
  checks.push_back(at_most(name + ": distance of p to the recorded one at step 1000", apart(p, c.p),
                           1000 * kRounding));
  checks.push_back(at_most(name + ": distance of v to the recorded one at step 1000", apart(v, c.v),
                           1000 * kRounding));
  checks.push_back(at_most(name + ": distance of the token margin to the exact one",
                           apart(r.svm->solution, c.all), 1e-12));
  checks.push_back(at_least(name + ": cosine of v to the label margin", r.head_cosine, 0.999997));
  checks.push_back(near(name + ": cosine of p to the token margin of all inputs", r.cosine,
                        c.cosine_all, c.cosine_all > 0.99 ? 1e-6 : 1e-3));
  const bool relaxed = c.cosine_all < 0.99;
  checks.push_back(
      between(name + ": inputs relaxed", r.relaxed ? 1 : 0, relaxed ? 1 : 0, relaxed ? 1 : 0));
  if (relaxed)
    checks.push_back(
        near(name + ": cosine of p to the relaxed margin", r.relaxed_cosine, 0.999995, 1e-6));
  for (const SelectRecord* run : {&r, &published}) {
    const auto end_p = block_at(*run, "p", run->weights), end_v = block_at(*run, "v", run->weights);
    finding.answer.tables[0].labels.push_back(name +
                                              (run == &r ? ", g / |g|" : ", authors’ update"));
    finding.answer.tables[0].rows.push_back({end_p[0], end_p[1], end_v[0], end_v[1], run->cosine,
                                             run->relaxed ? run->relaxed_cosine : kNan,
                                             run->head_cosine});
  }
}

Finding run(const Effort& effort) {
  Finding finding;
  finding.answer.tables = {
      {.name = "ends",
       .title = "After 1000 steps",
       .columns = {"p_0", "p_1", "v_0", "v_1", "cosine_all", "cosine_relaxed", "cosine_label"},
       .label_column = "run"}};
  std::vector<SelectRecord> exact;
  for (const Case& c : kCases) {
    exact.push_back(descend(c, lab::Optimizer::ngd, effort));
    const SelectRecord published = descend(c, lab::Optimizer::published, effort);
    if (effort.context.stopped() || !exact.back().label || !exact.back().svm) return {};
    compare(c, exact.back(), published, finding);
  }
  finding.answer.headline = fmt::format(
      "With all inputs on the label margin p goes to the token margin (cosine {:.6f} after 1000 "
      "steps); with input 2 off it p goes to the relaxed one ({:.6f}; to that of all inputs "
      "{:.3f}).",
      exact[0].cosine, exact[1].relaxed_cosine, exact[1].cosine);
  finding.answer.draw = [=] { return draw(exact[0], exact[1]); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "joint-training",
          .title = "Head and prompt together: tight and relaxed",
          .source = "arXiv 2306.13596, Figure 3",
          .shows =
              "Training v and p together, v converges in direction to the label margin of the "
              "selected tokens, and p to the token margin; inputs that are no support vectors "
              "of v are relaxed, their margin may be 0.",
          .run = run};
}

}  // namespace attractor::papers::joint_training
