// Building blocks: one evaluation each, on the arrays of Python as they lie. The lock of the
// interpreter is free while they compute; arrays are held meanwhile. Results of several parts are
// tuples; attractor/blocks.py gives the parts names.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "attractor/base/error.hpp"
#include "attractor/commands/own_flow.hpp"
#include "attractor/commands/reduce/equiangular_experiment.hpp"
#include "attractor/depth/mean_shift/blurring.hpp"
#include "attractor/depth/mean_shift/mean_shift.hpp"
#include "attractor/depth/velocity.hpp"
#include "attractor/lab/select/select_setup.hpp"
#include "attractor/observe/energy.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "attractor/solve/nuclear/nuclear_margin.hpp"
#include "attractor/tokens/components.hpp"
#include "attractor/tokens/given_arrays.hpp"
#include "attractor/training/prompt_attention.hpp"
#include "python/bindings/bindings.hpp"

namespace attractor::python {
namespace {

constexpr double kMostBeta = 1e6, kMost = std::numeric_limits<double>::max();

bool is_sphere(py::handle space) {
  return word<lab::OwnSpace>(space, "space") == lab::OwnSpace::sphere;
}

/// n x d; on the sphere of length 1.
Numbers tokens_of(py::handle value, bool on_sphere) {
  const Numbers tokens(value, "x");
  tokens.with(2, "(n, d)");
  if (!on_sphere) return tokens;
  if (tokens.size(1) < 2) throw Error("x has dimension 1; on the sphere at least 2");
  require_unit_rows(tokens.span(), tokens.size(1), "x", tokens.single() ? 1e-6 : 1e-9);
  return tokens;
}

std::vector<double> masses_of(py::handle value, std::size_t count) {
  if (!is_given(value)) return {};
  std::vector<double> masses = Numbers(value, "masses").with(1, "(n)").copy().data;
  require_masses(masses, count, "masses");
  return masses;
}

std::optional<Array> given_array(py::handle value, const char* name) {
  return is_given(value) ? std::optional(Numbers(value, name).copy()) : std::nullopt;
}

std::vector<double> matrix(py::handle value, const char* name, std::size_t dim) {
  if (!is_given(value)) return {};
  return weights_of(*given_array(value, name), name, {dim, dim}, "(dim, dim)").data;
}

/// Where an answer goes: a new array, or the one that Python gives.
Doubles place_for(const Numbers& like, py::handle out) {
  const std::vector<std::size_t> shape = like.shape();
  if (!is_given(out)) return Doubles(std::vector<py::ssize_t>(shape.begin(), shape.end()));
  const Doubles given =
      py::isinstance<Doubles>(out) ? py::reinterpret_borrow<Doubles>(out) : Doubles();
  const bool fits = std::vector<std::size_t>(given.shape(), given.shape() + given.ndim()) == shape;
  if (!fits || !given.writeable() || given.data() == like.span().data())
    throw Error("out must be another array of doubles, writeable, contiguous, of the shape of x");
  return given;
}

py::object in_precision_of(const Numbers& question, py::object answer) {
  return question.single() ? py::object(answer.attr("astype")("float32")) : answer;
}

py::object velocity(py::handle x, py::handle beta, py::handle masses, py::handle engine,
                    py::handle dynamics, py::handle space, py::handle accuracy,
                    py::handle precision, py::handle log_unit, py::handle out) {
  const bool sphere = is_sphere(space);
  const Numbers tokens = tokens_of(x, sphere);
  const std::size_t dim = tokens.size(1);
  depth::VelocityTask task{.attention = {.rule = word<Rule>(dynamics, "dynamics"),
                                         .beta = number(beta, "beta", 0, kMostBeta),
                                         .dim = dim,
                                         .on_sphere = sphere},
                           .accuracy = number(accuracy, "accuracy", 1e-12, 1e-4),
                           .precision = word<Precision>(precision, "precision"),
                           .log_unit = number(log_unit, "log_unit", -1e12, 1e12)};
  if (is_given(engine)) task.engine = word<depth::Engine>(engine, "engine");
  if (!is_exponential(task.attention.rule))
    throw Error(fmt::format("dynamics = '{}' is not allowed; allowed: sa, usa", shown(dynamics)));
  const std::vector<double> mass = masses_of(masses, tokens.size(0));
  Doubles answer = place_for(tokens, out);
  const std::span<double> place(answer.mutable_data(), tokens.span().size());
  without_lock([&] { return depth::velocity(task, tokens.span(), mass, place); });
  return is_given(out) ? py::object(answer) : in_precision_of(tokens, answer);
}

py::tuple attention(py::handle x, py::handle query, py::handle key, py::handle value,
                    py::handle beta, py::handle rule, py::handle mask, py::handle window,
                    py::handle distance_bias, py::handle output, py::handle kernel, bool weights) {
  const Numbers tokens = tokens_of(x, false);
  const std::size_t dim = tokens.size(1), n = tokens.size(0);
  AttentionLayer layer{
      .rule = word<Rule>(rule, "rule"),
      .beta = number(beta, "beta", -kMostBeta, kMostBeta),
      .dim = dim,
      .heads = heads_of(
          {given_array(query, "query"), given_array(key, "key"), given_array(value, "value")}, dim),
      .output = matrix(output, "output", dim),
      .kernel = word<RadialKernel>(kernel, "kernel")};
  layer.mask.causal = word<MaskKind>(mask, "mask") == MaskKind::causal;
  if (is_given(window)) layer.mask.window = whole(window, "window", 0, 1e9);
  layer.mask.slope = number(distance_bias, "distance_bias", 0, 1e9);
  validate(layer);
  LayerOutput result = without_lock([&] {
    LayerOutput made;
    attend(layer, tokens.span(), {.entropy = true, .matrix = weights}, made);
    if (made.log_scale != 0)
      for (double& a : made.out) a *= std::exp(made.log_scale);
    return made;
  });
  const std::size_t heads = layer.heads.size(), shown_heads = weights ? heads : 0;
  return py::make_tuple(in_precision_of(tokens, to_numpy(std::move(result.out), {n, dim})),
                        to_numpy(std::move(result.matrix), {shown_heads, n, n}),
                        to_numpy(std::move(result.entropy), {n, heads}),
                        std::string(name(result.status)));
}

py::tuple energy(py::handle x, py::handle beta, py::handle masses, py::handle seed,
                 py::handle exact_limit) {
  const Numbers tokens = tokens_of(x, true);
  const Attention a{.beta = number(beta, "beta", 0, kMostBeta), .dim = tokens.size(1)};
  std::vector<double> mass = masses_of(masses, tokens.size(0));
  if (mass.empty()) mass.assign(tokens.size(0), 1.0);
  const std::size_t stream = whole(seed, "seed", 0, 0x1p53),
                    limit = whole(exact_limit, "exact_limit", 1, 1e7);
  const observe::Energy e =
      without_lock([&] { return observe::energy(a, tokens.span(), mass, stream, limit); });
  return py::make_tuple(std::exp(e.log_energy), e.log_energy, e.relative_error,
                        std::exp(e.log_dissipation), e.entropy, e.entropy_error);
}

py::array clusters(py::handle x, py::handle cosine, py::handle radius) {
  if (is_given(radius) && is_given(cosine))
    throw Error("cosine and radius say the same; give one of them");
  const Numbers tokens = tokens_of(x, !is_given(radius));
  const double level = is_given(cosine) ? number(cosine, "cosine", 0, 1) : 0.999;
  const double chord =
      is_given(radius) ? number(radius, "radius", 0, kMost) : std::sqrt(2 * (1 - level));
  return to_integers(
      without_lock([&] { return components(tokens.span(), tokens.size(1), chord).label; }));
}

// ---- Clusters of points that move (those at rest are the command cluster).

Array points_of(py::handle x, bool sphere) {
  Array points = Numbers(x, "X").with(2, "(n, d)").copy();
  return sphere ? attractor::tokens_of(std::move(points), "X", true) : points;
}

py::tuple blurring(py::handle x, py::handle bandwidth, py::handle space, py::handle tolerance,
                   py::handle merge, py::handle iterations) {
  const bool sphere = is_sphere(space);
  const Array points = points_of(x, sphere);
  const std::size_t dim = points.shape[1];
  const double found = is_given(bandwidth)
                           ? number(bandwidth, "bandwidth", 1e-100, 1e100)
                           : depth::reference_bandwidth(points.data, dim, sphere, 0);
  const double h = found >= 1e-100 && found <= 1e100 ? found : 1;  // points may coincide
  Watch watch;
  depth::BlurringOptions options{.beta = 1 / (h * h), .on_sphere = sphere};
  options.tolerance = number(tolerance, "tolerance", 1e-12, 0.1);
  options.merge = number(merge, "merge", 1e-6, 10);
  options.iterations = whole(iterations, "iterations", 1, 1e9);
  options.watch = [&](std::size_t) { return !watch.stop(); };
  const depth::Blurring done =
      without_lock([&] { return depth::blurring_mean_shift(points.data, dim, options); });
  watch.raise_failure(true);
  return py::make_tuple(to_numpy(done.centres, {done.sizes.size(), dim}), to_integers(done.labels),
                        done.iterations, done.gathered, h);
}

py::array nearest(py::handle x, py::handle centres, py::handle space) {
  const Array points = points_of(x, is_sphere(space));
  const Numbers modes(centres, "centres");
  if (modes.with(2, "(count, d)").size(1) != points.shape[1])
    throw Error(fmt::format("X has dimension {}; that of the centres is {}", points.shape[1],
                            modes.size(1)));
  return to_integers(depth::nearest_modes(points.data, points.shape[1], modes.span()));
}

// ---- Equiangular tokens.

using meanfield::EquiangularFlow;

EquiangularFlow equiangular(const py::dict& settings) {
  lab::EquiangularSetup setup;
  const lab::ParameterList list = lab::list(setup);
  const std::vector<std::string> given = set_all(list, settings);
  lab::check_use(lab::list(setup), given);
  lab::check_values(list);
  return EquiangularFlow(lab::problem_of(setup));
}

// ---- Max-margin problems with their certificates, and the attention of a trained prompt.

/// keys: (n, T, d); choice: a token of each input; relaxed: inputs, or None. A view of the keys.
solve::TokenDifferences differences(const Numbers& keys, py::handle choice, py::handle relaxed) {
  const std::size_t inputs = keys.with(3, "(inputs, tokens, d)").size(0), tokens = keys.size(1);
  const auto indices = [](py::handle value, const char* name, std::size_t below) {
    return lab::indices(Numbers(value, name).with(1, "a list of indices").copy().data, below, name);
  };
  solve::TokenChoice chosen{.chosen = indices(choice, "choice", tokens)};
  if (chosen.chosen.size() != inputs || tokens < 2)
    throw Error(
        fmt::format("choice has {} tokens for {} inputs of {}; allowed is one for each "
                    "input, of at least two",
                    chosen.chosen.size(), inputs, tokens));
  if (is_given(relaxed)) {
    chosen.relaxed.assign(inputs, false);
    for (const std::size_t i : indices(relaxed, "relaxed", inputs)) chosen.relaxed[i] = true;
  }
  return {keys.span(), tokens, keys.size(2), std::move(chosen)};
}

template <class Margin>
py::tuple bounds_of(const Margin& m) {
  return py::make_tuple(std::string(solve::name(m.status)), m.norm, m.lower, m.upper,
                        m.relative_gap, m.farkas_residual, m.iterations);
}

/// input, token, value of each multiplier above 0.
py::list rows_of(const std::vector<solve::Multiplier>& multipliers,
                 const solve::TokenDifferences& rows) {
  py::list all;
  for (const auto& [index, value] : multipliers)
    if (value > 0) all.append(py::make_tuple(rows.group(index), rows.token(index), value));
  return all;
}

std::vector<solve::Multiplier> numbered(const std::vector<double>& values) {
  std::vector<solve::Multiplier> all;
  for (const double value : values) all.push_back({all.size(), value});
  return all;
}

py::tuple hard_margin(py::handle keys, py::handle choice, py::handle relaxed,
                      py::handle tolerance) {
  const Numbers x(keys, "keys");
  const solve::TokenDifferences rows = differences(x, choice, relaxed);
  const double gap = number(tolerance, "tolerance", 1e-16, 0.1);
  const solve::HardMargin found =
      without_lock([&] { return solve::hard_margin(rows, {.tolerance = gap}); });
  return py::make_tuple(bounds_of(found), to_numpy(found.p), found.upper_is_proved,
                        found.smallest_slack, rows_of(found.support, rows),
                        rows_of(found.farkas, rows));
}

py::tuple nuclear_margin(py::handle tokens, py::handle queries, py::handle choice,
                         py::handle tolerance) {
  const Numbers x(tokens, "tokens"), z(queries, "queries");
  const solve::TokenDifferences rows = differences(x, choice, py::none());
  if (z.with(2, "(inputs, d)").size(0) != x.size(0))
    throw Error(fmt::format("queries has {} rows; allowed is one for each of {} inputs", z.size(0),
                            x.size(0)));
  const double gap = number(tolerance, "tolerance", 1e-14, 0.1);
  const solve::NuclearMargin found = without_lock(
      [&] { return solve::nuclear_margin(rows, z.span(), z.size(1), {.tolerance = gap}); });
  return py::make_tuple(bounds_of(found), to_numpy(found.W, {x.size(2), z.size(1)}),
                        to_numpy(found.singular_values), found.rank,
                        rows_of(numbered(found.multipliers), rows),
                        rows_of(numbered(found.farkas), rows));
}

/// Of inputs (n, T, d) with prompt p and head v: attention (n, T) and outputs f (n).
py::tuple attend_prompt(py::handle inputs, py::handle prompt, py::handle head) {
  const Numbers x(inputs, "X"), p(prompt, "prompt"), v(head, "head");
  const std::size_t dim = x.with(3, "(inputs, tokens, d)").size(2);
  if (p.span().size() != dim || v.span().size() != dim)
    throw Error(fmt::format("X has dimension {}, prompt {} and head {}; they must be the same", dim,
                            p.span().size(), v.span().size()));
  training::PromptAttention seen = without_lock(
      [&] { return training::prompt_attention(x.span(), x.size(1), p.span(), v.span()); });
  return py::make_tuple(to_numpy(std::move(seen.weight), {x.size(0), x.size(1)}),
                        to_numpy(std::move(seen.output)));
}

}  // namespace

void define_blocks(py::module_& m) {
  m.def("velocity", velocity);
  m.def("attention", attention);
  m.def("energy", energy);
  m.def("clusters", clusters);
  m.def("blurring", blurring);
  m.def("nearest", nearest);
  // Doubles as the library reads them, for checks and for tests of what is copied.
  m.def("numbers", [](py::handle x, const std::string& name) { return Numbers(x, name).array(); });
  m.def("hard_margin", hard_margin);
  m.def("nuclear_margin", nuclear_margin);
  m.def("attend_prompt", attend_prompt);
  py::class_<EquiangularFlow>(m, "Equiangular")
      .def(py::init(&equiangular))
      .def("at",
           [](const EquiangularFlow& flow, double log_time) {
             const meanfield::EquiangularState s = flow.at(log_time);
             return py::make_tuple(s.cosine, s.log_gap, s.log_norm);
           })
      .def("log_arrival", [](const EquiangularFlow& f, double c) { return f.arrival(c).log_time; });
}

}  // namespace attractor::python
