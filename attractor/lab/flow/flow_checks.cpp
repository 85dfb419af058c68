// Combinations of parameters that have no meaning, each refused with a sentence.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/attention/normalisation.hpp"
#include "attractor/base/error.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/lab/flow/flow_parameters.hpp"

namespace attractor::lab {
namespace {

// A text parameter that is a word or a number x for which `good(x)` holds.
template <class Good>
void check_word_or_number(const Parameter& parameter, std::initializer_list<const char*> words,
                          const Good& good) {
  const std::string text = parameter.text();
  for (const char* word : words)
    if (text == word) return;
  double value = 0;
  if (!parse_real(text, value) || !good(value))
    throw Error(fmt::format("{} = '{}' is not allowed; allowed: {}", parameter.name, text,
                            parameter.words));
}

void refuse(bool wrong, const std::string& sentence) {
  if (wrong) throw Error(sentence);
}

bool whole_steps(double time, double step) {
  return flow::fixed_steps(flow::Time(time), step).whole;
}

void check_words(const FlowParameters& p) {
  FlowParameters copy = p;
  const ParameterList parameters = list(copy);
  check_word_or_number(find(parameters, "merge-radius"), {"auto", "off"},
                       [](double x) { return x >= 1e-12 && x <= 0.01; });
  check_word_or_number(find(parameters, "cluster-cosine"), {"auto"},
                       [](double x) { return x > 0 && x < 1; });
  check_word_or_number(find(parameters, "snapshots"), {"auto"},
                       [](double x) { return x >= 2 && x <= 1000 && x == std::floor(x); });
}

void check_time(const FlowParameters& p) {
  if (p.log10_time.empty()) return;
  FlowParameters copy = p;
  const ParameterList parameters = list(copy);
  check_word_or_number(find(parameters, "log10-time"), {},
                       [](double x) { return std::abs(x) <= 1e12; });
  refuse(p.time != FlowParameters().time,
         fmt::format("time = {} and log10-time = {} say the same; give one of them", p.time,
                     p.log10_time));
  const double time = end_of(p).value();
  refuse(!is_adaptive(p) && !(time > 0 && std::isfinite(time)),
         fmt::format("log10-time = {} is out of reach of steps of {}; allowed: -300 to 308, or "
                     "--stepper adaptive",
                     p.log10_time, p.step));
}

void check_endless(const FlowParameters& p) {
  if (!std::isinf(p.time)) return;
  refuse(!is_adaptive(p),
         fmt::format("time = inf needs --stepper adaptive, not {}", stepper_of(p)));
  refuse(p.space != "sphere", "time = inf needs --space sphere: in R^d tokens never come to rest");
  refuse(
      !is_plain(p),
      "time = inf needs sa or usa with one head, full mask and norm post, where it is known when "
      "tokens have come to rest; give a finite --time");
  refuse(p.merge_radius == "off", "time = inf needs coalescence; leave out --merge-radius off");
  refuse(p.output_spacing == "linear" || p.output_spacing == "log",
         fmt::format("output-spacing {} needs a finite --time", p.output_spacing));
}

void check_steps(const FlowParameters& p) {
  const std::string stepper = stepper_of(p);
  const bool noisy = p.noise > 0 || p.common_noise > 0;
  refuse(noisy && stepper != "euler-maruyama",
         fmt::format("noise needs --stepper euler-maruyama, not {}", stepper));
  if (is_adaptive(p)) return;
  const double time = end_of(p).value();
  refuse(p.step > time && time > 0,
         fmt::format("step = {} is longer than time = {}", p.step, time));
  refuse(time / p.step > static_cast<double>(p.max_steps),
         fmt::format("time / step = {:.3g} steps; at most max-steps = {} are allowed",
                     time / p.step, p.max_steps));
  const bool mixed = p.norm == "mix" && p.switch_time < time;
  refuse(
      mixed && !whole_steps(p.switch_time, p.step),
      fmt::format("switch-time = {} is not a whole number of steps of {}", p.switch_time, p.step));
  refuse(p.redraw > 0 && !whole_steps(p.redraw, p.step),
         fmt::format("redraw = {} is not a whole number of steps of {}", p.redraw, p.step));
  refuse((mixed || p.redraw > 0) && !whole_steps(time, p.step),
         fmt::format("time = {} is not a whole number of steps of {}", time, p.step));
}

void check_weights(const FlowParameters& p) {
  FlowParameters copy = p;
  const ParameterList parameters = list(copy);
  const std::pair<const char*, const std::string*> matrices[] = {
      {"query", &p.query}, {"key", &p.key}, {"value", &p.value}, {"output", &p.output}};
  bool random =
      p.feed_forward != "none" && (p.feed_forward_in.empty() || p.feed_forward_out.empty());
  for (const auto& [name, text] : matrices) {
    const bool kind = is_weight_kind(*text);
    random = random || (kind && *text != "identity");
    refuse(!text->empty() && !kind && text->find_first_of("./:") == text->npos,
           fmt::format("{} = '{}' is not allowed; allowed: {}", name, *text,
                       find(parameters, name).words));
    refuse((*text == "qk" || *text == "minus-qk") && name != std::string("value"),
           fmt::format("{} = '{}' is not allowed; only value can be +-Q^T K", name, *text));
  }
  refuse(p.redraw > 0 && !random, "redraw needs random weights or a random feed-forward block");
  const auto low = [](const std::string& text) {
    return text == "gaussian" || text == "orthogonal" || (!text.empty() && !is_weight_kind(text));
  };
  refuse(p.rank > 0 && !(low(p.query) && low(p.key)),
         fmt::format("rank = {} needs --query and --key gaussian, orthogonal or in files", p.rank));
  refuse(p.rank > p.dim && p.init != "file",
         fmt::format("rank = {} is above dim = {}", p.rank, p.dim));
}

/// Single precision loses what tight clusters and small tolerances need.
void check_precision(const FlowParameters& p) {
  if (p.precision == "double") return;
  refuse(!is_plain(p) || is_linear(p.engine),
         "precision single needs engine dense: sa or usa with one head, full mask and norm post");
  refuse(p.beta >= 100,
         fmt::format("beta = {} needs precision double; single is for beta below 100", p.beta));
  refuse(is_adaptive(p) && p.tolerance < 1e-5,
         fmt::format("tolerance = {} is below the rounding of precision single; give --tolerance "
                     "1e-5 or more, or precision double",
                     p.tolerance));
}

/// Engines in O(n).
void check_linear(const FlowParameters& p, std::size_t dim) {
  if (!is_linear(p.engine)) return;
  // Of a file only the dimension is not known yet: any that the engine takes will do.
  const std::size_t known = p.init != "file" ? dim : p.engine == "circle" ? 2 : 3;
  refuse(engine_of(p, p.tokens, known) != p.engine, engine_refusal(p, p.tokens, known));
}

}  // namespace

void check(const FlowParameters& p) {
  check_words(p);
  check_time(p);
  check_endless(p);
  check_steps(p);
  check_weights(p);
  refuse(p.space != "sphere" && p.init != "uniform" && p.init != "file",
         fmt::format("init {} is on the sphere; R^d takes uniform (normal) or file", p.init));
  refuse(!is_plain(p) && p.merge_radius != "auto" && p.merge_radius != "off",
         "merge-radius needs sa or usa with one head, full mask, norm post and no noise");
  refuse(!is_adaptive(p) && p.merge_radius != "auto" && p.merge_radius != "off",
         fmt::format("merge-radius needs --stepper adaptive, not {}", stepper_of(p)));
  const bool known_size = p.init != "file" && p.init != "angles";
  const std::size_t dim = p.init == "angles" ? 2 : p.dim;
  check_linear(p, dim);
  check_precision(p);
  refuse(p.engine == "dense" && !is_plain(p),
         "engine dense needs sa or usa with one head, full mask and norm post; leave out --engine");
  const double numbers = static_cast<double>(p.tokens) * static_cast<double>(p.dim);
  refuse(known_size && numbers > 1e9,
         fmt::format("{} tokens in dimension {} are {:.3g} numbers; at most 1e9 are allowed",
                     p.tokens, p.dim, numbers));
}

void check_use(const FlowParameters& p, const std::vector<std::string>& given) {
  struct Need {
    std::string_view name, flag, value;
    std::string present;
    bool met;
  };
  const auto start = [&](const char* name, const char* init) {
    return Need{name, "init", init, p.init, p.init == init};
  };
  const bool block = p.feed_forward != "none", noisy = p.noise > 0 || p.common_noise > 0;
  const auto is_given = [&](std::string_view name) {
    return std::find(given.begin(), given.end(), name) != given.end();
  };
  refuse(is_given("time") && is_given("log10-time"),
         fmt::format("time = {} and log10-time = {} say the same; give one of them", p.time,
                     p.log10_time));
  std::vector<Need> needs = {
      start("rho", "equiangular"),
      start("cap-angle", "cap"),
      start("centres", "clusters"),
      start("spread", "clusters"),
      start("mode", "circle"),
      start("amplitude", "circle"),
      start("phase", "circle"),
      start("angles", "angles"),
      start("tokens-file", "file"),
      {"accuracy", "engine", "circle, sphere or moments", p.engine, is_linear(p.engine)},
      {"kernel", "dynamics", "radial", p.dynamics, p.dynamics == "radial"},
      {"width", "feed-forward", "relu or gelu", p.feed_forward, block},
      {"strength", "feed-forward", "relu or gelu", p.feed_forward, block},
      {"feed-forward-in", "feed-forward", "relu or gelu", p.feed_forward, block},
      {"feed-forward-bias", "feed-forward", "relu or gelu", p.feed_forward, block},
      {"feed-forward-out", "feed-forward", "relu or gelu", p.feed_forward, block},
      {"noise-substeps", "noise", "above 0", "0", noisy}};
  for (const Scheme& row : schemes())
    for (const std::string_view name : row.parameters)
      needs.push_back({name, "norm", row.name, p.norm, p.norm == row.name});
  for (const Need& need : needs)
    refuse(!need.met && is_given(need.name),
           fmt::format("--{} is used by --{} {} only, not by --{} {}", need.name, need.flag,
                       need.value, need.flag, need.present));
}

}  // namespace attractor::lab
