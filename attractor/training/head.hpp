// What reads the attention's output o in R^d:
//
//   psi(o) = <v, sigma(U o + b)> - lambda |o|^2
//
// with sigma the identity, ReLU, GELU, tanh, softplus or sine, the same for all hidden units or one
// for each; U = I and b = 0 if not given. The linear head <v, o> is the paper's; lambda > 0 is the
// penalised head of the follow-up.
//
// ReLU has a kink at 0. Where the head is asked for one smooth piece of it, `on` says of every
// hidden unit whether its ReLU is the identity (> 0) or zero, whatever its input; empty: as the
// sign of the input says. Other activations do not look at it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attractor::training {

enum class Activation { identity, relu, gelu, tanh, softplus, sin };

/// One for all hidden units, or one for each.
struct Activations {
  std::vector<Activation> each{Activation::identity};
  Activations() = default;
  Activations(Activation one) : each{one} {}
  Activation of(std::size_t unit) const { return each.size() == 1 ? each[0] : each[unit]; }
  bool identity() const { return each.size() == 1 && each[0] == Activation::identity; }
  bool operator==(const Activations&) const = default;
};

/// "relu", or a list like "tanh,sin"; throws Error on another name.
Activations activation_named(std::string_view text);
std::string name(const Activations& activation);

struct Head {
  std::vector<double> v{};  // one for each hidden unit
  Activations activation{};
  std::vector<double> hidden{};  // U: units x dim, row-major; empty: identity
  std::vector<double> bias{};    // b: units; empty: zero
  double penalty = 0;            // lambda

  std::size_t units() const { return v.size(); }
  bool linear() const {
    return activation.identity() && hidden.empty() && bias.empty() && penalty == 0;
  }
  /// Some hidden unit is a ReLU.
  bool kinked() const;
  /// U o + b: one for each hidden unit.
  std::vector<double> inputs(std::span<const double> o) const;
  /// sigma(U o + b): what v multiplies.
  std::vector<double> features(std::span<const double> o,
                               std::span<const signed char> on = {}) const;
  double value(std::span<const double> o, std::span<const double> v,
               std::span<const signed char> on = {}) const;
  /// d psi / d o.
  std::vector<double> gradient(std::span<const double> o, std::span<const double> v,
                               std::span<const signed char> on = {}) const;
};

}  // namespace attractor::training
