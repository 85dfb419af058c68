#include "attractor/tokens/token_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/report/hdf5.hpp"

namespace attractor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kListedNames = 8;

struct Place {
  std::string file, dataset;
};

/// Splits "file:/dataset" at the first ":/" after which the left side is a file. A file whose own
/// name contains ":/" wins over the split.
Place parse_spec(const std::string& spec) {
  std::error_code ignored;
  if (fs::exists(spec, ignored)) return {spec, ""};
  for (std::size_t at = spec.find(":/"); at != std::string::npos; at = spec.find(":/", at + 1))
    if (fs::exists(spec.substr(0, at), ignored)) return {spec.substr(0, at), spec.substr(at + 1)};
  throw Error(fmt::format("{}: no such file", spec));
}

bool begins_like_npy(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(fmt::format("{}: cannot be opened for reading", file));
  std::array<char, kNpyMagic.size()> head = {};
  in.read(head.data(), head.size());
  return std::string_view(head.data(), static_cast<std::size_t>(in.gcount())) == kNpyMagic;
}

std::string listed(std::span<const std::string> names) {
  if (names.empty()) return "no numeric dataset";
  const auto shown = names.first(std::min(names.size(), kListedNames));
  return fmt::format(
      "{}{}", fmt::join(shown, ", "),
      names.size() > shown.size() ? fmt::format(" and {} more", names.size() - shown.size()) : "");
}

std::string choose_dataset(const Hdf5Reader& reader, const std::string& file) {
  const std::vector<std::string> names = reader.datasets();
  if (names.size() == 1) return names.front();
  std::vector<std::string> named;
  std::ranges::copy_if(names, std::back_inserter(named), [](const std::string& path) {
    return path.ends_with("/tokens") || path.ends_with("/positions");
  });
  if (named.size() == 1) return named.front();
  throw Error(
      fmt::format("{}: name one dataset as {}:/path; the file has {}", file, file, listed(names)));
}

Array read_hdf5(const Place& place) {
  const Hdf5Reader reader(place.file);
  const std::string dataset =
      place.dataset.empty() ? choose_dataset(reader, place.file) : place.dataset;
  if (!reader.exists(dataset))
    throw Error(fmt::format("{}: has no dataset {}; the file has {}", place.file, dataset,
                            listed(reader.datasets())));
  Hdf5Array array = reader.read(dataset);
  return {std::move(array.shape), std::move(array.data)};
}

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

void require_finite(const Array& array, const std::string& spec) {
  const auto bad = std::ranges::find_if_not(array.data, [](double x) { return std::isfinite(x); });
  if (bad == array.data.end()) return;
  const auto at = static_cast<std::size_t>(bad - array.data.begin());
  throw Error(fmt::format("{}: {} (counted from 0) is {}; all entries must be finite", spec,
                          place_text(array, at), *bad));
}

bool fits(std::span<const std::size_t> shape, std::span<const std::size_t> wanted) {
  return std::ranges::equal(shape, wanted, [](std::size_t have, std::size_t size) {
    return have > 0 && (size == 0 || have == size);
  });
}

/// Divides by the largest entry first, so that no square overflows or vanishes.
void normalise(std::span<double> row, std::size_t index, const std::string& spec) {
  double largest = 0;
  for (const double x : row) largest = std::max(largest, std::abs(x));
  if (largest == 0)
    throw Error(fmt::format(
        "{}: row {} (counted from 0) is zero and cannot be scaled to unit length", spec, index));
  double squares = 0;
  for (double& x : row) {
    x /= largest;
    squares += x * x;
  }
  const double length = std::sqrt(squares);
  for (double& x : row) x /= length;
}

}  // namespace

std::string file_of(const std::string& spec) { return parse_spec(spec).file; }

Array read_array(const std::string& spec) {
  const Place place = parse_spec(spec);
  std::error_code ignored;
  if (!fs::is_regular_file(place.file, ignored))
    throw Error(fmt::format("{}: not a file", place.file));
  if (begins_like_npy(place.file)) {
    if (place.dataset.empty()) return read_npy(place.file);
    throw Error(fmt::format("{}: an .npy file holds a single array; leave out :{}", place.file,
                            place.dataset));
  }
  if (!is_hdf5(place.file)) throw Error(fmt::format("{} is neither .npy nor HDF5", place.file));
  return read_hdf5(place);
}

Array read_tokens(const std::string& spec, bool unit_length) {
  Array array = read_array(spec);
  if (array.shape.size() != 2 || array.shape[0] < 1 || array.shape[1] < 2)
    throw Error(
        fmt::format("{}: tokens have the shape {}; allowed is (n, d) with n >= 1 and d >= 2", spec,
                    shape_text(array)));
  require_finite(array, spec);
  if (!unit_length) return array;
  const std::size_t dim = array.shape[1];
  for (std::size_t i = 0; i < array.shape[0]; ++i)
    normalise(std::span(array.data).subspan(i * dim, dim), i, spec);
  return array;
}

Array read_weights(const std::string& spec, const std::vector<std::size_t>& shape,
                   const std::string& axes) {
  Array array = read_array(spec);
  const bool left_out = shape.size() > 1 && shape[0] == 1 &&
                        fits(array.shape, std::span<const std::size_t>(shape).subspan(1));
  if (!left_out && !fits(array.shape, shape)) {
    std::vector<std::string> sizes;
    for (const std::size_t size : shape)
      sizes.push_back(size == 0 ? "any" : fmt::format("{}", size));
    const bool one = shape.size() > 1 && shape[0] == 1;  // the first axis may be left out
    const std::string short_form =
        one ? fmt::format(", or ({})", fmt::join(std::span(sizes).subspan(1), ", ")) : "";
    throw Error(fmt::format("{}: the weights have the shape {}; allowed is {} = ({}){}", spec,
                            shape_text(array), axes, fmt::join(sizes, ", "), short_form));
  }
  require_finite(array, spec);
  if (left_out) array.shape.insert(array.shape.begin(), 1);
  return array;
}

}  // namespace attractor
