#include "attractor/kernels/circle/circle_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "attractor/base/circle_transform.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/circle/circle_passes.hpp"
#include "attractor/kernels/circle/circle_series.hpp"

namespace attractor::kernels {
namespace {

constexpr std::size_t kBlock = 16384;  // tokens: fixed, so that sums are too
constexpr double kPi = std::numbers::pi;

}  // namespace

struct CircleField::Plan {
  CircleFieldSettings settings;
  CircleModes modes;
  CircleDesign design;
  std::vector<double> powers;  // powers x modes
  CircleTransform rows;        // values: of the cells
  std::vector<double> re, im;  // S_k = sum_j w_j e^{-ik theta_j}, up to a phase
  std::vector<CircleBlock> blocks;

  // A tenth of the error for the modes left out, half for the powers, a tenth for those that a cell
  // does not need, the rest for rounding.
  explicit Plan(const CircleFieldSettings& s)
      : settings(s),
        modes(circle_modes(s.beta, 0.1 * s.accuracy)),
        design(circle_design(modes, 0.6 * s.accuracy, s.tokens)),
        powers(circle_powers(modes, design)),
        rows(design.powers + 1, design.cells),
        re(modes.value.size()),
        im(modes.value.size()),
        blocks((s.tokens + kBlock - 1) / kBlock) {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      blocks[b].begin = b * kBlock;
      blocks[b].end = std::min(s.tokens, (b + 1) * kBlock);
    }
  }

  double negligible() const { return 0.1 * settings.accuracy; }
  void add_moments();
  double spectrum();
  void polynomials();
};

// Block after block: the same sums for any number of threads.
void CircleField::Plan::add_moments() {
  const std::size_t count = design.powers, stride = rows.stride();
  std::fill_n(rows.values(0), count * stride, 0.0);
  for (const CircleBlock& block : blocks) {
    const double* moment = block.moments.data();
    for (const CirclePiece& piece : block.pieces) {
      double* value = rows.values(0) + piece.cell;
      for (std::size_t b = 0; b < count; ++b) value[b * stride] += *moment++;
    }
  }
}

// S_k = sum_b (-i)^b q_b m_b(k), m_b the transform of the moments; returns the sum of the weights
// and divides by it.
double CircleField::Plan::spectrum() {
  rows.analyse(design.powers);
  const std::size_t count = re.size();
  std::fill(re.begin(), re.end(), 0.0);
  std::fill(im.begin(), im.end(), 0.0);
  for (std::size_t b = 0; b < design.powers; ++b) {
    const double* q = powers.data() + b * count;
    const std::complex<double>* m = rows.modes(b);
    const double sign = b % 4 < 2 ? 1 : -1;
    for (std::size_t k = 0; k < count; ++k) {
      const double x = sign * q[k] * m[k].real(), y = sign * q[k] * m[k].imag();
      re[k] += b % 2 == 0 ? x : y;
      im[k] += b % 2 == 0 ? y : -x;
    }
  }
  const double total = re[0];
  for (double& x : re) x /= total;
  for (double& y : im) y /= total;
  return total;
}

// D = Re sum_k i slope_k S_k e^{ik theta}, in powers of u around each centre; then Z at the centre.
void CircleField::Plan::polynomials() {
  const std::size_t count = re.size(), all = design.cells / 2 + 1;
  for (std::size_t b = 0; b <= design.powers; ++b) {
    std::complex<double>* m = rows.modes(b);
    m[0] = 0;
    std::fill(m + count, m + all, 0.0);
    if (b == design.powers) {
      for (std::size_t k = 0; k < count; ++k)
        m[k] = {modes.value[k] * re[k], modes.value[k] * im[k]};
      break;
    }
    const double* q = powers.data() + b * count;
    const double half = (b + 1) % 4 < 2 ? 0.5 : -0.5;  // times i^{b+1}
    for (std::size_t k = 1; k < count; ++k) {
      const double x = half * modes.slope[k] * q[k] * re[k];
      const double y = half * modes.slope[k] * q[k] * im[k];
      m[k] = {b % 2 == 1 ? x : -y, b % 2 == 1 ? y : x};
    }
  }
  rows.synthesise(design.powers + 1);
}

CircleField::CircleField(const CircleFieldSettings& s) {
  if (!(s.beta >= 0 && s.beta <= 1e4))
    throw Error(fmt::format("beta = {} is not allowed; allowed on the circle: 0 .. 1e4", s.beta));
  if (!(s.accuracy >= 1e-12 && s.accuracy <= 1e-4))
    throw Error(fmt::format("accuracy = {} is not allowed; allowed: 1e-12 .. 1e-4", s.accuracy));
  if (s.tokens == 0) throw Error("0 tokens are not allowed; allowed: at least 1");
  plan_ = std::make_unique<Plan>(s);
}
CircleField::~CircleField() = default;
CircleField::CircleField(CircleField&&) noexcept = default;
CircleField& CircleField::operator=(CircleField&&) noexcept = default;

std::size_t CircleField::cells() const { return plan_->design.cells; }
std::size_t CircleField::powers() const { return plan_->design.powers; }
std::size_t CircleField::modes() const { return plan_->modes.highest(); }
double CircleField::error_bound() const { return plan_->design.bound + plan_->negligible(); }

CircleFieldSummary CircleField::evaluate(std::span<const double> angles,
                                         std::span<const double> weights,
                                         const CircleFieldOut& out) {
  Plan& plan = *plan_;
  assert(angles.size() == plan.settings.tokens);
  assert(weights.empty() || weights.size() == angles.size());
  CircleJob job{.angles = angles.data(),
                .weights = weights.empty() ? nullptr : weights.data(),
                .tokens = angles.size(),
                .cells = plan.design.cells,
                .powers = plan.design.powers,
                .origin = angles[0],
                .width = 2 * kPi / static_cast<double>(plan.design.cells)};
  const auto each_block = [&](const auto& pass) {
    parallel_for(plan.blocks.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b) pass(plan.blocks[b]);
    });
  };
  each_block([&](CircleBlock& block) { gather_moments(job, block); });
  CircleFieldSummary summary;
  for (const CircleBlock& block : plan.blocks) summary.in_order &= block.in_order;
  if (!summary.in_order) return summary;
  plan.add_moments();
  job.total = plan.spectrum();
  summary.order = std::hypot(plan.re[1], plan.im[1]);
  summary.energy = plan.modes.value[0];
  for (std::size_t k = 1; k < plan.re.size(); ++k)
    summary.energy += 2 * plan.modes.value[k] * (plan.re[k] * plan.re[k] + plan.im[k] * plan.im[k]);
  if (out.pull.empty() && out.partition.empty() && out.mean.empty()) return summary;
  plan.polynomials();
  job.rows = plan.rows.values(0);
  job.stride = plan.rows.stride();
  job.beta = plan.settings.beta;
  job.negligible = plan.negligible();
  job.out = &out;
  each_block([&](CircleBlock& block) { evaluate_polynomials(job, block); });
  for (const CircleBlock& block : plan.blocks) {
    summary.smallest_partition = std::min(summary.smallest_partition, block.smallest_partition);
    summary.largest_mean = std::max(summary.largest_mean, block.largest_mean);
    summary.largest_pull = std::max(summary.largest_pull, block.largest_pull);
  }
  return summary;
}

}  // namespace attractor::kernels
