#include "attractor/commands/architect/architect_experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/commands/forecast_experiment.hpp"
#include "attractor/models/architecture.hpp"
#include "attractor/models/planted_model.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

double value(const ArchitectSetup& p, const char* name) {
  return ask(p, {}).values.at(name).get<double>();
}

double column_of(const Table& table, std::size_t row, const std::string& name) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c] == name) return table.rows[row][c];
  throw Error("no column " + name);
}

ArchitectureInput shaped(models::Architecture a) {
  ArchitectureInput input;
  input.architecture = std::make_shared<const models::Architecture>(std::move(a));
  return input;
}

models::Architecture decoder() {
  return {.family = models::Family::qwen3,
          .layers = 12,
          .own_layers = 12,
          .width = 256,
          .heads = 4,
          .key_heads = 2,
          .head_dim = 64,
          .positions = 4096,
          .place = models::NormPlace::pre,
          .query_norm = true};
}

TEST(Architect, BetaIsThatOfTheTable) {
  ArchitectSetup p{.head_dim = 128};
  EXPECT_NEAR(value(p, "beta"), std::sqrt(128.0), 1e-12);  // entries of size 1
  p.query_length = 20;
  p.key_length = 30;
  EXPECT_NEAR(value(p, "beta"), 600 / std::sqrt(128.0), 1e-12);
  p = {.head_dim = 64, .qk_norm = QueryNorm::rms, .query_gain = 1.5, .key_gain = 2};
  EXPECT_NEAR(value(p, "beta"), 24, 1e-12);
  p.temperature = 2;
  p.logit_factor = 1.2;
  EXPECT_NEAR(value(p, "beta"), 24 * 1.2 / 2, 1e-12);
  p.qk_norm = QueryNorm::l2;
  EXPECT_NEAR(value(p, "beta"), 3 * 1.2 / 2, 1e-12);
  EXPECT_NEAR(value({.beta = 7.5}, "beta"), 7.5, 0);
}

TEST(Architect, OneGainIsTheProductOfBothAndHeadsChangeNothing) {
  ArchitectSetup p{.head_dim = 64, .qk_norm = QueryNorm::rms};
  p.qk_norm_gain = 0.5;
  EXPECT_NEAR(value(p, "beta"), 4, 1e-12);
  p.qk_norm = QueryNorm::l2;
  EXPECT_NEAR(value(p, "beta"), 0.5, 1e-12);
  const double turn = column_of(ask(p, {}).tables[0], 0, "turning_beta");
  p.heads = 64;
  EXPECT_EQ(column_of(ask(p, {}).tables[0], 0, "turning_beta"), turn);
  p.query_gain = 2;
  EXPECT_SAYS(refusal([&] { ask(p, {}); }), "give it or them");
  p.query_gain = 1;
  p.qk_norm = QueryNorm::none;
  EXPECT_SAYS(refusal([&] { ask(p, {}); }), "not normed");
}

TEST(Architect, KeysOfManyHeadsAreCountedByTheirLaw) {
  // Cosines that are all about 0.6, in as many dimensions as there are keys: the logarithmic law.
  constexpr std::size_t kKeys = 256;
  std::vector<double> data;
  for (std::uint64_t head = 0; head < 3; ++head) {
    const std::vector<double> keys = models::tokens_with_cosine(kKeys, 1024, 0.6, head);
    data.insert(data.end(), keys.begin(), keys.end());
  }
  ArchitectSetup p{.beta = 8};
  p.keys = ArrayInput(Array{{1, 3, kKeys, 1024}, data});
  const Result answer = ask(p, {});
  bool said = false;
  for (const std::string& remark : answer.remarks)
    said = said || remark.find("Of the keys of 3 heads 3 obey the logarithmic law") == 0;
  EXPECT_TRUE(said);
}

TEST(Architect, TheCriticalGainIsCritical) {
  const ArchitectSetup p{.head_dim = 64, .context = 1e5, .qk_norm = QueryNorm::rms, .rho = 0.3};
  const double gain = value(p, "critical_gain"), critical = std::log(1e5) / 0.7;
  EXPECT_NEAR(gain * gain * 8, critical, 1e-12 * critical);
}

TEST(Architect, SidesAreThoseOfTheClosedForm) {
  for (const double rho : {0.0, 0.2, 0.6}) {
    const ArchitectSetup p{
        .head_dim = 32, .context = 65536, .trained_context = 4096, .beta = 9, .rho = rho};
    const Result answer = ask(p, {});
    const Table& lengths = answer.tables[0];
    ASSERT_EQ(lengths.rows.size(), 5U);
    for (std::size_t k = 0; k < lengths.rows.size(); ++k) {
      const double n = 4096 * std::pow(2.0, static_cast<double>(k));
      EXPECT_EQ(column_of(lengths, k, "tokens"), n);
      EXPECT_NEAR(column_of(lengths, k, "own_weight"), 1 / (1 + (n - 1) * std::exp(-9 * (1 - rho))),
                  1e-12);
      EXPECT_NEAR(column_of(lengths, k, "critical_beta"), std::log(n) / (1 - rho), 1e-11);
      // Whatever rho is.
      EXPECT_NEAR(column_of(lengths, k, "log_multiplier"), std::log(n) / std::log(4096.0), 1e-14);
      EXPECT_NEAR(column_of(lengths, k, "power_multiplier"), std::pow(n / 4096, 2.0 / 31), 1e-14);
    }
    // At rho = 0 outputs differ from beta = ln(n) / 2 on (long_context.hpp).
    EXPECT_EQ(answer.values.at("side").get<std::string>(), rho == 0 ? "identity" : "collapse");
  }
  EXPECT_EQ(ask({.context = 65536, .beta = 40}, {}).values.at("side").get<std::string>(),
            "identity");
}

/// Pre-norm layers on vectors, token by token; mean cosine after each.
std::vector<double> plain_layers(std::size_t n, double beta, double rho, std::size_t depth) {
  const std::size_t dim = n + 1;
  std::vector<std::vector<double>> x(n, std::vector<double>(dim, 0.0));
  for (std::size_t i = 0; i < n; ++i) x[i][i] = std::sqrt(1 - rho), x[i][n] = std::sqrt(rho);
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
    return sum;
  };
  const auto cosine = [&] {
    return dot(x[0], x[1]) / std::sqrt(dot(x[0], x[0]) * dot(x[1], x[1]));
  };
  std::vector<double> all = {cosine()};
  for (std::size_t layer = 0; layer < depth; ++layer) {
    std::vector<std::vector<double>> u = x;
    for (auto& row : u) {
      const double length = std::sqrt(dot(row, row));
      for (double& y : row) y /= length;
    }
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> weight;
      double total = 0;
      for (std::size_t j = 0; j < n; ++j)
        total += weight.emplace_back(std::exp(beta * dot(u[i], u[j])));
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < dim; ++k) x[i][k] += weight[j] / total * u[j][k];
    }
    all.push_back(cosine());
  }
  return all;
}

TEST(Architect, CollapseIsThatOfPlainLayersOnVectors) {
  for (const double beta : {1.0, 2.5, 6.0}) {
    const ArchitectSetup p{.depth = 14,
                           .norm = Normalisation::pre,
                           .context = 16,
                           .beta = beta,
                           .rho = 0.2,
                           .spread = 0};
    const std::vector<double> truth = plain_layers(16, beta, 0.2, 14);
    const Json values = ask(p, {}).values;
    EXPECT_NEAR(values.at("cosine").get<double>(), truth.back(), 1e-12);
    const auto first = std::find_if(truth.begin(), truth.end(), [](double c) { return c >= 0.9; });
    if (first == truth.end())
      EXPECT_TRUE(values.at("collapse_layer").is_null());
    else
      EXPECT_EQ(values.at("collapse_layer").get<double>(),
                static_cast<double>(first - truth.begin()));
    const double turn = values.at("turning_beta").get<double>();
    EXPECT_GE(plain_layers(16, turn * (1 - 1e-6), 0.2, 14).back(), 0.9);
    EXPECT_LT(plain_layers(16, turn * (1 + 1e-6), 0.2, 14).back(), 0.9);
    EXPECT_LT(values.at("turning_low").get<double>(), turn);  // rho lower
    EXPECT_GT(values.at("turning_high").get<double>(), turn);
  }
}

TEST(Architect, SaysWhenTheBandHoldsBothVerdicts) {
  ArchitectSetup p{.depth = 96, .norm = Normalisation::pre, .context = 131072, .beta = 8};
  Json values = ask(p, {}).values;
  EXPECT_TRUE(values.at("verdict_sure").get<bool>());
  p.beta = 0.97 * values.at("turning_beta").get<double>();
  EXPECT_FALSE(ask(p, {}).values.at("verdict_sure").get<bool>());
  p.beta_error = 0.01;
  EXPECT_FALSE(ask(p, {}).values.at("verdict_sure").get<bool>());  // rho
  p.rho_error = 0.001;
  EXPECT_TRUE(ask(p, {}).values.at("verdict_sure").get<bool>());
}

TEST(Architect, RemediesAreStacksOfTheirOwn) {
  const ArchitectSetup p{
      .depth = 20, .context = 32768, .trained_context = 8192, .beta = 9, .rho = 0.1, .spread = 0};
  const Result answer = ask(p, {});
  const Table& remedies = answer.tables[1];
  const auto cosine = [&](const std::string& name) {
    for (std::size_t k = 0; k < remedies.labels.size(); ++k)
      if (remedies.labels[k] == name) return column_of(remedies, k, "cosine");
    throw Error("no remedy " + name);
  };
  const auto forecast = [&](double beta, double tokens, Normalisation norm, double step) {
    return ask(ForecastSetup{.depth = 20,
                             .norm = norm,
                             .beta = beta,
                             .tokens = tokens,
                             .rho0 = 0.1,
                             .step = step},
               {})
        .values.at("cosine")
        .get<double>();
  };
  const double longer = std::log(32768.0) / std::log(8192.0);
  EXPECT_EQ(cosine("as it is"), forecast(9, 32768, Normalisation::pre, 1));
  EXPECT_EQ(cosine("logits times ln n / ln n0"),
            forecast(9 * longer, 32768, Normalisation::pre, 1));
  EXPECT_EQ(cosine("post-norm"), forecast(9, 32768, Normalisation::post, 1));
  EXPECT_EQ(cosine("a sink that takes half"), forecast(9, 32768, Normalisation::pre, 0.5));
  EXPECT_EQ(cosine("a window of " + grouped(8192)), forecast(9, 8192, Normalisation::pre, 1));
}

TEST(Architect, TakesTheShapeOfAModelAndFlagsWin) {
  models::Architecture a = decoder();
  a.scaling = {.kind = RotaryScaling::Kind::yarn, .factor = 4, .original_positions = 4096};
  a.window = 1024;
  ArchitectSetup p{.model = shaped(a)};
  Design d = design_of(p);
  EXPECT_EQ(d.depth, 12U);
  EXPECT_EQ(d.trained, 4096);
  EXPECT_EQ(d.context, 16384);
  EXPECT_EQ(d.seen(d.context), 1024);
  EXPECT_EQ(d.scale.norm, QueryNorm::rms);
  const double yarn = 0.1 * std::log(4.0) + 1;
  EXPECT_NEAR(d.beta, 8 * yarn * yarn, 1e-12);
  p.depth = 7;
  p.norm = Normalisation::post;
  p.window = 0;
  p.qk_norm = QueryNorm::l2;
  p.query_gain = 12;
  p.logit_factor = 1;
  d = design_of(p);
  EXPECT_EQ(d.depth, 7U);
  EXPECT_EQ(d.norm, Normalisation::post);
  EXPECT_EQ(d.seen(d.context), 16384);
  EXPECT_NEAR(d.beta, 12, 1e-12);
}

TEST(Architect, RefusesWhatDoesNotFit) {
  EXPECT_SAYS(refusal([] { ask({.context = 1000, .trained_context = 2000, .beta = 8}, {}); }),
              "context = 1000 is below trained-context = 2000");
  EXPECT_SAYS(refusal([] { ask({.window = 2, .beta = 8}, {}); }), "window = 2 is not allowed");
  EXPECT_SAYS(refusal([] { ask({.beta = 8, .rho = 0.9, .spread = 0.5}, {}); }),
              "spread = 0.5 is not allowed");
  EXPECT_SAYS(refusal([] { ask({.beta = 8, .query_gain = 2}, {}); }), "query-gain");
  EXPECT_SAYS(refusal([] {
                ArchitectSetup p{.beta = 8};
                p.keys = ArrayInput(Array{{4}, {1, 2, 3, 4}});
                ask(p, {});
              }),
              "keys has 1 dimensions");
}

}  // namespace
}  // namespace attractor::lab
