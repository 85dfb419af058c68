// The clock of a step: which share of its time has passed at which share of its way.
//
// Steps of time have a clock that runs evenly. A step of displacement s, ds = |v| dt, takes
//
//   t(theta) = int_0^theta e^{phi(u)} du,      phi = ln (length / |v|),   0 <= theta <= 1,
//
// where phi may fall by thousands within a step (|v| = e^{-beta(1 - cos)} along the way of a pair),
// but is as smooth as the way itself. So phi is interpolated, not its exponential: in the points of
// Clenshaw and Curtis, 4, 8 or 16 pieces and halves of them until the last coefficients are below
// `accuracy`, and only where it is within e^-40 of its maximum. The exponential of the polynomial
// is integrated by Gauss's formula, with the maximum taken out. Cost: three to fifteen values of
// phi.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace attractor::flow {

class Clock {
 public:
  /// phi at a share of the way, strictly inside.
  using LogRate = std::function<double(double theta)>;

  /// Runs evenly: all the time that there is, one.
  Clock() = default;
  /// `first`, `last`: phi at both ends. `one_sided`: it is largest at one of them.
  Clock(const LogRate& phi, double first, double last, bool one_sided, double accuracy);

  /// The whole time is time() e^log_unit().
  double log_unit() const { return top_; }
  double time() const { return pieces_.empty() ? 1 : pieces_.back().until; }
  /// Estimated error of its logarithm.
  double error() const { return error_; }

  /// Share of the time at a share of the way, and back.
  double share(double theta) const;
  double theta(double share) const;

 private:
  /// phi on a part of the way, by coefficients of Chebyshev.
  struct Panel {
    double from, to;
    std::vector<double> coefficients;
    double at(double theta) const;
  };
  struct Piece {
    std::size_t panel;
    double from, to, until;  // time passed at its end
  };

  void interpolate(const LogRate& phi, Panel panel, double first, double last, double accuracy,
                   int halvings);
  void integrate(const Panel& panel, std::size_t index);
  double time_between(const Panel& panel, double from, double to) const;

  std::vector<Panel> panels_;
  std::vector<Piece> pieces_;
  double top_ = 0, error_ = 0;
};

}  // namespace attractor::flow
