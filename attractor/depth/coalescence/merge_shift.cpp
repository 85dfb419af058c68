#include "attractor/depth/coalescence/merge_shift.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/depth/coalescence/linearised_row.hpp"

namespace attractor::depth {
namespace {

constexpr double kShiftedTime = 1e-9;  // accuracy of the time of a step, relative

/// Members of one group before it is replaced.
struct Members {
  std::vector<double> mean;  // velocity
  double mass = 0, contraction = 0, longest = 0;
};

Members members_of(const Group& group, std::span<const double> masses,
                   std::span<const double> state, std::span<const double> velocity) {
  const std::size_t dim = group.centre.size();
  Members m{.mean = std::vector<double>(dim, 0.0)};
  for (const std::uint32_t i : group.members) {
    m.mass += masses[i];
    for (std::size_t a = 0; a < dim; ++a) m.mean[a] += masses[i] * velocity[i * dim + a];
  }
  for (double& c : m.mean) c /= m.mass;
  double inward = 0, spread = 0;
  for (const std::uint32_t i : group.members) {
    double squared = 0;
    for (std::size_t a = 0; a < dim; ++a) {
      const double xi = state[i * dim + a] - group.centre[a];
      inward -= masses[i] * xi * (velocity[i * dim + a] - m.mean[a]);
      squared += xi * xi;
    }
    spread += masses[i] * squared;
    m.longest = std::max(m.longest, std::sqrt(squared));
  }
  m.contraction = spread > 0 ? inward / spread : 0;
  return m;
}

/// The largest |v_i - v_c - J xi_i| over the members.
double largest_remainder(const Group& group, std::span<const double> state,
                         std::span<const double> velocity, const LinearisedRow& row,
                         std::span<const double> centre_velocity) {
  const std::size_t dim = group.centre.size();
  double largest = 0;
  std::vector<double> xi(dim), rest(dim);
  for (const std::uint32_t i : group.members) {
    for (std::size_t a = 0; a < dim; ++a) {
      xi[a] = state[i * dim + a] - group.centre[a];
      rest[a] = centre_velocity[a] - velocity[i * dim + a] + row.rate() * xi[a];
    }
    row.add_product(xi, 1, rest);
    Sphere(dim).project(group.centre, rest);
    largest = std::max(largest, norm(rest));
  }
  return largest;
}

/// One or three, by token and event: see the header.
double doubted(std::uint32_t token, std::size_t event) {
  const std::uint64_t mixed = (token + 0x9E3779B97F4A7C15ULL * (event + 1)) * 0xBF58476D1CE4E5B9ULL;
  return (mixed >> 40 & 1) != 0 ? 3 : 1;
}

/// e^log, as far as it can be held.
double held_exp(double log) { return std::exp(std::clamp(log, -690.0, 690.0)); }

/// The delay with the speeds of `velocity`, which is per e^log_unit, in the longer one of both
/// units of time: what is short in it may vanish.
void set_speed(TokenGroups::Delay& delay, std::span<const double> velocity, std::size_t dim,
               double log_unit) {
  const double unit = delay.time == 0 ? log_unit : std::max(delay.log_unit, log_unit);
  if (delay.time != 0) delay.time *= std::exp(delay.log_unit - unit);
  delay.log_unit = unit;
  delay.speed = 0;
  for (std::size_t k = 0; k < velocity.size(); k += dim)
    delay.speed = std::max(delay.speed, norm(velocity.subspan(k, dim)));
  delay.speed *= held_exp(unit - log_unit);
}

/// `time` e^log_unit more.
void prolong(TokenGroups::Delay& delay, double time, double log_unit) {
  const double more = time * held_exp(log_unit - delay.log_unit);
  if (std::isfinite(delay.time + more)) delay.time += more;
}

}  // namespace

void coalesce_counted(TokenFlow& flow, const Attention& attention, std::vector<Group> groups,
                      const flow::Time& now, std::vector<double>& state) {
  TokenGroups& book = flow.groups();
  if (book.count() > kMostMeasured) {  // (1 + beta) S of each group, by coalescing_groups()
    for (const Group& group : groups) book.count_bound(group.error);
    book.coalesce(groups, now, state);
    return;
  }
  const std::size_t dim = flow.space().dim();
  const std::vector<double> before = state, masses(book.masses().begin(), book.masses().end());
  std::vector<double> old(state.size());
  flow.drift(state, flow.log_unit(), old);
  std::vector<Members> members;
  double slowest = 0;
  for (const Group& group : groups) {
    members.push_back(members_of(group, masses, before, old));
    const double a = members.back().contraction;
    if (a > 0) slowest = slowest > 0 ? std::min(slowest, a) : a;
  }
  const std::vector<std::uint32_t> place = book.coalesce(groups, now, state);
  std::vector<double> fresh(state.size()), expected(state.size());
  flow.drift(state, flow.log_unit(), fresh);
  set_speed(book.delay(), fresh, dim, flow.log_unit());
  if (slowest == 0) return;  // coincident members: nothing was displaced
  for (std::size_t i = 0; i < place.size(); ++i)
    std::copy_n(old.begin() + static_cast<std::ptrdiff_t>(i * dim), dim,
                expected.begin() + static_cast<std::ptrdiff_t>(place[i] * dim));
  for (std::size_t g = 0; g < groups.size(); ++g)
    std::copy(
        members[g].mean.begin(), members[g].mean.end(),
        expected.begin() + static_cast<std::ptrdiff_t>(place[groups[g].members.front()] * dim));
  double committed = 0;
  std::vector<double> shift(dim);
  for (std::size_t s = 0; s < book.count(); ++s) {
    for (std::size_t a = 0; a < dim; ++a)
      shift[a] = (fresh[s * dim + a] - expected[s * dim + a]) / (2 * slowest);
    flow.space().project(std::span(state).subspan(s * dim, dim), shift);
    committed = std::max(committed, norm(shift));
    const double factor = doubted(book.names()[s], book.coalescences().size());
    for (std::size_t a = 0; a < dim; ++a) book.shift()[s * dim + a] += factor * shift[a];
  }
  const RowSources sources(attention, state, book.masses(), book.total());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!(members[g].contraction > 0)) continue;
    const std::size_t s = place[groups[g].members.front()];
    const LinearisedRow row(sources, s, flow.log_unit());
    const double rest =
        largest_remainder(groups[g], before, old, row, std::span(fresh).subspan(s * dim, dim));
    double& relative = book.below()[s].relative_error;
    relative = std::max(relative, rest / (members[g].contraction * members[g].longest));
  }
  book.count_committed(committed, groups);
}

namespace {

/// Moves what of the shift lies along the velocity into the delay, which the flow conserves.
void split_off_delay(TokenFlow& flow, const flow::Stretch& stretch) {
  const std::size_t dim = flow.space().dim();
  std::vector<double>& shift = flow.groups().shift();
  TokenGroups::Delay& delay = flow.groups().delay();
  std::vector<double> velocity(shift.size());
  const double unit = stretch.way ? stretch.way->unit_after : stretch.log_unit;
  flow.drift(stretch.after, unit, velocity);
  set_speed(delay, velocity, dim, unit);
  const double squared = dot(velocity, velocity);
  const double along = squared > 1e-280 ? dot(shift, velocity) / squared : 0;
  if (!std::isfinite(delay.time + along)) return;
  prolong(delay, along, unit);
  for (std::size_t k = 0; k < shift.size(); ++k) shift[k] -= along * velocity[k];
  // Linear growth means nothing beyond the size of the sphere.
  for (std::size_t k = 0; k < shift.size(); k += dim) {
    const auto row = std::span(shift).subspan(k, dim);
    const double length = norm(row);
    if (length > 1)
      for (double& c : row) c /= length;
  }
}

}  // namespace

void carry_shift(TokenFlow& flow, const Attention& attention, const flow::Stretch& stretch,
                 flow::Stepper& stepper) {
  std::vector<double>& shift = flow.groups().shift();
  const std::size_t dim = flow.space().dim(), count = flow.groups().count();
  if (stretch.after.empty()) {  // at rest: nothing is late
    flow.groups().delay().speed = 0;
    return;
  }
  if (shift.empty() || count > kMostShifted) return;
  double largest = 0;
  for (const double c : shift) largest = std::max(largest, std::abs(c));
  if (!(largest > 0)) return;
  // Far above rounding, far below the kernel's width.
  const double scale = 1e-6 / std::sqrt(1 + attention.beta) / largest;
  std::vector<double> moved(stretch.before.begin(), stretch.before.end());
  for (std::size_t k = 0; k < moved.size(); ++k) moved[k] += scale * shift[k];
  for (std::size_t s = 0; s < count; ++s)
    flow.space().retract(std::span(moved).subspan(s * dim, dim));
  stepper.restart();
  const auto error =
      stretch.way ? stepper.attempt_way(flow, moved, stretch.way->length, stretch.way->unit_before)
                  : stepper.attempt(flow, stretch.start, moved, stretch.h, stretch.log_unit);
  if (!error || std::isnan(*error)) return;
  if (stretch.way) {  // the same way takes another time
    stepper.prepare_dense(flow, stretch.start, stretch.log_unit);
    const flow::Clock clock = stepper.clock(flow, stretch.start, kShiftedTime);
    const double longer = clock.time() * held_exp(clock.log_unit() - stretch.log_unit) - stretch.h;
    prolong(flow.groups().delay(), -longer / scale, stretch.log_unit);
  }
  for (std::size_t k = 0; k < shift.size(); ++k)
    shift[k] = (stepper.next()[k] - stretch.after[k]) / scale;
  split_off_delay(flow, stretch);
}

}  // namespace attractor::depth
