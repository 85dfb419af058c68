#include "attractor/kernels/sphere/sphere_transform.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <mutex>
#include <vector>

#include "attractor/base/fft.hpp"
#include "attractor/base/scratch.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/sphere/sphere_steps.hpp"

namespace attractor::kernels {
namespace {

double real(std::size_t k) { return static_cast<double>(k); }

/// Values at the nodes of a band, cells x nodes, and their Fourier modes over the cells.
struct Workspace {
  Scratch<double> values;
  Scratch<std::complex<double>> modes;
  Scratch<double> turning;

  double* spectrum() const { return reinterpret_cast<double*>(modes.get()); }
};

}  // namespace

struct SphereTransform::Plan {
  const SphereModes& modes;
  const SphereCells& cells;
  std::size_t rings;              // of a hemisphere, padded
  std::vector<RealFft> bands;     // over the cells, for every node of a band
  std::vector<double> cosine;     // rings
  std::vector<double> start;      // modes x rings: P_m^m
  std::vector<double> recursion;  // for each m from its offset on: pairs for l = m + 1, m + 2, ..
  std::vector<std::size_t> recursion_of;
  std::vector<double> ring_modes, along_modes;                  // (modes + 1) x 4 x rings
  std::vector<SphereSums> sums;                                 // of each m
  std::size_t most_nodes = 0, most_values = 0, most_modes = 0;  // of a band
  std::vector<std::unique_ptr<Workspace>> idle;
  std::mutex mutex;

  Plan(const SphereModes& m, const SphereCells& c);
  std::unique_ptr<Workspace> borrow();
  void give_back(std::unique_ptr<Workspace> workspace);
  double* of_mode(std::vector<double>& all, std::size_t m) { return all.data() + m * 4 * rings; }
  template <class Body>
  void each_band(const Body& body);
  void analyse(const double* moments);
  void synthesise(std::vector<double>& from, double* polynomials);
  SphereRings rings_of(std::size_t m) const;
};

SphereTransform::Plan::Plan(const SphereModes& m, const SphereCells& c)
    : modes(m), cells(c), rings((c.ring_cosine.size() + 15) / 16 * 16) {
  const std::size_t count = modes.highest() + 1;
  cosine.assign(rings, 0.0);
  std::copy(c.ring_cosine.begin(), c.ring_cosine.end(), cosine.begin());
  start.assign(count * rings, 0.0);
  for (std::size_t i = 0; i < c.ring_sine.size(); ++i) {
    double value = 1;  // from below 1e-200 none reaches 1e-50 while L < 1000
    for (std::size_t k = 0; k < count; ++k) {
      start[k * rings + i] = value < 1e-200 ? 0 : value;
      value *= c.ring_sine[i] * std::sqrt((2 * real(k) + 1) / (2 * real(k) + 2));
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    recursion_of.push_back(recursion.size());
    const double square = real(k) * real(k);
    for (std::size_t l = k + 1; l <= count + 1; ++l) {
      const double below = std::sqrt(real(l) * real(l) - square);
      recursion.push_back((2 * real(l) - 1) / below);
      recursion.push_back(std::sqrt(std::max(0.0, real(l - 1) * real(l - 1) - square)) / below);
    }
  }
  ring_modes.assign(count * 4 * rings, 0.0);
  sums.resize(count);
  for (const SphereBand& band : c.bands) {
    most_nodes = std::max(most_nodes, band.nodes());
    most_values = std::max(most_values, band.count * band.nodes());
    most_modes = std::max(most_modes, (band.count / 2 + 1) * band.nodes());
    bands.emplace_back(band.count, band.nodes());
  }
}

std::unique_ptr<Workspace> SphereTransform::Plan::borrow() {
  {
    const std::lock_guard lock(mutex);
    if (!idle.empty()) {
      auto workspace = std::move(idle.back());
      idle.pop_back();
      return workspace;
    }
  }
  return std::make_unique<Workspace>(Workspace{Scratch<double>(most_values),
                                               Scratch<std::complex<double>>(most_modes),
                                               Scratch<double>(4 * most_nodes)});
}

void SphereTransform::Plan::give_back(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(workspace));
}

/// body(band, its transform, hemisphere, workspace)
template <class Body>
void SphereTransform::Plan::each_band(const Body& body) {
  parallel_for(2 * bands.size(), 1, [&](std::size_t begin, std::size_t end) {
    auto workspace = borrow();
    for (std::size_t k = begin; k < end; ++k)  // the longest bands first
      body(cells.bands[bands.size() - 1 - k / 2], bands[bands.size() - 1 - k / 2], k % 2,
           *workspace);
    give_back(std::move(workspace));
  });
}

void SphereTransform::Plan::analyse(const double* moments) {
  each_band([&](const SphereBand& band, const RealFft& fft, std::size_t south, Workspace& w) {
    const std::size_t first = band.first + south * band.count;
    multiply({.left = moments + first * cells.stride,
              .right = band.source.data(),
              .out = w.values.get(),
              .rows = band.count,
              .inner = cells.coefficients,
              .columns = band.nodes(),
              .left_stride = cells.stride});
    fft.analyse(w.values.get(), w.modes.get());
    gather_rings({.band = &band,
                  .spectrum = w.spectrum(),
                  .turning = w.turning.get(),
                  .rings = ring_modes.data() + 2 * south * rings + band.first_ring,
                  .ring_stride = rings,
                  .modes = modes.highest() + 1});
  });
}

void SphereTransform::Plan::synthesise(std::vector<double>& from, double* polynomials) {
  each_band([&](const SphereBand& band, const RealFft& fft, std::size_t south, Workspace& w) {
    const std::size_t first = band.first + south * band.count;
    spread_rings({.band = &band,
                  .spectrum = w.spectrum(),
                  .turning = w.turning.get(),
                  .rings = from.data() + 2 * south * rings + band.first_ring,
                  .ring_stride = rings,
                  .modes = modes.highest() + 1});
    fft.synthesise(w.modes.get(), w.values.get());
    multiply({.left = w.values.get(),
              .right = band.target.data(),
              .out = polynomials + first * cells.stride,
              .rows = band.count,
              .inner = band.nodes(),
              .columns = cells.stride,
              .left_stride = band.nodes()});
  });
}

SphereRings SphereTransform::Plan::rings_of(std::size_t m) const {
  return {.rings = rings,
          .terms = modes.highest() + 1 - m,
          .cosine = cosine.data(),
          .start = start.data() + m * rings,
          .recursion = recursion.data() + recursion_of[m]};
}

SphereTransform::SphereTransform(const SphereModes& modes, const SphereCells& cells)
    : plan_(std::make_unique<Plan>(modes, cells)) {}
SphereTransform::~SphereTransform() = default;

SphereSums SphereTransform::apply(const double* moments, double total, double* slope,
                                  double* along) {
  Plan& plan = *plan_;
  const std::size_t count = plan.modes.highest() + 1;
  plan.analyse(moments);
  if (along) plan.along_modes.resize(plan.ring_modes.size());
  parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
    std::vector<double> a(2 * (count + 1)), scaled(a.size());
    for (std::size_t m = begin; m < end; ++m) {
      const SphereRings rings = plan.rings_of(m);
      double* in = plan.of_mode(plan.ring_modes, m);
      analyse_latitudes(rings, in, a.data());
      SphereSums& sums = plan.sums[m] = {};
      for (std::size_t k = 0; k < rings.terms; ++k) {
        a[2 * k] /= total;
        a[2 * k + 1] /= total;
        const double square =
            (m == 0 ? 1 : 2) * (a[2 * k] * a[2 * k] + a[2 * k + 1] * a[2 * k + 1]);
        sums.energy += plan.modes.value[m + k] * square;
        if (m + k == 1) sums.order += square;
      }
      const auto back = [&](const std::vector<double>& factors, double* out) {
        for (std::size_t k = 0; k < rings.terms; ++k)
          for (std::size_t part = 0; part < 2; ++part)
            scaled[2 * k + part] = factors[m + k] * a[2 * k + part];
        scaled[2 * rings.terms] = scaled[2 * rings.terms + 1] = 0;
        synthesise_latitudes(rings, scaled.data(), out);
      };
      if (along) back(plan.modes.along, plan.of_mode(plan.along_modes, m));
      if (slope) back(plan.modes.slope, in);
    }
  });
  SphereSums sums;
  for (const SphereSums& of_mode : plan.sums) {
    sums.energy += of_mode.energy;
    sums.order += of_mode.order;
  }
  sums.order = std::sqrt(sums.order);
  if (slope) plan.synthesise(plan.ring_modes, slope);
  if (along) plan.synthesise(plan.along_modes, along);
  return sums;
}

}  // namespace attractor::kernels
