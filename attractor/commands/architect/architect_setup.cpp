#include "attractor/commands/architect/architect_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/models/architecture.hpp"

namespace attractor::lab {
namespace {

using models::Architecture;

/// Lengths by the configuration: for how many tokens positions are there, and how many were trained
/// before rotary frequencies were stretched.
void take_lengths(const Architecture& a, Design& d) {
  const auto positions = static_cast<double>(a.positions);
  d.context = d.trained = positions;
  if (a.scaling.kind == RotaryScaling::Kind::none) return;
  const double original = a.scaling.original_positions;
  if (original > 0) d.trained = original;
  const double stretched = d.trained * a.scaling.factor;
  d.context = std::max({positions, d.trained, stretched});
}

void take(const Architecture& a, Design& d) {
  d.depth = a.layers;
  d.heads = a.heads;
  d.norm = a.place == models::NormPlace::pre ? Normalisation::pre : Normalisation::post;
  d.head_dim = static_cast<double>(a.head_dim);
  d.window = static_cast<double>(a.window);
  d.scale.norm = a.query_norm ? QueryNorm::rms : QueryNorm::none;
  if (a.scaling.kind == RotaryScaling::Kind::yarn) {
    // Queries and keys are both multiplied by it.
    const double one = a.scaling.attention_factor.value_or(0.1 * std::log(a.scaling.factor) + 1);
    d.factor = one * one;
    d.assumed.push_back(fmt::format(
        "The configuration's YaRN multiplies logits by {:.4g} at every length.", d.factor));
  }
  take_lengths(a, d);
}

/// beta of the logits without their factor; says what nobody has measured.
double plain_beta(const ArchitectSetup& p, Design& d) {
  LogitScale& s = d.scale;
  s.head_dim = d.head_dim;
  s.query_gain = p.qk_norm_gain.value_or(p.query_gain);
  s.key_gain = p.key_gain;
  s.temperature = p.temperature;
  const double usual = std::sqrt(d.head_dim);
  s.query_length = p.query_length.value_or(usual);
  s.key_length = p.key_length.value_or(usual);
  if (s.norm == QueryNorm::none && !(p.query_length && p.key_length))
    d.assumed.push_back(
        fmt::format("No QK-norm: queries and keys are taken to have entries of size 1, |q| = |k| = "
                    "sqrt(d_head), "
                    "so that beta is sqrt(d_head) = {:.4g}. Training makes them anything else.",
                    usual));
  if (s.norm != QueryNorm::none && p.query_gain == 1 && p.key_gain == 1 && !p.qk_norm_gain)
    d.assumed.push_back(
        "The gains of the QK-norm are taken as 1; trained ones differ from head to head.");
  return beta_of(s);
}

}  // namespace

ParameterList list(ArchitectSetup& p) {
  const bool scaled = !p.beta.has_value();
  const char* without = "leaving beta out";
  const char* config = "config";
  ParameterList l;
  l.group("Model");
  l.add("model", p.model, "config.json of a model, or its folder; flags win over it").first();
  l.add("depth", p.depth, "number of layers; else 32").otherwise(config).within(1, 100000);
  l.add("heads", p.heads, "heads of a layer; those of one beta act as one head")
      .otherwise(config)
      .within(1, 65536);
  l.add("norm", p.norm, "where layers normalise; else pre").otherwise(config);
  l.add("head-dim", p.head_dim, "dimension of a head; else 128").otherwise(config).within(1, 65536);
  l.add("context", p.context, "tokens of the longest context; else 8k")
      .otherwise(config)
      .within(4, 1e30)
      .counts();
  l.add("trained-context", p.trained_context, "tokens it was trained with; else the context")
      .otherwise(config)
      .within(4, 1e30)
      .counts();
  l.add("window", p.window, "tokens that one attends to, 0: all").otherwise(config).within(0, 1e12);
  l.group("Logits");
  l.add("beta", p.beta, "logits over cosines as measured, for all of this group")
      .otherwise("")
      .allow("a number from 0 to 1e6")
      .within(0, 1e6);
  l.add("qk-norm", p.qk_norm, "how queries and keys are normed before they meet; else none")
      .otherwise(config)
      .used_if(scaled, without);
  l.add("query-gain", p.query_gain, "gain of the QK-norm; l2: the product of both counts")
      .above(0, 1e6)
      .used_if(scaled, without);
  l.add("key-gain", p.key_gain, "the same of keys").above(0, 1e6).used_if(scaled, without);
  l.add("qk-norm-gain", p.qk_norm_gain, "both gains as one number, their product")
      .otherwise("")
      .allow("a number above 0, up to 1e6")
      .above(0, 1e6)
      .used_if(scaled, without);
  l.add("query-length", p.query_length, "without QK-norm: |q|, typically")
      .otherwise("sqrt(head-dim)")
      .above(0, 1e6)
      .used_if(scaled, without);
  l.add("key-length", p.key_length, "without QK-norm: |k|, typically")
      .otherwise("sqrt(head-dim)")
      .above(0, 1e6)
      .used_if(scaled, without);
  l.add("temperature", p.temperature, "that divides the logits")
      .above(0, 1e6)
      .used_if(scaled, without);
  l.add("logit-factor", p.logit_factor, "that multiplies them, such as YaRN's; else 1")
      .otherwise(config)
      .above(0, 1e6)
      .used_if(scaled, without);
  l.group("What is not known exactly");
  l.add("rho", p.rho, "mean cosine of tokens before the first layer").within(0, 0.999);
  l.add("rho-error", p.rho_error, "its standard error").within(0, 0.5);
  l.add("spread", p.spread, "standard deviation of cosines about rho; 0: they are equal")
      .otherwise("(1-rho)/sqrt(head-dim - 1)")
      .allow("a number from 0 to 0.7")
      .within(0, 0.7);
  l.add("beta-error", p.beta_error, "standard error of beta, as a share").within(0, 0.9);
  l.add("level", p.level, "collapsed: the mean cosine is above this").between(0, 1);
  l.add("keys", p.keys,
        "keys of one head, n x d, or of many, layers x heads x n x d: which law they obey");
  l.add("seed", p.seed, "of subsets of the keys").used_if(p.keys.given(), "keys");
  l.short_help({"model", "depth", "heads", "norm", "head-dim", "context", "trained-context", "beta",
                "qk-norm", "qk-norm-gain", "temperature", "rho", "level"});
  return l;
}

Design design_of(const ArchitectSetup& p) {
  Design d;
  if (p.model.given()) {
    d.name = p.model.name;
    take(p.model.get(), d);
  }
  if (p.depth) d.depth = static_cast<std::size_t>(*p.depth);
  if (p.norm) d.norm = *p.norm;
  if (p.heads) d.heads = static_cast<std::size_t>(*p.heads);
  if (p.head_dim) d.head_dim = static_cast<double>(*p.head_dim);
  if (p.window) d.window = static_cast<double>(*p.window);
  if (p.qk_norm) d.scale.norm = *p.qk_norm;
  if (p.qk_norm_gain && (p.query_gain != 1 || p.key_gain != 1))
    throw Error("qk-norm-gain is the product of query-gain and key-gain; give it or them");
  if (p.qk_norm_gain && !p.beta && d.scale.norm == QueryNorm::none)
    throw Error(
        "qk-norm-gain was given, but queries and keys are not normed; allowed with "
        "qk-norm = l2 or rms");
  if (p.trained_context) d.trained = *p.trained_context;
  if (p.context)
    d.context = *p.context;
  else if (p.trained_context && !p.model.given())
    d.context = std::max(d.context, d.trained);
  if (!p.trained_context && !p.model.given()) d.trained = d.context;
  if (d.context < d.trained)
    throw Error(
        fmt::format("context = {:.0f} is below trained-context = {:.0f}; a model that is longer in "
                    "training is asked for at that length",
                    d.context, d.trained));
  if (d.window == 1 || (d.window > 1 && d.window < 4))
    throw Error(fmt::format("window = {:.0f} is not allowed; allowed: 0, or 4 and more", d.window));
  if (p.logit_factor) d.factor = *p.logit_factor;
  if (p.beta) {
    d.beta = *p.beta;
    d.factor = 1;
    d.assumed.clear();
    return d;
  }
  d.beta = d.factor * plain_beta(p, d);
  if (d.beta > 1e6)
    throw Error(fmt::format("these logits have beta = {:.4g}; allowed: up to 1e6", d.beta));
  return d;
}

double spread_dimension(const ArchitectSetup& p, const Design& d) {
  constexpr double kLeast = 2;
  if (!p.spread) return std::max(kLeast, d.head_dim - 1);
  if (*p.spread == 0) return kInfinity;
  const double most = (1 - p.rho) / std::sqrt(kLeast);
  if (*p.spread > most)
    throw Error(fmt::format(
        "spread = {} is not allowed; allowed: 0 to (1 - rho) / sqrt(2) = {:.4g}, at rho = {}",
        *p.spread, most, p.rho));
  return std::pow((1 - p.rho) / *p.spread, 2);
}

}  // namespace attractor::lab
