#include "attractor/depth/coalescence/token_groups.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr double kSafety = 4;

std::span<const double> vector_of(const LogVectors& v, std::size_t k, std::size_t dim) {
  return std::span(v.unit).subspan(k * dim, dim);
}

/// Appends x e^log.
void append(std::span<const double> x, double log, LogVectors& out) {
  const double length = norm(x);
  out.log.push_back(length > 0 ? log + std::log(length) : -kInfinity);
  for (const double c : x) out.unit.push_back(length > 0 ? c / length : 0);
}

/// Offset k as a vector times e^(what is returned).
double read_scaled(const Offsets& o, std::size_t k, std::size_t dim, std::span<double> out) {
  if (!o.axes) {
    const auto unit = vector_of(o.now, k, dim);
    std::copy(unit.begin(), unit.end(), out.begin());
    return o.now.log[k];
  }
  const double top = *std::max_element(o.now.log.begin(), o.now.log.end());
  std::fill(out.begin(), out.end(), 0.0);
  if (top == -kInfinity) return -kInfinity;
  const auto base = vector_of(o.base, k, dim);
  for (std::size_t a = 0; a < dim; ++a) {
    const double factor = base[a] * std::exp(o.now.log[a] - top);
    const auto unit = vector_of(o.now, a, dim);
    for (std::size_t c = 0; c < dim; ++c) out[c] += factor * unit[c];
  }
  return o.base.log[k] + top;
}

/// Carries `all`, or the axes where they are fewer.
void begin_carrying(LogVectors all, std::size_t dim, Offsets& o) {
  o.axes = all.log.size() > dim;
  o.base = {};
  if (o.axes) {
    o.base = std::move(all);
    o.now = {.unit = std::vector<double>(dim * dim, 0.0), .log = std::vector<double>(dim, 0.0)};
    for (std::size_t a = 0; a < dim; ++a) o.now.unit[a * dim + a] = 1;
  } else {
    o.now = std::move(all);
  }
  o.start = o.now;
}

void normalise(std::span<double> x) { Sphere(x.size()).retract(x); }

}  // namespace

void Offsets::read(std::size_t k, std::size_t dim, std::span<double> out) const {
  const double scale = std::exp(read_scaled(*this, k, dim, out));
  for (double& c : out) c *= scale;
}

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

void TokenGroups::each_member(
    std::size_t token, std::size_t dim,
    const std::function<void(std::uint32_t, std::span<const double>)>& visit) const {
  const Offsets& o = below_[token];
  std::vector<double> sums(o.nodes.size() * dim), own(dim, 0.0);
  if (o.nodes.empty()) return visit(names_[token], own);
  std::vector<std::pair<std::uint32_t, std::size_t>> place(o.nodes.size());
  for (std::size_t k = 0; k < o.nodes.size(); ++k) place[k] = {o.nodes[k], k};
  std::sort(place.begin(), place.end());
  for (std::size_t k = 0; k < o.nodes.size(); ++k) {
    o.read(k, dim, own);
    const std::uint32_t above = parent_[o.nodes[k]];
    if (above != root_[token]) {
      const auto at =
          std::lower_bound(place.begin(), place.end(), std::pair(above, std::size_t{0}));
      for (std::size_t c = 0; c < dim; ++c) own[c] += sums[at->second * dim + c];
    }
    std::copy(own.begin(), own.end(), sums.begin() + static_cast<std::ptrdiff_t>(k * dim));
    if (o.nodes[k] < owner_.size()) visit(o.nodes[k], own);
  }
}

std::vector<double> TokenGroups::offsets() const {
  std::vector<double> all(below_.empty() ? 0 : owner_.size() * dim_);
  for (std::size_t s = 0; s < below_.size(); ++s)
    each_member(s, dim_, [&](std::uint32_t i, std::span<const double> xi) {
      std::copy(xi.begin(), xi.end(), all.begin() + static_cast<std::ptrdiff_t>(i * dim_));
    });
  return all;
}

double TokenGroups::extent(std::size_t token) const {
  double longest = 0;
  if (!below_.empty())
    each_member(token, dim_, [&](std::uint32_t, std::span<const double> xi) {
      longest = std::max(longest, norm(xi));
    });
  return longest;
}

std::vector<double> TokenGroups::expand(std::span<const double> state) const {
  const std::size_t dim = dim_of(state);
  std::vector<double> all(owner_.size() * dim);
  for (std::size_t i = 0; i < owner_.size(); ++i)
    std::copy_n(state.begin() + static_cast<std::ptrdiff_t>(owner_[i] * dim), dim,
                all.begin() + static_cast<std::ptrdiff_t>(i * dim));
  for (std::size_t s = 0; s < below_.size(); ++s) {
    if (below_[s].nodes.empty()) continue;
    each_member(s, dim, [&](std::uint32_t i, std::span<const double> xi) {
      const auto x = std::span(all).subspan(i * dim, dim);
      for (std::size_t c = 0; c < dim; ++c) x[c] += xi[c];
      normalise(x);
    });
  }
  return all;
}

double TokenGroups::merge_error() const {
  double shifted = 0, inside = 0;
  for (std::size_t k = 0; k < shift_.size(); k += dim_)
    shifted = std::max(shifted, norm(std::span(shift_).subspan(k, dim_)));
  for (std::size_t s = 0; s < below_.size(); ++s)
    if (below_[s].relative_error > 0)
      inside = std::max(inside, below_[s].relative_error * extent(s));
  // Nothing is farther off than across the sphere.
  const double late = std::min(2.0, std::abs(delay_.time) * delay_.speed);
  return std::min(2.0, kSafety * (shifted + late + inside) + bound_);
}

double TokenGroups::offset_error() const {
  double worst = 0;
  for (const Offsets& o : below_) worst = std::max(worst, o.relative_error);
  return worst;
}

// The members become children of a new node at the centre; their offsets are what they are.
void TokenGroups::adopt(const Group& group, std::span<const double> state, std::size_t dim) {
  const Sphere sphere(dim);
  Offsets merged;
  LogVectors all;
  const auto node = static_cast<std::uint32_t>(parent_.size());
  parent_.push_back(kNone);
  std::vector<double> x(dim);
  const auto add = [&](std::uint32_t id, double log) {
    sphere.project(group.centre, x);
    append(x, log, all);
    merged.nodes.push_back(id);
  };
  for (const std::uint32_t s : group.members) {
    for (std::size_t c = 0; c < dim; ++c) x[c] = state[s * dim + c] - group.centre[c];
    parent_[root_[s]] = node;
    add(root_[s], 0);
    const Offsets& old = below_[s];
    for (std::size_t k = 0; k < old.nodes.size(); ++k) {
      const double log = read_scaled(old, k, dim, x);
      add(old.nodes[k], log);
    }
    merged.relative_error = std::max(merged.relative_error, old.relative_error);
  }
  begin_carrying(std::move(all), dim, merged);
  root_[group.members.front()] = node;
  below_[group.members.front()] = std::move(merged);
}

std::vector<std::uint32_t> TokenGroups::coalesce(const std::vector<Group>& groups,
                                                 const flow::Time& now,
                                                 std::vector<double>& state) {
  const std::size_t dim = dim_of(state);
  if (below_.empty()) {
    dim_ = dim;
    parent_.assign(owner_.size(), kNone);
    root_ = names_;
    below_.resize(count());
  }
  if (shift_.empty()) shift_.assign(state.size(), 0.0);
  const auto at = [&](std::vector<double>& rows, std::size_t i) {
    return rows.begin() + static_cast<std::ptrdiff_t>(i * dim);
  };
  std::vector<std::uint32_t> target(count());
  std::iota(target.begin(), target.end(), 0U);
  for (const Group& group : groups) {
    const std::uint32_t into = group.members.front();
    adopt(group, state, dim);
    std::vector<double> shifted(dim, 0.0);
    double mass = 0;
    for (const std::uint32_t member : group.members) {
      target[member] = into;
      mass += masses_[member];
      for (std::size_t c = 0; c < dim; ++c)
        shifted[c] += masses_[member] * shift_[member * dim + c];
    }
    for (double& c : shifted) c /= mass;
    std::copy(group.centre.begin(), group.centre.end(), at(state, into));
    std::copy(shifted.begin(), shifted.end(), at(shift_, into));
    const double share = group.error / static_cast<double>(group.members.size() - 1);
    for (std::size_t k = 1; k < group.members.size(); ++k)
      coalescences_.push_back({now, names_[into], names_[group.members[k]], share});
  }
  std::vector<std::uint32_t> place(count());
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (target[i] != i) continue;
    std::copy_n(at(state, i), dim, at(state, kept));
    std::copy_n(at(shift_, i), dim, at(shift_, kept));
    root_[kept] = root_[i];
    if (kept != i) below_[kept] = std::move(below_[i]);
    place[i] = kept++;
  }
  state.resize(kept * dim);
  shift_.resize(kept * dim);
  root_.resize(kept);
  below_.resize(kept);
  std::vector<std::uint32_t> owner = owner_;
  for (std::uint32_t& o : owner) o = place[target[o]];
  set_owner(std::move(owner));
  for (std::uint32_t& t : target) t = place[t];
  return target;
}

void TokenGroups::count_committed(double error, const std::vector<Group>& groups) {
  std::size_t replaced = 0;
  for (const Group& group : groups) replaced += group.members.size() - 1;
  for (std::size_t k = coalescences_.size() - replaced; k < coalescences_.size(); ++k)
    coalescences_[k].error = error / static_cast<double>(replaced);
}

void TokenGroups::split(std::size_t token, std::vector<double>& state) {
  const std::size_t dim = dim_of(state);
  const Offsets old = std::move(below_[token]);
  // Children of the root, and which of them each node is below.
  std::vector<std::uint32_t> child_of(parent_.size(), kNone);
  std::vector<Offsets> parts;
  std::vector<LogVectors> vectors;
  std::vector<std::uint32_t> roots;
  std::vector<double> positions, x(dim);
  for (std::size_t k = 0; k < old.nodes.size(); ++k) {
    const std::uint32_t node = old.nodes[k];
    const double log = read_scaled(old, k, dim, x);
    if (parent_[node] == root_[token]) {
      child_of[node] = static_cast<std::uint32_t>(roots.size());
      roots.push_back(node);
      parts.emplace_back().relative_error = old.relative_error;
      vectors.emplace_back();
      for (std::size_t c = 0; c < dim; ++c)
        positions.push_back(state[token * dim + c] + std::exp(log) * x[c]);
      normalise(std::span(positions).last(dim));
    } else {
      child_of[node] = child_of[parent_[node]];
      parts[child_of[node]].nodes.push_back(node);
      append(x, log, vectors[child_of[node]]);
    }
  }
  for (std::size_t k = 0; k < roots.size(); ++k) {
    parent_[roots[k]] = kNone;
    begin_carrying(std::move(vectors[k]), dim, parts[k]);
  }
  // Tokens stand in the order of the first original in each.
  std::vector<std::uint32_t> owner = owner_;
  for (std::uint32_t i = 0; i < owner.size(); ++i) {
    if (owner[i] == token) owner[i] = static_cast<std::uint32_t>(count()) + child_of[i];
  }
  std::vector<std::uint32_t> place(count() + roots.size(), kNone);
  std::vector<double> new_state, new_shift;
  std::vector<std::uint32_t> new_root;
  std::vector<Offsets> new_below;
  for (std::uint32_t& o : owner) {
    if (place[o] == kNone) {
      const bool part = o >= count();
      const std::size_t k = part ? o - count() : o;
      place[o] = static_cast<std::uint32_t>(new_root.size());
      new_root.push_back(part ? roots[k] : root_[k]);
      new_below.push_back(std::move(part ? parts[k] : below_[k]));
      const auto row = part ? std::span(positions).subspan(k * dim, dim)
                            : std::span(state).subspan(k * dim, dim);
      const auto moved = std::span(shift_).subspan((part ? token : k) * dim, dim);
      new_state.insert(new_state.end(), row.begin(), row.end());
      new_shift.insert(new_shift.end(), moved.begin(), moved.end());
    }
    o = place[o];
  }
  state = std::move(new_state);
  shift_ = std::move(new_shift);
  root_ = std::move(new_root);
  below_ = std::move(new_below);
  set_owner(std::move(owner));
}

TokenGroups::Book TokenGroups::book() const {
  Book book{.parent = parent_, .numbers = {}};
  if (below_.empty()) return book;
  const auto put = [&](double x) { book.numbers.push_back(x); };
  const auto put_vectors = [&](const LogVectors& v) {
    book.numbers.insert(book.numbers.end(), v.unit.begin(), v.unit.end());
    book.numbers.insert(book.numbers.end(), v.log.begin(), v.log.end());
  };
  for (std::size_t s = 0; s < below_.size(); ++s) {
    const Offsets& o = below_[s];
    put(root_[s]);
    put(static_cast<double>(o.nodes.size()));
    for (const std::uint32_t node : o.nodes) put(node);
    put(o.axes ? 1 : 0);
    put(o.relative_error);
    if (o.axes) put_vectors(o.base);
    put_vectors(o.now);
  }
  for (const double x : {bound_, delay_.time, delay_.log_unit, delay_.speed}) put(x);
  book.numbers.insert(book.numbers.end(), shift_.begin(), shift_.end());
  return book;
}

namespace {

/// Reads a book number by number; what does not fit is refused.
class BookReader {
 public:
  explicit BookReader(std::span<const double> numbers) : numbers_(numbers) {}
  double next() {
    require(at_ < numbers_.size());
    return numbers_[at_++];
  }
  std::uint32_t below(std::size_t limit) {
    const double x = next();
    require(x >= 0 && x < static_cast<double>(limit) && x == std::floor(x));
    return static_cast<std::uint32_t>(x);
  }
  std::vector<double> take(std::size_t count) {
    require(count <= numbers_.size() - at_);
    const auto part = numbers_.subspan(at_, count);
    at_ += count;
    return {part.begin(), part.end()};
  }
  LogVectors vectors(std::size_t count, std::size_t dim) {
    LogVectors v{.unit = take(count * dim), .log = take(count)};
    for (const double c : v.unit) require(std::abs(c) <= 1.001);
    for (const double log : v.log) require(!std::isnan(log));
    return v;
  }
  bool at_end() const { return at_ == numbers_.size(); }
  static void require(bool fits) {
    if (!fits) throw Error("the checkpoint's book of coalesced tokens is damaged");
  }

 private:
  std::span<const double> numbers_;
  std::size_t at_ = 0;
};

}  // namespace

void TokenGroups::restore(std::vector<std::uint32_t> owner, std::vector<Coalescence> coalescences,
                          const Book& book, std::size_t dim) {
  const std::size_t nodes = book.parent.size();
  set_owner(std::move(owner));
  coalescences_ = std::move(coalescences);
  parent_ = book.parent;
  root_.clear();
  below_.clear();
  shift_.clear();
  dim_ = nodes > 0 ? dim : 0;
  BookReader in(book.numbers);
  BookReader::require(nodes == 0 || nodes >= owner_.size());
  // Nodes are made after their members.
  for (std::size_t k = 0; k < nodes; ++k)
    BookReader::require(parent_[k] == kNone ||
                        (parent_[k] > k && parent_[k] < nodes && parent_[k] >= owner_.size()));
  for (std::size_t s = 0; nodes > 0 && s < count(); ++s) {
    Offsets o;
    root_.push_back(in.below(nodes));
    const std::size_t size = in.below(nodes);
    for (std::size_t k = 0; k < size; ++k) o.nodes.push_back(in.below(nodes));
    o.axes = in.below(2) == 1;
    o.relative_error = in.next();
    BookReader::require(o.relative_error >= 0 && o.axes == (size > dim));
    if (o.axes) o.base = in.vectors(size, dim);
    o.now = in.vectors(o.axes ? dim : size, dim);
    o.start = o.now;
    below_.push_back(std::move(o));
  }
  bound_ = nodes > 0 ? in.next() : 0;
  delay_ = {};
  if (nodes > 0) delay_ = {.time = in.next(), .log_unit = in.next(), .speed = in.next()};
  BookReader::require(bound_ >= 0 && std::isfinite(delay_.time) && std::isfinite(delay_.log_unit) &&
                      delay_.speed >= 0);
  if (nodes > 0) shift_ = in.take(count() * dim);
  BookReader::require(in.at_end());
  check_tree();
}

// Every node below a token hangs on it, parents first, and its leaves are the token's originals.
void TokenGroups::check_tree() const {
  std::vector<std::uint32_t> belongs(parent_.size(), kNone);
  for (std::uint32_t s = 0; s < below_.size(); ++s) {
    belongs[root_[s]] = s;
    for (const std::uint32_t node : below_[s].nodes) {
      BookReader::require(parent_[node] != kNone && belongs[parent_[node]] == s);
      belongs[node] = s;
    }
  }
  if (!below_.empty())
    for (std::size_t i = 0; i < owner_.size(); ++i) BookReader::require(belongs[i] == owner_[i]);
}

}  // namespace attractor::depth
