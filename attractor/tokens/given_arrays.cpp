#include "attractor/tokens/given_arrays.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "attractor/base/error.hpp"
#include "attractor/space/space.hpp"

namespace attractor {
namespace {

std::string shape_text(const Array& array) {
  return fmt::format("({})", fmt::join(array.shape, ", "));
}

std::string place_text(const Array& array, std::size_t at) {
  if (array.shape.size() == 2)
    return fmt::format("row {}, column {}", at / array.shape[1], at % array.shape[1]);
  std::vector<std::size_t> place(array.shape.size());
  for (std::size_t k = place.size(); k-- > 0; at /= array.shape[k]) place[k] = at % array.shape[k];
  return fmt::format("entry ({})", fmt::join(place, ", "));
}

bool fits(std::span<const std::size_t> shape, std::span<const std::size_t> wanted) {
  return std::ranges::equal(shape, wanted, [](std::size_t have, std::size_t size) {
    return have > 0 && (size == 0 || have == size);
  });
}

/// Divides by the largest entry first, so that no square overflows or vanishes. What has unit
/// length to rounding stays as it is: the tokens of an earlier run are the same ones, bit for bit.
void normalise(std::span<double> row, std::size_t index, const std::string& name) {
  const double rounding = 4 * std::numeric_limits<double>::epsilon() *
                          std::sqrt(static_cast<double>(row.size()));  // of sums so long
  double largest = 0, square = 0;
  for (const double x : row) square += x * x;
  if (std::abs(square - 1) <= rounding) return;
  for (const double x : row) largest = std::max(largest, std::abs(x));
  if (largest == 0)
    throw Error(fmt::format(
        "{}: row {} (counted from 0) is zero and cannot be scaled to unit length", name, index));
  double squares = 0;
  for (double& x : row) {
    x /= largest;
    squares += x * x;
  }
  const double length = std::sqrt(squares);
  for (double& x : row) x /= length;
}

}  // namespace

void require_finite(const Array& array, const std::string& name) {
  const auto bad = std::ranges::find_if_not(array.data, [](double x) { return std::isfinite(x); });
  if (bad == array.data.end()) return;
  const auto at = static_cast<std::size_t>(bad - array.data.begin());
  throw Error(fmt::format("{}: {} (counted from 0) is {}; all entries must be finite", name,
                          place_text(array, at), *bad));
}

Array tokens_of(Array array, const std::string& name, bool unit_length) {
  if (array.shape.size() != 2 || array.shape[0] < 1 || array.shape[1] < 2)
    throw Error(
        fmt::format("{}: tokens have the shape {}; allowed is (n, d) with n >= 1 and d >= 2", name,
                    shape_text(array)));
  require_finite(array, name);
  if (!unit_length) return array;
  const std::size_t dim = array.shape[1];
  for (std::size_t i = 0; i < array.shape[0]; ++i)
    normalise(std::span(array.data).subspan(i * dim, dim), i, name);
  return array;
}

void require_unit_rows(std::span<const double> rows, std::size_t dim, const std::string& name,
                       double within) {
  for (std::size_t i = 0; i * dim < rows.size(); ++i)
    if (const double length = norm(rows.subspan(i * dim, dim)); !(std::abs(length - 1) <= within))
      throw Error(
          fmt::format("{}: row {} (counted from 0) has length {:.6g}; on the sphere tokens have "
                      "length 1",
                      name, i, length));
}

void require_masses(std::span<const double> masses, std::size_t count, const std::string& name) {
  if (masses.size() != count)
    throw Error(fmt::format("{} has {} numbers; allowed is one for each of {} tokens", name,
                            masses.size(), count));
  for (const double m : masses)
    if (!(m > 0 && std::isfinite(m)))
      throw Error(fmt::format("{} holds {}; allowed: above 0", name, m));
}

Array weights_of(Array array, const std::string& name, const std::vector<std::size_t>& shape,
                 const std::string& axes) {
  const bool left_out = shape.size() > 1 && shape[0] == 1 &&
                        fits(array.shape, std::span<const std::size_t>(shape).subspan(1));
  if (!left_out && !fits(array.shape, shape)) {
    std::vector<std::string> sizes;
    for (const std::size_t size : shape)
      sizes.push_back(size == 0 ? "any" : fmt::format("{}", size));
    const bool one = shape.size() > 1 && shape[0] == 1;  // the first axis may be left out
    const std::string short_form =
        one ? fmt::format(", or ({})", fmt::join(std::span(sizes).subspan(1), ", ")) : "";
    throw Error(fmt::format("{}: the weights have the shape {}; allowed is {} = ({}){}", name,
                            shape_text(array), axes, fmt::join(sizes, ", "), short_form));
  }
  require_finite(array, name);
  if (left_out) array.shape.insert(array.shape.begin(), 1);
  return array;
}

}  // namespace attractor
