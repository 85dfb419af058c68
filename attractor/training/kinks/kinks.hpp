// Where the loss has kinks, and what its gradient is there. A ReLU of hidden unit k and input i
// switches at
//
//   h(w) = <U_k, o_i> + b_k = 0,
//
// a smooth surface in the space of the weights w; on its side h > 0 the descent -grad L has
// pull_i v_k / n grad h more than on the other, the loss itself is continuous. Units whose surfaces
// coincide (U and b in proportion, in the same input or an equal one) are one kink. Where surfaces
// A meet, the descents of the pieces around span
//
//   { d + sum_a l_a j_a n_a : 0 <= l_a <= 1 },     n_a = grad h_a / |grad h_a|,
//
// d the descent with every ReLU of A off. A kink with j_a < 0 is a valley: descent leads into it
// from both sides, and may then stay. One with j_a > 0 is a ridge, which it only crosses. At
// valleys L is a smooth function plus a convex one (locally), its descent is unique and equals the
// element of smallest norm z; surfaces with 0 < l_a < 1 are those it slides along, <n_a, z> = 0
// (Filippov). Near several kinks: O(m^2 dim) for m of them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/training/objective.hpp"

namespace attractor::training {

enum class Side : signed char { off = -1, held = 0, on = 1 };  // of a kink: h < 0, h = 0, h > 0

/// Some kinks seen from one state.
struct Surfaces {
  std::vector<std::size_t> kink{};  // which, those with grad h = 0 left out
  std::vector<double> normal{};     // n_a: m x dim
  std::vector<double> log_slope{};  // ln |grad h_a|, h in the units of Kinks::height
  std::vector<double> jump{};       // e^log_unit j_a
  std::size_t size() const { return kink.size(); }
};

/// The element of smallest norm of { d + sum_a l_a j_a n_a }.
struct SmallestDescent {
  std::vector<double> descent{};  // z
  std::vector<double> share{};    // l_a
};

class Kinks {
 public:
  /// A view: the objective must outlive it. No kinks if its head has none or attention is frozen.
  explicit Kinks(const Objective& objective);

  std::size_t size() const { return groups_.size(); }
  bool empty() const { return groups_.empty(); }
  /// h_a in units in which a token's is at most 1, for a state that `e` has seen.
  double height(std::size_t kink, const Evaluation& e) const;
  std::vector<Side> sides(const Evaluation& e) const;
  /// The piece on those sides; what is held counts as off.
  Piece piece(std::span<const Side> sides) const;
  Surfaces surfaces(std::span<const std::size_t> kinks, std::span<const double> state,
                    const Evaluation& e, double log_unit) const;

 private:
  struct Member {
    std::size_t input, unit;
    double factor;  // its h is so many times that of the first member
  };
  struct Group {
    std::vector<Member> members;
    double scale;  // of h
  };
  void add(std::size_t input, std::size_t unit, std::span<const std::size_t> twin);

  const Objective& objective_;
  std::vector<Group> groups_;
  std::vector<double> direction_;  // U: units x dim
};

/// e^log_unit (-grad L), all blocks in one unit, for the state that `e` has seen.
std::vector<double> descent_in_unit(const Objective& objective, const Evaluation& e,
                                    double log_unit);
/// ln |grad L|; -infinity if it is zero.
double log_gradient(const Objective& objective, const Evaluation& e);

/// `metric`: lengths are measured as sqrt(sum metric_k z_k^2); empty: all 1.
SmallestDescent smallest_descent(std::span<const double> descent, const Surfaces& surfaces,
                                 std::span<const double> metric = {});
/// The same with l_a free: z = d + sum l_a j_a n_a orthogonal to every n_a.
SmallestDescent sliding_descent(std::span<const double> descent, const Surfaces& surfaces,
                                std::span<const double> metric = {});
/// The shortest move that brings h_a to 0 on all surfaces, to first order.
std::vector<double> move_onto(const Surfaces& surfaces, std::span<const double> heights,
                              std::size_t dim);

}  // namespace attractor::training
