// The equation of motion itself, term by term in plain loops (textbook_layer.hpp), against each
// engine that moves tokens here; and what every run begins with: uniform starts, noise.
//
//   x_i <- N(x_i + h P_i A_i),   A_i = sum_j m_j e^{beta <x_i, B x_j>} x_j / sum_j m_j e^{...}
//
// Uniform on the sphere: the mean of x_a is 0, its variance 1 / d; the mean of x_a x_b is delta_ab
// / d, its variance 2 (d - 1) / (d^2 (d + 2)) for a = b and 1 / (d (d + 2)) else. Noise alone on
// the circle, in steps of sqrt(2 kappa h) z along it: cosines to the start fall by E[(1 + 2 kappa h
// z^2)^{-1/2}] in each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/attention/weights.hpp"
#include "attractor/base/random.hpp"
#include "attractor/depth/chord_flow.hpp"
#include "attractor/depth/circle_flow.hpp"
#include "attractor/depth/make_token_flow.hpp"
#include "attractor/depth/moments_flow.hpp"
#include "attractor/depth/sphere_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/kernels/batch/system_batch.hpp"
#include "attractor/models/pass.hpp"
#include "attractor/models/planted_model.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/sample.hpp"
#include "papers/textbook_layer.hpp"

namespace attractor::papers::every_engine {
namespace {

using Tokens = std::vector<double>;
constexpr double kBeta = 3, kStep = 0.1;

Tokens start(std::size_t tokens, std::size_t dim) {
  return make_tokens({.tokens = tokens, .dim = dim, .seed = 11}).data;
}

/// Every third token weighs five times as much.
std::vector<double> some_masses(std::size_t tokens) {
  std::vector<double> masses(tokens, 1.0);
  for (std::size_t i = 0; i < tokens; i += 3) masses[i] = 5;
  return masses;
}

struct Row {
  std::string engine;
  double tokens = 0, dim = 0, error = 0, allowed = 0;
};

/// How far tokens are from where the textbook puts them, over the way that they went.
double error_of(const Tokens& before, const Tokens& after, const Textbook& layer) {
  const Tokens right = textbook_layer(before, layer);
  return largest_distance(after, right, layer.dim) / largest_distance(before, right, layer.dim);
}

/// Where a flow puts its tokens in one step.
Tokens stepped(depth::TokenFlow& flow, const Tokens& tokens, std::size_t dim,
               const flow::Tableau& method) {
  flow::Progress progress{.state = flow.begin(tokens)};
  flow.enter({}, progress.state);
  flow::run(flow, method, {.end = flow::Time(kStep), .step = kStep}, progress, {});
  Tokens storage, after;
  const std::span<const double> at = flow.directions(progress.state, storage);
  for (const std::uint32_t owner : flow.groups().owner())
    after.insert(after.end(), at.begin() + owner * dim, at.begin() + (owner + 1) * dim);
  return after;
}

struct Dense {
  const char* name;
  std::size_t dim;
  bool weights;
  Precision precision;
};

/// Rows of all pairs: of distances, or of logits with Q and K.
Row dense_row(const Dense& c) {
  constexpr std::size_t kTokens = 300;
  const Tokens tokens = start(kTokens, c.dim);
  depth::TokenFlowSetup setup{.tokens = kTokens, .engine = depth::Engine::dense};
  setup.precision = c.precision;
  setup.architecture.layer = {.beta = kBeta, .dim = c.dim};
  Textbook layer{.dim = c.dim, .beta = kBeta, .step = kStep, .tangent = true};
  if (c.weights) {
    Head& head = setup.architecture.layer.heads[0];
    head.query = draw_weights(WeightKind::gaussian, c.dim, c.dim, {.seed = 3, .matrix = "query"});
    head.key = draw_weights(WeightKind::gaussian, c.dim, c.dim, {.seed = 3, .matrix = "key"});
    layer.interaction.assign(c.dim * c.dim, 0.0);
    for (std::size_t a = 0; a < c.dim; ++a)
      for (std::size_t b = 0; b < c.dim; ++b)
        for (std::size_t r = 0; r < c.dim; ++r)
          layer.interaction[a * c.dim + b] += head.query[r * c.dim + a] * head.key[r * c.dim + b];
  }
  const auto flow = depth::make_token_flow(setup);
  const bool single = c.precision == Precision::f32;
  return {c.name, kTokens, static_cast<double>(c.dim),
          error_of(tokens, stepped(*flow, tokens, c.dim, flow::euler()), layer),
          single ? 1e-5 : 1e-11};
}

/// Fields in O(n), and layers of any kind, with weighted tokens where they take them.
Row flow_row(const std::string& name, depth::TokenFlow& flow, std::size_t tokens, std::size_t dim,
             std::vector<double> masses) {
  const Tokens from = start(tokens, dim);
  const Textbook layer{
      .dim = dim, .beta = kBeta, .step = kStep, .masses = std::move(masses), .tangent = true};
  return {name, static_cast<double>(tokens), static_cast<double>(dim),
          error_of(from, stepped(flow, from, dim, flow::euler()), layer), 1e-9};
}

template <class FlowOf>
void field_rows(const std::string& name, const depth::FieldFlowSettings& settings,
                std::vector<Row>& rows) {
  constexpr std::size_t kTokens = 600;
  FlowOf equal(settings, kTokens), weighted(settings, some_masses(kTokens));
  rows.push_back(flow_row(name, equal, kTokens, settings.dim, {}));
  rows.push_back(
      flow_row(name + ", weighted tokens", weighted, kTokens, settings.dim, some_masses(kTokens)));
}

/// The circle's own flow has angles: the step is made of their velocities.
Row angle_row() {
  constexpr std::size_t kTokens = 600;
  const Tokens from = start(kTokens, 2);
  depth::CircleFlow flow({.beta = kBeta}, some_masses(kTokens));
  const Tokens angles = flow.begin(from);
  Tokens speeds(kTokens), after;
  flow.drift(angles, 0, speeds);
  for (std::size_t i = 0; i < kTokens; ++i) {
    const double turn = kStep * speeds[flow.groups().owner()[i]], length = std::hypot(1, turn);
    after.push_back((from[2 * i] - turn * from[2 * i + 1]) / length);
    after.push_back((from[2 * i + 1] + turn * from[2 * i]) / length);
  }
  const Textbook layer{
      .dim = 2, .beta = kBeta, .step = kStep, .masses = some_masses(kTokens), .tangent = true};
  return {"circle by angles, weighted tokens", kTokens, 2, error_of(from, after, layer), 1e-9};
}

Row layer_row() {
  constexpr std::size_t kTokens = 200, kDim = 5;
  depth::Architecture architecture;
  architecture.layer = {.beta = kBeta, .dim = kDim};
  depth::LayerFlow flow(architecture, kTokens);
  return flow_row("layers of any kind", flow, kTokens, kDim, {});
}

/// Many systems side by side, each with its own beta: the worst.
Row batch_row() {
  constexpr std::size_t kSystems = 9, kTokens = 32, kDim = 3;
  Tokens tokens = start(kSystems * kTokens, kDim), before = tokens;
  std::vector<double> betas, sizes(kSystems, kStep), close;
  for (std::size_t k = 0; k < kSystems; ++k) betas.push_back(0.5 * static_cast<double>(k + 1));
  kernels::batch_advance({.tokens = kTokens, .dim = kDim, .betas = betas},
                         {.method = kernels::BatchMethod::euler, .sizes = sizes, .count = 1},
                         tokens, close);
  Row row{"batches of small systems", kTokens, kDim, 0, 1e-11};
  const auto part = [](const Tokens& all, std::size_t k) {
    return Tokens(all.begin() + k * kTokens * kDim, all.begin() + (k + 1) * kTokens * kDim);
  };
  for (std::size_t k = 0; k < kSystems; ++k) {
    const double error = error_of(part(before, k), part(tokens, k),
                                  {.dim = kDim, .beta = betas[k], .step = kStep, .tangent = true});
    if (!(error <= row.error)) row.error = error;
  }
  return row;
}

/// A transformer whose layer is that of the theory, in single precision.
Row model_row() {
  const models::Planted p{.tokens = 48, .dim = 64, .layers = 1, .betas = {kBeta}, .step = kStep};
  const Tokens from = start(p.tokens, p.dim);
  const models::Model model = models::planted_model(p, from);
  models::Pass pass(model, models::all_tokens(p.tokens).ids);
  pass.step();
  Tokens after(pass.state().data.begin(), pass.state().data.end());
  for (double& x : after) x /= std::sqrt(static_cast<double>(p.dim));
  return {"a transformer's layer, single precision", static_cast<double>(p.tokens),
          static_cast<double>(p.dim),
          error_of(from, after, {.dim = p.dim, .beta = kBeta, .step = kStep}), 1e-4};
}

std::vector<Row> all_rows(const Effort& effort) {
  std::vector<Row> rows;
  for (const Dense& c : {Dense{"rows of distances", 3, false, Precision::f64},
                         Dense{"rows of distances", 64, false, Precision::f64},
                         Dense{"rows with Q, K, few coordinates", 3, true, Precision::f64},
                         Dense{"rows with Q, K", 10, true, Precision::f64},
                         Dense{"rows with Q, K, many coordinates", 64, true, Precision::f64},
                         Dense{"rows of distances, single precision", 3, false, Precision::f32},
                         Dense{"rows with Q, K, single precision", 64, true, Precision::f32}})
    rows.push_back(dense_row(c));
  field_rows<depth::ChordFlow>("circle", {.beta = kBeta, .dim = 2}, rows);
  field_rows<depth::SphereFlow>("sphere", {.beta = kBeta}, rows);
  field_rows<depth::MomentsFlow>("moments", {.beta = kBeta, .dim = 4}, rows);
  rows.push_back(angle_row());
  rows.push_back(layer_row());
  rows.push_back(batch_row());
  rows.push_back(model_row());
  if (effort.context.stopped()) rows.clear();
  return rows;
}

/// Of the means of x_a and of x_a x_b the one that is farthest from what it is on the sphere, in
/// standard errors.
double farthest_moment(std::size_t tokens, std::size_t dim) {
  const Tokens all = start(tokens, dim);
  const auto n = static_cast<double>(tokens), d = static_cast<double>(dim);
  double farthest = 0;
  const auto look = [&](double sum, double expected, double variance) {
    const double off = std::abs(sum / n - expected) / std::sqrt(variance / n);
    if (!(off <= farthest)) farthest = off;
  };
  for (std::size_t a = 0; a < dim; ++a) {
    double mean = 0;
    for (std::size_t i = 0; i < tokens; ++i) mean += all[i * dim + a];
    look(mean, 0, 1 / d);
    for (std::size_t b = a; b < dim; ++b) {
      double sum = 0;
      for (std::size_t i = 0; i < tokens; ++i) sum += all[i * dim + a] * all[i * dim + b];
      if (a == b)
        look(sum, 1 / d, 2 * (d - 1) / (d * d * (d + 2)));
      else
        look(sum, 0, 1 / (d * (d + 2)));
    }
  }
  return farthest;
}

/// Tokens on the circle that only noise moves.
class Adrift final : public flow::Flow {
 public:
  const Space& space() const override { return circle_; }
  flow::NoiseLaw noise() const override { return {.own = 1}; }
  void drift(std::span<const double> x, double, std::span<double> out) const override {
    std::fill_n(out.begin(), x.size(), 0.0);
  }

 private:
  Sphere circle_{2};
};

struct Forgotten {
  Sampled cosine;
  double exact = 0;
};

Forgotten forgotten(std::size_t tokens, const Effort& effort) {
  constexpr double kLittle = 0.005;
  constexpr int kKicks = 100;
  flow::Progress progress;
  for (std::size_t i = 0; i < tokens; ++i) progress.state.insert(progress.state.end(), {1, 0});
  Adrift flow;
  flow::run(flow, flow::euler_maruyama(), {.end = flow::Time(kKicks * kLittle), .step = kLittle},
            progress, {.stop = effort.context.stop});
  std::vector<double> cosines(tokens);
  for (std::size_t i = 0; i < tokens; ++i) cosines[i] = progress.state[2 * i];
  double sum = 0, all = 0;  // the mean over a normal z, by the trapezoidal rule
  for (int k = -1000; k <= 1000; ++k) {
    const double z = 0.01 * k, w = std::exp(-z * z / 2);
    sum += w / std::sqrt(1 + 2 * kLittle * z * z), all += w;
  }
  return {sampled(cosines), std::pow(sum / all, kKicks)};
}

PageFigure figure(const std::vector<Row>& rows) {
  report::Panel panel{.title = fmt::format("one step of {}, β = {}", kStep, kBeta),
                      .x = {.label = "engine (row of the table)",
                            .low = 0,
                            .high = static_cast<double>(rows.size() + 1)},
                      .y = {.label = "error over the way of a token", .scale = report::Scale::log}};
  report::Series found = dots("found", report::kBlue),
                 allowed = dots("allowed", report::kVermillion, 3);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    add_point(found, static_cast<double>(k + 1), std::max(rows[k].error, 1e-18));
    add_point(allowed, static_cast<double>(k + 1), rows[k].allowed);
  }
  panel.series = {found, allowed};
  return figure_of("errors", {std::move(panel)},
                   "Every engine puts tokens where the sum over all pairs does, to its precision.");
}

Finding run(const Effort& effort) {
  Finding finding;
  const std::vector<Row> rows = all_rows(effort);
  const std::size_t many = effort.quick ? 2'000'000 : 20'000'000;
  const double uniform = farthest_moment(many, 3), high = farthest_moment(many / 8, 24);
  const Forgotten noise = forgotten(effort.quick ? 400'000 : 4'000'000, effort);
  if (effort.context.stopped()) return finding;
  Table table{.name = "engines",
              .title = "Where a step puts tokens, from where the sum over all pairs does",
              .columns = {"row", "tokens", "dim", "error", "allowed"}};
  double worst = 0;
  for (const Row& r : rows) {
    finding.checks.push_back(
        at_most(fmt::format("{}, d = {}", r.engine, r.dim), r.error, r.allowed));
    table.rows.push_back(
        {static_cast<double>(table.rows.size() + 1), r.tokens, r.dim, r.error, r.allowed});
    if (r.allowed < 1e-8) worst = std::max(worst, r.error);
  }
  // Of nine and of 324 numbers: 4.5 normal deviations are passed once in 16,000 and 450 times.
  finding.checks.push_back(
      at_most("uniform starts, d = 3: first and second moments, standard errors", uniform, 4.5));
  finding.checks.push_back(at_most("uniform starts, d = 24: the same", high, 4.5));
  finding.checks.push_back(near("noise alone: mean cosine to the start", noise.cosine.mean,
                                noise.exact, 4 * noise.cosine.error));
  finding.answer.headline = fmt::format(
      "In {} cases in double precision (softmax) an engine puts tokens where the sum over all "
      "pairs "
      "does, to {:.0e} of their way; two moments of uniform starts and the strength of noise are "
      "right to sampling error.",
      std::count_if(rows.begin(), rows.end(), [](const Row& r) { return r.allowed < 1e-8; }),
      worst);
  finding.answer.draw = [rows] { return std::vector{figure(rows)}; };
  finding.answer.tables.push_back(std::move(table));
  return finding;
}

}  // namespace

Entry entry() {
  return {
      .id = "every-engine",
      .title = "One equation, every engine",
      .source = "arXiv 2312.10794, equations (SA) and (layer map)",
      .shows =
          "Tokens are moved by fused rows of all pairs, by fields in O(n), by general layers, in "
          "batches and by a transformer's own layer. All of them are the same equation, "
          "written out as in a textbook.",
      .run = run};
}

}  // namespace attractor::papers::every_engine
