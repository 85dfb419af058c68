#include "attractor/depth/token_groups.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace attractor::depth {

TokenGroups::TokenGroups(std::size_t tokens) {
  std::vector<std::uint32_t> owner(tokens);
  std::iota(owner.begin(), owner.end(), 0U);
  set_owner(std::move(owner));
}

void TokenGroups::set_owner(std::vector<std::uint32_t> owner) {
  owner_ = std::move(owner);
  const std::size_t groups =
      owner_.empty() ? 0 : *std::max_element(owner_.begin(), owner_.end()) + 1;
  masses_.assign(groups, 0.0);
  names_.assign(groups, 0);
  for (std::size_t i = owner_.size(); i-- > 0;) {
    masses_[owner_[i]] += 1;
    names_[owner_[i]] = static_cast<std::uint32_t>(i);
  }
}

std::vector<double> TokenGroups::expand(std::span<const double> state) const {
  const std::size_t dim = state.size() / count();
  std::vector<double> all(owner_.size() * dim);
  for (std::size_t i = 0; i < owner_.size(); ++i)
    std::copy_n(state.begin() + static_cast<std::ptrdiff_t>(owner_[i] * dim), dim,
                all.begin() + static_cast<std::ptrdiff_t>(i * dim));
  return all;
}

void TokenGroups::coalesce(const std::vector<Group>& groups, const flow::Time& now,
                           std::vector<double>& state) {
  const std::size_t dim = state.size() / count();
  const auto at = [&](std::size_t i) {
    return state.begin() + static_cast<std::ptrdiff_t>(i * dim);
  };
  std::vector<std::uint32_t> target(count());
  std::iota(target.begin(), target.end(), 0U);
  for (const Group& group : groups) {
    const std::uint32_t into = group.members.front();
    std::copy(group.centre.begin(), group.centre.end(), at(into));
    for (std::uint32_t member : group.members) target[member] = into;
    const double share = group.error / static_cast<double>(group.members.size() - 1);
    for (std::size_t k = 1; k < group.members.size(); ++k)
      coalescences_.push_back({now, names_[into], names_[group.members[k]], share});
    merge_error_ += group.error;
  }
  std::vector<std::uint32_t> place(count());
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (target[i] != i) continue;
    std::copy_n(at(i), dim, at(kept));
    place[i] = kept++;
  }
  state.resize(kept * dim);
  std::vector<std::uint32_t> owner = owner_;
  for (std::uint32_t& o : owner) o = place[target[o]];
  set_owner(std::move(owner));
}

void TokenGroups::restore(std::vector<std::uint32_t> owner, std::vector<Coalescence> coalescences,
                          double merge_error) {
  set_owner(std::move(owner));
  coalescences_ = std::move(coalescences);
  merge_error_ = merge_error;
}

}  // namespace attractor::depth
