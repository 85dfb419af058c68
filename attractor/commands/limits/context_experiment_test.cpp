#include "attractor/commands/limits/context_experiment.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/commands/limits/context_figures.hpp"
#include "attractor/drawing/figure_file.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/result_table.hpp"

namespace attractor::lab {
namespace {

Result answer(const ContextSetup& parameters) { return ask(parameters, {}); }

double cell(const Table& t, const std::string& label, const std::string& column) {
  const auto row = std::find(t.labels.begin(), t.labels.end(), label) - t.labels.begin();
  const auto place = std::find(t.columns.begin(), t.columns.end(), column) - t.columns.begin();
  return t.rows.at(static_cast<std::size_t>(row)).at(static_cast<std::size_t>(place));
}

std::vector<std::string> figure_ids(const Result& a) {
  std::vector<std::string> ids;
  for (const PageFigure& f : a.draw()) {
    ids.push_back(f.figure.id);
    EXPECT_FALSE(f.caption.empty());
    for (const report::Panel& panel : f.figure.panels) {
      EXPECT_FALSE(panel.x.label.empty());
      EXPECT_FALSE(panel.y.label.empty());
    }
  }
  return ids;
}

TEST(ContextExperiment, OneLayer) {
  const Result a = answer({.tokens = 1e6, .rho = 0.5, .gamma = 2.5});
  EXPECT_EQ(a.values["critical_gamma"], 2.0);
  EXPECT_NEAR(a.values["self_weight"].get<double>(), 0.9693465996821, 1e-12);
  EXPECT_NEAR(a.values["output_cosine"].get<double>(), 0.5155615249719, 1e-12);
  EXPECT_NEAR(a.values["angle_ratio"].get<double>(), 0.9827500752464, 1e-12);
  EXPECT_NEAR(a.values["normalised_gain"].get<double>(), 0.9843154728319, 1e-12);
  EXPECT_NEAR(a.values["backward_norm"].get<double>(), 0.9396335469655, 1e-12);
  EXPECT_NEAR(a.values["width_gamma"].get<double>(), 0.6361616729595, 1e-12);
  EXPECT_EQ(a.values["phase"], "identity");
  EXPECT_EQ(a.values["limit_output_cosine"], 0.5);
  EXPECT_TRUE(a.remarks.empty());
  EXPECT_EQ(figure_ids(a), (std::vector<std::string>{"cosine", "weight"}));
  const Table& limits = table(a, "limits");
  EXPECT_EQ(cell(limits, "collapse", "output_cosine"), 1);
  EXPECT_DOUBLE_EQ(cell(limits, "critical", "output_cosine"), 0.8);
  EXPECT_EQ(cell(limits, "identity", "output_cosine"), 0.5);
}

TEST(ContextExperiment, HugeContextAndResidual) {
  const Result a = answer({.tokens = 1e30, .rho = 0.5, .gamma = 2, .residual = 1});
  EXPECT_NEAR(a.values["output_cosine"].get<double>(), 0.64, 1e-12);
  EXPECT_EQ(a.values["phase"], "critical");
  EXPECT_NEAR(cell(table(a, "limits"), "critical", "output_cosine"), 0.64, 1e-15);
}

TEST(ContextExperiment, OrthogonalTokensAreExplained) {
  const Result a = answer({.tokens = 1e30, .rho = 0, .gamma = 0.5});
  EXPECT_EQ(a.values["phase"], "critical");
  EXPECT_NEAR(a.values["output_cosine"].get<double>(), 0.5, 1e-12);
  EXPECT_EQ(a.values["limit_output_cosine"], 0.5);
  EXPECT_EQ(a.remarks.size(), 1U);
  EXPECT_EQ(cell(table(a, "limits"), "critical", "self_weight"), 0);
}

TEST(ContextExperiment, BackwardNormNeedsRoomForTheTokens) {
  EXPECT_TRUE(answer({.tokens = 1000, .dim = 999}).values["backward_norm"].is_null());
  EXPECT_EQ(answer({.tokens = 1000, .dim = 999}).remarks.size(), 1U);
  EXPECT_EQ(answer({.tokens = 1000, .dim = 1000}).values["backward_norm"],
            answer({.tokens = 1000}).values["backward_norm"]);
}

TEST(ContextExperiment, Layers) {
  const Result a = answer({.tokens = 1e6, .rho = 0.5, .gamma = 2.5, .layers = 8});
  EXPECT_EQ(a.values["collapse_layer"], 5);
  EXPECT_EQ(a.values["runaway_layer"], 5);
  EXPECT_NEAR(table(a, "layers").rows[3][4], 0.1274305336504, 1e-12);
  EXPECT_EQ(figure_ids(a), (std::vector<std::string>{"cosine", "weight", "layers", "runaway"}));
  const Result safe = answer({.tokens = 1e6, .rho = 0.5, .gamma = 8, .layers = 5});
  EXPECT_TRUE(safe.values["collapse_layer"].is_null());
}

TEST(ContextExperiment, Simulation) {
  const Result a =
      answer({.tokens = 1000, .dim = 100, .simulate = true, .replicates = 16, .seed = 3});
  const Table& t = table(a, "simulation");
  for (const std::string& quantity : t.labels) {
    EXPECT_LT(std::abs(cell(t, quantity, "z")), 4) << quantity;
    EXPECT_GT(cell(t, quantity, "standard_error"), 0) << quantity;
  }
  EXPECT_EQ(a.values["simulated_self_weight"], cell(t, "self_weight", "mean"));
  EXPECT_EQ(cell(t, "self_weight", "closed_form"), a.values["self_weight"]);
  EXPECT_FALSE(a.values["backward_norm"].is_null());
  const Result exact = answer({.tokens = 1e5, .simulate = true, .exact = true});
  EXPECT_NEAR(cell(table(exact, "simulation"), "output_cosine", "difference"), 0, 1e-10);
}

TEST(ContextExperiment, FewEffectiveTokensAreReported) {
  const Result a = answer({.tokens = 1000, .gamma = 6, .dim = 16, .simulate = true});
  EXPECT_EQ(a.remarks.size(), 2U);
}

TEST(ContextExperiment, Interrupted) {
  const Result a = ask({.tokens = 1e5, .simulate = true}, {.stop = [] { return true; }});
  EXPECT_FALSE(a.values.contains("simulated_self_weight"));
}

TEST(ContextExperiment, Map) {
  const Result a = answer({.tokens = 1e12, .map = true});
  const Table& t = table(a, "map");
  const ContextMap grid = context_map(1e12);
  EXPECT_TRUE(t.only_data);
  EXPECT_EQ(grid.tokens, (std::vector<double>{1e12, 1e2, 1e4, 1e8}));
  EXPECT_EQ(t.rows.size(), grid.tokens.size() * grid.rho.size() * grid.gamma.size());
  // Far from the critical curve the phases are pure at n = 1e12.
  for (const std::vector<double>& row : t.rows)
    if (row[0] == 1e12 && row[1] >= 0.1) {
      const double log_odds = (row[2] * (1 - row[1]) - 1) * std::log(1e12);
      if (log_odds < -8) {
        EXPECT_LT(row[5], 0.01) << row[1] << " " << row[2];
      }
      if (log_odds > 8) {
        EXPECT_GT(row[5], 0.99) << row[1] << " " << row[2];
      }
    }
  EXPECT_EQ(context_map(1e4).tokens.size(), 3U);
  EXPECT_EQ(figure_ids(a).back(), "map_angle");
  const PageFigure figure = a.draw().back();
  ASSERT_EQ(figure.figure.panels.size(), 4U);
  const report::Heat& heat = *figure.figure.panels[0].heat;
  EXPECT_EQ(heat.value.size(), heat.x.size() * heat.y.size());
  // value[iy * nx + ix]: rho = 0.5, gamma = 2
  const std::size_t ix = 25, iy = 16;
  EXPECT_DOUBLE_EQ(heat.x[ix], 0.5);
  EXPECT_EQ(heat.y[iy], 2);
  EXPECT_NEAR(heat.value[iy * heat.x.size() + ix], 0.6144982940970, 1e-11);
}

TEST(ContextExperiment, Advice) {
  const Result a = answer({.tokens = 131072, .rho = 0.6, .advise = true});
  EXPECT_NEAR(a.values["multiplier"].get<double>(), 17.0 / 13, 1e-14);
  EXPECT_NEAR(a.values["critical_gamma"].get<double>(), 2.5, 1e-14);
  const Table& t = table(a, "recipes");
  EXPECT_NEAR(cell(t, "constant", "self_weight"), 1 / (1 + 131071 / 8192.0), 1e-12);
  EXPECT_NEAR(cell(t, "YaRN", "multiplier"), std::pow(1 + 0.1 * std::log(16.0), 2), 1e-14);
  EXPECT_EQ(a.values["phases"][1], "collapse");
  EXPECT_EQ(a.values["phases"][4], "identity");
  EXPECT_NE(a.headline.find("multiply the attention logits by 1.308"), std::string::npos);
  EXPECT_EQ(figure_ids(a), (std::vector<std::string>{"recipes", "recipe_weights"}));
}

// gamma = beta / ln n stays as it was under ln n / ln n_0; rho decides only where critical lies.
TEST(ContextExperiment, AdviceHoldsWhateverRhoIs) {
  for (const double rho : {0.0, 0.3, 0.6, 0.95}) {
    const Result a = answer({.tokens = 131072, .rho = rho, .advise = true});
    EXPECT_NEAR(a.values["multiplier"].get<double>(), 17.0 / 13, 1e-13) << rho;
    ASSERT_EQ(a.remarks.size(), 2U);
    EXPECT_SAYS(a.remarks[1], "ln n / ln n0 = 1.308");
    EXPECT_SAYS(a.remarks[1], "whatever rho is");
    EXPECT_SAYS(a.remarks[1], "is an assumption to check");
  }
}

TEST(ContextExperiment, AdviceChecksTheModelAsTrained) {
  const auto phase = [](double beta) {
    const Result a = answer({.tokens = 131072, .rho = 0.6, .advise = true, .trained_beta = beta});
    const double weight = 1 / (1 + 8191 * std::exp(-0.4 * beta));  // the logistic function itself
    EXPECT_NEAR(a.values["trained_self_weight"].get<double>(), weight, 1e-12);
    EXPECT_NEAR(a.values["trained_gamma"].get<double>(), beta / std::log(8192.0), 1e-13);
    EXPECT_EQ(a.remarks.size(), 3U);
    return a.values["trained_phase"].get<std::string>();
  };
  EXPECT_EQ(phase(11.3), "collapse");  // RMS QK-norm with unit gains and d_head = 128
  EXPECT_EQ(phase(22.5), "critical");
  EXPECT_EQ(phase(40), "identity");
  const Result plain = answer({.tokens = 131072, .rho = 0.6, .advise = true});
  EXPECT_FALSE(plain.values.contains("trained_phase"));
  ASSERT_EQ(plain.next.size(), 1U);
  EXPECT_EQ(plain.next[0].words(), "attractor context --tokens 8192 --rho 0.6 --gamma 2.5");
  EXPECT_SAYS(refusal([] { answer({.trained_beta = 3}); }), "trained-beta has no effect without");
}

TEST(ContextExperiment, FiguresAreDrawn) {
  for (const PageFigure& f : answer({.tokens = 1e5, .rho = 0.2, .advise = true}).draw())
    EXPECT_NE(report::svg(f.figure).find("YaRN"), std::string::npos);
  // A rho that only few tokens allow, and layers that collapse to nothing.
  for (const PageFigure& f : answer({.tokens = 3, .rho = -0.5, .gamma = 1, .layers = 9}).draw())
    EXPECT_NE(report::svg(f.figure).find("<svg"), std::string::npos);
}

TEST(ContextExperiment, ParametersTakeTheirDefaults) {
  ContextSetup p;
  for (const Parameter& parameter : list(p)) {
    const std::string before = parameter.text();
    if (!parameter.is_flag()) parameter.set(before);
    EXPECT_EQ(parameter.text(), before) << parameter.name;
    EXPECT_FALSE(parameter.help.empty());
  }
  find(list(p), "tokens").set("1e30");
  EXPECT_EQ(p.tokens, 1e30);
}

TEST(ContextExperiment, BadInput) {
  for (const ContextSetup& bad : {ContextSetup{.tokens = 1},
                                  {.rho = 1},
                                  {.tokens = 100, .rho = -0.5},
                                  {.gamma = -1},
                                  {.tokens = 1e6, .simulate = true},
                                  {.tokens = 100.5, .simulate = true},
                                  {.tokens = 100, .rho = -0.001, .simulate = true},
                                  {.tokens = 100, .dim = 2, .simulate = true},
                                  {.tokens = 100, .dim = 7.5, .simulate = true},
                                  {.tokens = 100, .dim = 1e30, .simulate = true},
                                  {.exact = true},
                                  {.rho = -1e-9, .advise = true},
                                  {.advise = true, .simulate = true},
                                  {.layers = 2, .advise = true},
                                  {.map = true, .advise = true}})
    EXPECT_THROW(answer(bad), Error);
}

TEST(ContextExperiment, OptionsWithoutEffect) {
  const std::pair<ContextSetup, const char*> cases[] = {
      {{.gamma = 9, .advise = true}, "gamma has no effect without leaving advise out"},
      {{.dim = 64, .advise = true}, "dim has no effect without leaving advise and exact out"},
      {{.advise = true, .rows = 3}, "rows has no effect without simulate (and without exact)"},
      {{.advise = true, .exact = true}, "advise answers alone; allowed: without simulate, exact"},
      {{.trained_tokens = 100}, "trained-tokens has no effect without advise"},
      {{.rows = 3}, "rows has no effect without simulate"},
      {{.replicates = 3}, "replicates has no effect without simulate"},
      {{.seed = 3}, "seed has no effect without simulate"},
      {{.tokens = 99, .dim = 64, .simulate = true, .exact = true},
       "dim has no effect without leaving advise and exact out"},
      {{.tokens = 99, .simulate = true, .exact = true, .seed = 1},
       "seed has no effect without simulate (and without exact)"},
      {{.dim = 0.5}, "dim = 0.5 is not allowed; allowed: 0, or whole numbers from 2"},
      {{.dim = 1}, "dim = 1 is not allowed"}};
  for (const auto& c : cases) EXPECT_SAYS(refusal([&] { ask(c.first, {}); }), c.second);
  // The residual stream does change what recipes do.
  EXPECT_NE(
      cell(table(answer({.residual = 3, .advise = true}), "recipes"), "YaRN", "output_cosine"),
      cell(table(answer({.advise = true}), "recipes"), "YaRN", "output_cosine"));
}

}  // namespace
}  // namespace attractor::lab
