// The flow dw/dt = -grad L of a loss with kinks (kinks.hpp), which no integrator can step across:
// the drift jumps there. It is followed piece by piece. Inside a piece the formula of that piece
// holds, also a little beyond its end, so that every step sees a smooth drift; a step ends where a
// kink is met, and there settle() finds the piece that descent leads into or the surfaces it
// slides along from now on (Filippov's solution, the descent of smallest norm). Sliding ends where
// a share l_a leaves [0, 1].
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "attractor/training/kinks/kinks.hpp"

namespace attractor::training {

class Sliding {
 public:
  explicit Sliding(const Objective& objective) : objective_(objective), kinks_(objective) {}

  bool needed() const { return !kinks_.empty(); }
  /// Of the present piece; empty before the first settle().
  const std::vector<Side>& sides() const { return sides_; }
  /// One for each kink, or none; false, and nothing changed, for another number.
  bool set_sides(std::vector<Side> sides);
  const Piece& piece() const { return piece_; }

  /// The descent of the piece, in units of e^-log_unit, becomes the one along what is held.
  SmallestDescent along(std::span<const double> weights, const Evaluation& e, double log_unit,
                        std::span<const double> metric, std::span<const double> descent) const;

  /// How far each kink is from ending the piece: |h|, or the distance of l from 0 and 1; below zero
  /// beyond.
  std::vector<double> room(std::span<const double> weights, const Evaluation& e,
                           std::span<const double> metric) const;
  /// The share of a step that lies in the piece, given room() along it; 1: all of it, and settle()
  /// is to look at the kinks met at its end.
  double share(const std::function<std::vector<double>(double theta)>& room);
  /// Chooses the piece anew if kinks were met; puts the weights back onto the surfaces held. True
  /// if anything changed.
  bool settle(std::vector<double>& weights, std::span<const double> metric);

 private:
  void start(std::span<const double> weights);
  void choose(std::span<const double> weights, std::span<const double> metric);
  bool put_back(std::vector<double>& weights) const;

  const Objective& objective_;
  Kinks kinks_;
  std::vector<Side> sides_;
  Piece piece_;
  std::vector<std::size_t> held_, met_;
};

}  // namespace attractor::training
