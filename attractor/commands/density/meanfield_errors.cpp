#include "attractor/commands/density/meanfield_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

constexpr double kRounding = 4e-15;  // which two runs may share
constexpr double kTold = 1e-4;  // error of a density that is still told, relative to it or to 1

double larger(double a, double b) { return b > a || std::isnan(b) ? b : a; }  // NaN wins

/// The error over the difference to the twin, and some more: twice the modes leave hardly any
/// error; one over the number of labels, the slowest that errors of labels fall, is 3 for half as
/// many again and 5 for a quarter more.
double safety(const MeanfieldKind& kind) {
  if (kind.spectral) return 2;
  return kind.geometry == Geometry::general ? 7 : 4;
}

/// Of a quantity in units of its scale.
struct Bound {
  double safety;
  double operator()(double ours, double twins, double scale = 1) const {
    if (ours == twins) return kRounding;  // also infinite ones
    return safety * std::abs(ours - twins) / scale + kRounding;
  }
};

/// Relative to the energy, or to its largest value at beta = 0, where it may vanish.
double energy_error(const Bound& bound, double beta, double ours, double twins) {
  if (beta == 0) return bound(std::exp(ours), std::exp(twins), 0.5);
  return bound(ours, twins) + std::numeric_limits<double>::epsilon() * std::abs(ours);
}

struct DensityError {
  double told = 0;  // of the values handed out
  double felt = 0;  // of the law: decides whether the run is an answer
};

/// The whole circle is told; a value below zero is wrong by as much at least.
DensityError circle_error(const Bound& bound, const MeanfieldMoment& ours,
                          const MeanfieldMoment& twins, std::span<const double> row,
                          std::span<const double> twin_row) {
  const double peak = ours.largest;
  double error = std::max(
      larger(bound(ours.smallest, twins.smallest, peak), bound(ours.largest, twins.largest, peak)),
      -ours.smallest / peak);
  for (std::size_t j = 0; j < row.size(); ++j)
    error = larger(error, bound(row[j], twin_row[j], peak));
  return {error, error};
}

/// With an axis: what the twin does not confirm becomes NaN. The law of the polar angle decides,
/// in which poles of high dimension do not count.
DensityError zonal_error(const Bound& bound, std::size_t dim, std::span<const double> angles,
                         std::span<const double> twin_row, std::vector<double>& row,
                         MeanfieldMoment& moment) {
  double felt = 0, felt_peak = 0, off = 0, peak = 0;
  double smallest = kInfinity;
  bool all_told = true;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double weight = uniform_polar(dim, angles[j]), gap = std::abs(row[j] - twin_row[j]);
    if (weight > 0) {
      felt = larger(felt, weight * gap);
      felt_peak = std::max(felt_peak, weight * row[j]);
    }
    if (!(bound.safety * gap <= kTold * std::max(1.0, row[j]))) {
      row[j] = kNan;
      all_told = false;
      continue;
    }
    off = std::max(off, gap);
    peak = std::max(peak, row[j]);
    smallest = std::min(smallest, row[j]);
  }
  moment.smallest = all_told ? smallest : kNan;
  moment.largest = all_told ? peak : kNan;
  return {std::max(bound(off, 0, peak), -smallest / peak), bound(felt, 0, felt_peak)};
}

/// Labels: the density is a figure of theirs, and decides nothing. With an axis it is the law of
/// the polar angle: few labels are near a pole.
DensityError label_error(const Bound& bound, std::size_t dim, std::span<const double> angles,
                         std::span<const double> row, std::span<const double> twin_row) {
  double off = 0, peak = 0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double weight = dim == 2 ? 1 : uniform_polar(dim, angles[j]);
    off = larger(off, weight * std::abs(row[j] - twin_row[j]));
    peak = std::max(peak, weight * row[j]);
  }
  return {bound(off, 0, peak), 0};
}

void end_before(std::size_t output, MeanfieldRecord& record) {
  record.resolved = false;
  const double reached = output > 0 ? record.history[output - 1].time : 0;
  record.reached_natural *= record.reached > 0 ? reached / record.reached : 0;
  record.reached = reached;
  record.history.resize(output);
  record.density.resize(std::min(output, record.density.size()));
}

}  // namespace

void judge(const MeanfieldSetup& p, const MeanfieldKind& kind, const MeanfieldRecord& twin,
           MeanfieldRecord& record) {
  const double limit = most_error(p);
  const Bound bound{safety(kind)};
  MeanfieldErrors& e = record.errors;
  e = {.order = 0,
       .energy = 0,
       .entropy = kind.spectral ? 0 : kNan,
       .density = record.density.empty() ? kNan : 0};
  e.growth = bound(record.growth_measured, twin.growth_measured);
  const std::size_t judged = std::min(record.history.size(), twin.history.size());
  record.history.resize(judged);
  record.density.resize(std::min(judged, record.density.size()));
  for (std::size_t k = 0; k < judged; ++k) {
    MeanfieldMoment& ours = record.history[k];
    const MeanfieldMoment& twins = twin.history[k];
    DensityError density;
    if (!record.density.empty()) {
      if (!kind.spectral)
        density = label_error(bound, p.dim, record.angles, record.density[k], twin.density[k]);
      else if (kind.geometry == Geometry::circle)
        density = circle_error(bound, ours, twins, record.density[k], twin.density[k]);
      else
        density =
            zonal_error(bound, p.dim, record.angles, twin.density[k], record.density[k], ours);
    }
    const double order = bound(ours.order, twins.order);
    const double energy = energy_error(bound, p.beta, ours.log_energy, twins.log_energy);
    const double worst = larger(larger(order, energy), density.felt);
    record.worst_error = larger(record.worst_error, worst);
    if (!(worst <= limit)) return end_before(k, record);
    e.order = std::max(e.order, order);
    e.energy = std::max(e.energy, energy);
    e.entropy = larger(e.entropy, bound(ours.entropy, twins.entropy));
    e.density = larger(e.density, density.told);
  }
}

}  // namespace attractor::lab
