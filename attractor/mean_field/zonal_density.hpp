// Axisymmetric mean field on S^{d-1}, any d >= 2: a density f(t), t = <x, e_1>, relative to
// uniform. With f = sum_l c_l p_l (gegenbauer.hpp) and the potential
//
//   V = sum_l (lambda_l/beta) c_l p_l  (USA),    V = (1/beta) ln sum_l lambda_l c_l p_l  (SA),
//
// tokens move by t' = (1 - t^2) V'(t), so
//
//   c_l' = E[(1 - t^2) V' p_l'] - kappa l (l + d - 2) c_l.
//
// ZonalDensity keeps c_1 .. c_L (c_0 = 1 is the mass) and takes E by a Gauss rule: exact for USA,
// spectrally accurate for SA; cost O(L^2) a drift. L is doubled as truncation.hpp says, where the
// size of c_l is |c_l|/p_l(1), the share of a point mass that it is. ZonalLabels keeps polar angles
// with weights, which survive concentration: angle' = -sin(angle) V'(cos angle); cost O(nL).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/mean_field/truncation.hpp"
#include "attractor/stability/gegenbauer.hpp"
#include "attractor/stability/sphere_spectrum.hpp"

namespace attractor::meanfield {

struct ZonalAttention {
  std::size_t dim = 3;
  Rule rule = Rule::softmax;
  double beta = 1;
  double noise = 0;  // kappa
};

class ZonalDensity final : public flow::Flow {
 public:
  ZonalDensity(const ZonalAttention& attention, const ModePlan& degrees);
  /// As many degrees from the start to the end.
  ZonalDensity(const ZonalAttention& attention, std::size_t degrees);

  const Space& space() const override { return space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }

  bool simplify(const flow::Time& now, std::vector<double>& state) override;

  std::size_t degrees() const { return truncation_.modes(); }
  const Truncation& truncation() const { return truncation_; }
  bool unresolved() const { return truncation_.unresolved(); }
  /// The feed of the missing degrees (truncation.hpp) per unit e^log_unit of time.
  double feed(std::span<const double> state, double log_unit) const;
  const GaussRule& rule() const { return rule_; }
  /// f at the nodes of rule().
  std::vector<double> values(std::span<const double> state) const;

 private:
  void make_tables();
  /// The weight of a node times f (1 - t^2) V'.
  double flux(std::size_t node, std::span<const double> state, double factor) const;

  ZonalAttention attention_;
  Truncation truncation_;
  Euclidean space_{1};
  SphereSpectrum spectrum_;
  double log_unit_;
  GaussRule rule_;
  std::size_t stride_ = 0;          // L + 1, or 2L + 1 where missing degrees are watched
  std::vector<double> p_, slopes_;  // nodes x stride
  std::vector<double> at_pole_;     // p_l(1)
};

class ZonalLabels final : public flow::Flow {
 public:
  /// Positive weights of sum one. attention.noise must be 0.
  ZonalLabels(const ZonalAttention& attention, std::vector<double> weights);

  const Space& space() const override { return space_; }
  void drift(std::span<const double> angles, double log_unit, std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }

  std::span<const double> weights() const { return weights_; }
  /// c_0 = 1, c_1, ..., c_{count-1}.
  std::vector<double> coefficients(std::span<const double> angles, std::size_t count) const;

 private:
  ZonalAttention attention_;
  Euclidean space_{1};
  SphereSpectrum spectrum_;
  double log_unit_;
  std::vector<double> weights_;
};

/// E<x, e_1> of a law with these coefficients (c_0 = 1 first).
double zonal_order(std::size_t dim, std::span<const double> coefficients);

/// ln of E = (1/2 beta) E e^{beta <x,y>}; at beta = 0 of (E<x, e_1>)^2/2.
double zonal_log_energy(const SphereSpectrum& spectrum, std::span<const double> coefficients);

}  // namespace attractor::meanfield
