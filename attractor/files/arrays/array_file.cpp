#include "attractor/files/arrays/array_file.hpp"

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
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "attractor/files/arrays/npz.hpp"
#include "attractor/files/arrays/safetensors.hpp"

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
  if (names.empty()) return "no array of numbers";
  const auto shown = names.first(std::min(names.size(), kListedNames));
  return fmt::format(
      "{}{}", fmt::join(shown, ", "),
      names.size() > shown.size() ? fmt::format(" and {} more", names.size() - shown.size()) : "");
}

std::string choose_name(const std::vector<std::string>& names, const std::string& file) {
  if (names.size() == 1) return names.front();
  std::vector<std::string> named;
  std::ranges::copy_if(names, std::back_inserter(named), [](const std::string& path) {
    const std::string last = path.substr(path.rfind('/') + 1);
    return last == "tokens" || last == "positions";
  });
  if (named.size() == 1) return named.front();
  throw Error(
      fmt::format("{}: name one array as {}:/name; the file has {}", file, file, listed(names)));
}

Array read_hdf5(const Place& place) {
  const Hdf5Reader reader(place.file);
  const std::string dataset =
      place.dataset.empty() ? choose_name(reader.datasets(), place.file) : place.dataset;
  if (!reader.exists(dataset))
    throw Error(fmt::format("{}: has no dataset {}; the file has {}", place.file, dataset,
                            listed(reader.datasets())));
  Array array = reader.read(dataset);
  return {std::move(array.shape), std::move(array.data)};
}

/// Archives without folders: their names have no slash.
template <class Archive, class Read>
Array read_member(const Archive& archive, const Place& place, const Read& read) {
  const std::vector<std::string> names = archive.names();
  if (place.dataset.empty()) return read(choose_name(names, place.file));
  const std::string wanted = place.dataset.substr(1);
  if (std::find(names.begin(), names.end(), wanted) == names.end())
    throw Error(
        fmt::format("{}: has no array {}; the file has {}", place.file, wanted, listed(names)));
  return read(wanted);
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
  if (is_hdf5(place.file)) return read_hdf5(place);
  if (is_zip(place.file)) {
    const Npz archive(place.file);
    return read_member(archive, place, [&](const std::string& name) { return archive.read(name); });
  }
  if (is_safetensors(place.file)) {
    const Safetensors file(place.file);
    return read_member(file, place, [&](const std::string& name) { return file.array(name); });
  }
  throw Error(fmt::format("{} is neither .npy, .npz, safetensors nor HDF5", place.file));
}

}  // namespace attractor
