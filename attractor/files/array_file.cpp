#include "attractor/files/array_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/files/hdf5.hpp"
#include "attractor/files/npy.hpp"

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
  Array array = reader.read(dataset);
  return {std::move(array.shape), std::move(array.data)};
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

}  // namespace attractor
