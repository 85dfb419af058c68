#include "attractor/depth/coalescence/coalesce.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/tokens/components.hpp"

namespace attractor::depth {
namespace {

struct View {
  const TokenFlow& flow;
  const Attention& attention;
  std::span<const double> state;
  std::size_t dim() const { return attention.dim; }
  std::span<const double> token(std::size_t i) const { return state.subspan(i * dim(), dim()); }
  double mass(std::size_t i) const { return flow.groups().masses()[i]; }
};

double group_mass(const View& view, const Group& group) {
  double mass = 0;
  for (std::uint32_t i : group.members) mass += view.mass(i);
  return mass;
}

void place_centre(const View& view, Group& group) {
  // Mean of the differences to the first member: exact however small the group is.
  const auto first = view.token(group.members.front());
  const double mass = group_mass(view, group);
  std::vector<double> mean(view.dim(), 0.0);
  for (std::uint32_t i : group.members)
    for (std::size_t a = 0; a < view.dim(); ++a)
      mean[a] += view.mass(i) / mass * (view.token(i)[a] - first[a]);
  group.centre.assign(first.begin(), first.end());
  for (std::size_t a = 0; a < view.dim(); ++a) group.centre[a] += mean[a];
  view.flow.space().retract(group.centre);
  double spread = 0;
  for (std::uint32_t i : group.members)
    spread += view.mass(i) / mass * squared_distance(view.token(i), group.centre);
  group.error = (1 + view.attention.beta) * spread;
}

bool small(const View& view, const Group& group, double radius) {
  return std::all_of(group.members.begin(), group.members.end(), [&](std::uint32_t i) {
    return squared_distance(view.token(i), group.centre) <= 4 * radius * radius;
  });
}

bool stands_alone(const View& view, const Group& group) {
  const double beta = view.attention.beta;
  double outside = 0;
  auto member = group.members.begin();
  for (std::uint32_t j = 0; j < view.flow.groups().masses().size(); ++j) {
    if (member != group.members.end() && *member == j) {
      ++member;
      continue;
    }
    const double squared = squared_distance(view.token(j), group.centre);
    outside += view.mass(j) * std::exp(-0.5 * beta * squared) * beta * squared;
  }
  return outside <= 0.5 * group_mass(view, group);
}

// <x_i - c, v_i - v_c> < 0 for all members; v_c is the mean velocity.
bool moves_inwards(const View& view, const Group& group, std::span<const double> velocity) {
  const std::size_t dim = view.dim();
  const double mass = group_mass(view, group);
  std::vector<double> mean(dim, 0.0);
  for (std::uint32_t i : group.members)
    for (std::size_t a = 0; a < dim; ++a) mean[a] += view.mass(i) / mass * velocity[i * dim + a];
  return std::all_of(group.members.begin(), group.members.end(), [&](std::uint32_t i) {
    double inward = 0, squared = 0;
    for (std::size_t a = 0; a < dim; ++a) {
      const double offset = view.token(i)[a] - group.centre[a];
      inward -= offset * (velocity[i * dim + a] - mean[a]);
      squared += offset * offset;
    }
    return inward > 0 || squared == 0;
  });
}

std::vector<Group> close_groups(const View& view, double radius) {
  const Components found = components(view.state, view.dim(), radius);
  if (found.count == view.flow.groups().masses().size()) return {};
  std::vector<Group> groups(found.count);
  for (std::uint32_t i = 0; i < found.label.size(); ++i)
    groups[found.label[i]].members.push_back(i);
  std::erase_if(groups, [](const Group& group) { return group.members.size() < 2; });
  return groups;
}

}  // namespace

std::vector<Group> coalescing_groups(const TokenFlow& flow, const Attention& attention,
                                     std::span<const double> state, double radius) {
  const View view{flow, attention, state};
  std::vector<Group> groups = close_groups(view, radius);
  if (groups.empty()) return groups;
  const bool plain = attention.by_distance() && attention.value.empty();
  std::vector<double> velocity;
  if (!plain) {
    velocity.resize(state.size());
    flow.drift(state, flow.log_unit(), velocity);
  }
  std::erase_if(groups, [&](Group& group) {
    place_centre(view, group);
    return !small(view, group, radius) ||
           !(plain ? stands_alone(view, group) : moves_inwards(view, group, velocity));
  });
  return groups;
}

}  // namespace attractor::depth
