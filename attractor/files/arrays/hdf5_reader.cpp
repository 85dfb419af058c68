// The HDF5 library parses what strangers wrote, and is known to crash, hang and take memory without
// end on files with one flipped bit. So it does that in a process apart (base/apart.hpp): Source is
// the file there, Hdf5Reader asks it questions, each a letter and one or two texts; an answer is 1
// and what was asked for, or 0 and the sentence of an Error.
#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>

#include "attractor/base/apart.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/files/arrays/hdf5_handle.hpp"

namespace attractor {
namespace {

using namespace hdf5;

constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 31;
// Deflate shrinks at most 1032 times; a chunked dataset that claims more is a decompression bomb.
constexpr std::uint64_t kMaxCompression = 2048;
constexpr std::ptrdiff_t kMaxDepth = 32;
constexpr std::size_t kBlock = std::size_t{1} << 22;  // numbers that are read and sent together

/// Access to objects by path that does not leave the file.
Handle inside() {
  Handle access(H5Pcreate(H5P_LINK_ACCESS), H5Pclose, "HDF5 property list");
  const auto refuse = [](auto...) -> herr_t { return -1; };
  check(H5Pset_elink_cb(access, refuse, nullptr), "HDF5 property list");
  return access;
}

bool is_number(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  return (kind == H5T_FLOAT || kind == H5T_INTEGER) && H5Tget_size(type) <= 16;
}

/// The shape of a simple dataspace with at most 2^31 elements.
std::vector<std::size_t> checked_shape(hid_t space, const std::string& what) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL)
    throw Error(fmt::format("{}: the dataspace is empty; only arrays of numbers are read", what));
  std::array<hsize_t, H5S_MAX_RANK> buffer;
  const int rank = H5Sget_simple_extent_dims(space, buffer.data(), nullptr);
  check(rank, what);
  const auto dims = std::span(buffer).first(static_cast<std::size_t>(rank));
  std::uint64_t bound = 1;  // a zero dimension must not hide an absurd one
  for (const hsize_t dim : dims) {
    if (dim > kMaxElements / bound)
      throw Error(fmt::format("{}: declares more than {} elements", what, kMaxElements));
    bound *= std::max<hsize_t>(dim, 1);
  }
  return {dims.begin(), dims.end()};
}

/// Refuses data that lie in other files, and storage too small for what the dataspace declares.
void check_storage(hid_t dataset, std::uint64_t needed, std::uint64_t file_bytes,
                   const std::string& what) {
  const Handle list(H5Dget_create_plist(dataset), H5Pclose, what);
  const H5D_layout_t layout = H5Pget_layout(list);
  if (layout == H5D_VIRTUAL || H5Pget_external_count(list) != 0)
    throw Error(fmt::format("{}: the data lie in other files, which are not read", what));
  const hsize_t stored = H5Dget_storage_size(dataset);
  const std::uint64_t limit = layout == H5D_CHUNKED ? stored * kMaxCompression : stored;
  if (stored > file_bytes || limit < needed)
    throw Error(fmt::format("{}: declares {} bytes of data, stores {}, in a file of {} bytes", what,
                            needed, stored, file_bytes));
}

struct Visit {
  std::vector<std::string> paths;
  std::string failure;  // why the visit stopped; exceptions must not pass through C
};

herr_t collect(hid_t root, const char* name, const H5O_info_t* info, void* out) {
  Visit& visit = *static_cast<Visit*>(out);
  try {
    const std::string path = name;
    if (std::ranges::count(path, '/') > kMaxDepth)
      throw Error(fmt::format("groups are nested more than {} deep", kMaxDepth));
    if (info->type != H5O_TYPE_DATASET) return 0;
    const Handle dataset(H5Oopen(root, name, inside()), H5Oclose, path);
    const Handle type(H5Dget_type(dataset), H5Tclose, path);
    if (is_number(type)) visit.paths.push_back(absolute(path));
    return 0;
  } catch (const std::exception& error) {
    visit.failure = error.what();
    return -1;
  }
}

Handle open_attribute(hid_t file, const std::string& object, const std::string& name,
                      const std::string& what) {
  const Handle owner(H5Oopen(file, object.c_str(), inside()), H5Oclose, what);
  Handle attribute(H5Aopen(owner, name.c_str(), H5P_DEFAULT), H5Aclose, what);
  const Handle space(H5Aget_space(attribute), H5Sclose, what);
  if (product(checked_shape(space, what)) != 1)
    throw Error(fmt::format("{}: not a single value", what));
  return attribute;
}

/// Blocks of an array in row-major order: whole rows of its last axes, so many at a time.
class Blocks {
 public:
  explicit Blocks(const std::vector<std::size_t>& shape)
      : shape_(shape.begin(), shape.end()), start_(shape.size(), 0), size_(shape_) {
    std::size_t below = 1;  // numbers in one step along the axis
    axis_ = shape.size();
    while (axis_ > 0 && below * shape[axis_ - 1] <= kBlock) below *= shape[--axis_];
    for (std::size_t a = 0; a + 1 < axis_; ++a) size_[a] = 1;
    if (axis_ > 0) step_ = size_[axis_ - 1] = std::max<std::size_t>(1, kBlock / below);
  }

  bool done() const { return done_; }
  std::size_t count() const {
    std::size_t all = 1;
    for (std::size_t a = 0; a < shape_.size(); ++a) all *= length(a);
    return all;
  }
  /// Numbers of the present block, into `out`.
  void read(hid_t dataset, const std::string& what, std::vector<double>& out) const {
    const Handle from(H5Dget_space(dataset), H5Sclose, what);
    std::vector<hsize_t> lengths(shape_.size());
    for (std::size_t a = 0; a < lengths.size(); ++a) lengths[a] = length(a);
    const auto rank = static_cast<int>(lengths.size());
    if (rank > 0)
      check(H5Sselect_hyperslab(from, H5S_SELECT_SET, start_.data(), nullptr, lengths.data(),
                                nullptr),
            what);
    const Handle to(
        rank > 0 ? H5Screate_simple(rank, lengths.data(), nullptr) : H5Screate(H5S_SCALAR),
        H5Sclose, what);
    out.resize(count());
    check(H5Dread(dataset, H5T_NATIVE_DOUBLE, to, from, H5P_DEFAULT, out.data()), what);
  }
  void next() {
    for (std::size_t a = axis_; a-- > 0;) {
      start_[a] += a + 1 == axis_ ? step_ : 1;
      if (start_[a] < shape_[a]) return;
      start_[a] = 0;
    }
    done_ = true;
  }

 private:
  std::size_t length(std::size_t a) const {
    return std::min<std::size_t>(size_[a], shape_[a] - start_[a]);
  }

  std::vector<hsize_t> shape_, start_, size_;
  std::size_t axis_ = 0, step_ = 1;  // blocks are cut along the axis before this one
  bool done_ = false;
};

/// A file as the process apart has it.
class Source {
 public:
  Source(std::string name, std::uintmax_t bytes)
      : name_(std::move(name)),
        bytes_(bytes),
        file_(H5Fopen(name_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose,
              fmt::format("{}: cannot be opened as HDF5", name_)) {}

  std::vector<std::string> datasets() const;
  bool exists(const std::string& path) const;
  bool is_whole(const std::string& path) const;
  void read(const std::string& path, Channel& out) const;
  std::string text_attribute(const std::string& object, const std::string& name) const;
  double number_attribute(const std::string& object, const std::string& name) const;

 private:
  std::string name_;
  std::uintmax_t bytes_;
  Handle file_;
};

std::vector<std::string> Source::datasets() const {
  Visit visit;
  if (H5Ovisit(file_, H5_INDEX_NAME, H5_ITER_INC, collect, &visit) < 0)
    throw Error(fmt::format("{}: cannot be listed: {}", name_,
                            visit.failure.empty() ? reason() : visit.failure));
  return visit.paths;
}

bool Source::exists(const std::string& path) const {
  const hid_t object = H5Oopen(file_, absolute(path).c_str(), inside());
  if (object < 0) return false;
  H5Oclose(object);
  return true;
}

bool Source::is_whole(const std::string& path) const {
  const std::string full = absolute(path);
  const Handle object(H5Oopen(file_, full.c_str(), inside()), H5Oclose, full);
  if (H5Iget_type(object) != H5I_DATASET) return false;
  const Handle type(H5Dget_type(object), H5Tclose, full);
  return H5Tget_class(type) == H5T_INTEGER;
}

void Source::read(const std::string& path, Channel& out) const {
  const std::string full = absolute(path);
  const std::string what = fmt::format("{}:{}", name_, full);
  const Handle object(H5Oopen(file_, full.c_str(), inside()), H5Oclose, what);
  if (H5Iget_type(object) != H5I_DATASET) throw Error(fmt::format("{}: not a dataset", what));
  const Handle type(H5Dget_type(object), H5Tclose, what);
  if (!is_number(type)) throw Error(fmt::format("{}: neither floats nor integers", what));
  const Handle space(H5Dget_space(object), H5Sclose, what);
  const std::vector<std::size_t> shape = checked_shape(space, what);
  const std::size_t count = product(shape);
  check_storage(object, count * H5Tget_size(type), bytes_, what);
  out.put(std::uint64_t{1});
  out.put(static_cast<std::uint64_t>(shape.size()));
  for (const std::size_t length : shape) out.put(static_cast<std::uint64_t>(length));
  if (count == 0) return;
  std::vector<double> numbers;
  for (Blocks blocks(shape); !blocks.done(); blocks.next()) {
    blocks.read(object, what, numbers);
    out.put(std::uint64_t{1});
    out.put(std::span<const double>(numbers));
  }
}

std::string Source::text_attribute(const std::string& object, const std::string& name) const {
  const std::string what = fmt::format("{}:{} attribute {}", name_, absolute(object), name);
  const Handle attribute = open_attribute(file_, absolute(object), name, what);
  const Handle stored(H5Aget_type(attribute), H5Tclose, what);
  if (H5Tget_class(stored) != H5T_STRING) throw Error(fmt::format("{}: not a text", what));
  const Handle type(H5Tget_native_type(stored, H5T_DIR_DEFAULT), H5Tclose, what);
  if (H5Tis_variable_str(type) > 0) {
    char* pointer = nullptr;
    check(H5Aread(attribute, type, &pointer), what);
    const std::string text = pointer ? pointer : "";
    H5free_memory(pointer);
    return text;
  }
  std::string text(H5Tget_size(type), '\0');
  check(H5Aread(attribute, type, text.data()), what);
  text.resize(std::min(text.find('\0'), text.size()));
  if (H5Tget_strpad(type) == H5T_STR_SPACEPAD) text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

double Source::number_attribute(const std::string& object, const std::string& name) const {
  const std::string what = fmt::format("{}:{} attribute {}", name_, absolute(object), name);
  const Handle attribute = open_attribute(file_, absolute(object), name, what);
  const Handle type(H5Aget_type(attribute), H5Tclose, what);
  if (!is_number(type)) throw Error(fmt::format("{}: not a number", what));
  double value = 0;
  check(H5Aread(attribute, H5T_NATIVE_DOUBLE, &value), what);
  return value;
}

// ---- Questions and answers.

void answer(const Source& source, Channel& parent) {
  const std::string question = parent.text(), path = parent.text(), name = parent.text();
  const auto ok = [&] { parent.put(std::uint64_t{1}); };
  if (question == "datasets") {
    const std::vector<std::string> all = source.datasets();
    ok();
    parent.put(static_cast<std::uint64_t>(all.size()));
    for (const std::string& one : all) parent.put(std::string_view(one));
  } else if (question == "exists" || question == "whole") {
    const bool found = question == "exists" ? source.exists(path) : source.is_whole(path);
    ok();
    parent.put(std::uint64_t{found});
  } else if (question == "read") {
    source.read(path, parent);
  } else if (question == "text") {
    const std::string text = source.text_attribute(path, name);
    ok();
    parent.put(std::string_view(text));
  } else {
    const double value = source.number_attribute(path, name);
    ok();
    parent.put(value);
  }
}

void refuse(Channel& parent, std::string_view why) {
  parent.put(std::uint64_t{0});
  parent.put(why);
}

/// Until the parent goes.
void serve(const std::string& name, std::uintmax_t bytes, Channel& parent) {
  const Quiet quiet;
  std::optional<Source> source;
  for (;;) {
    try {
      if (source) {
        answer(*source, parent);
      } else {
        source.emplace(name, bytes);
        parent.put(std::uint64_t{1});
      }
    } catch (const Error& error) {
      refuse(parent, error.what());
    } catch (const std::bad_alloc&) {
      refuse(parent, fmt::format("{}: reading it takes more memory than it can hold data", name));
    }
    if (!source) return;
  }
}

/// The child's "yes", or what it refuses with.
void hear_yes(Channel& child) {
  if (child.number() != 1) throw Error(child.text());
}

}  // namespace

Hdf5Reader::Hdf5Reader(const std::filesystem::path& source, double patience) {
  const std::string name = source.string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(source, error))
    throw Error(fmt::format("{}: no such file", name));
  const std::uintmax_t bytes = std::filesystem::file_size(source, error);
  if (!is_hdf5(source)) throw Error(fmt::format("{}: not an HDF5 file", name));
  apart_ = std::make_unique<Apart>(name, ApartLimits{.seconds = patience},
                                   [&](Channel& parent) { serve(name, bytes, parent); });
  apart_->ask(hear_yes);
}

Hdf5Reader::~Hdf5Reader() = default;

void Hdf5Reader::ask(std::string_view question, std::string_view path, std::string_view name,
                     const std::function<void(Channel&)>& hear) const {
  apart_->ask([&](Channel& child) {
    for (const std::string_view word : {question, path, name}) child.put(word);
    hear_yes(child);
    hear(child);
  });
}

std::vector<std::string> Hdf5Reader::datasets() const {
  std::vector<std::string> all;
  ask("datasets", "", "", [&](Channel& child) {
    for (std::uint64_t left = child.number(); left > 0; --left) all.push_back(child.text());
  });
  return all;
}

bool Hdf5Reader::exists(std::string_view path) const {
  bool found = false;
  ask("exists", path, "", [&](Channel& child) { found = child.number() == 1; });
  return found;
}

bool Hdf5Reader::is_whole(std::string_view path) const {
  bool whole = false;
  ask("whole", path, "", [&](Channel& child) { whole = child.number() == 1; });
  return whole;
}

Array Hdf5Reader::read(std::string_view path) const {
  Array array;
  ask("read", path, "", [&](Channel& child) {
    array.shape.resize(child.number());
    for (std::size_t& length : array.shape) length = child.number();
    array.data.resize(product(array.shape));
    if (array.data.empty()) return;
    std::size_t at = 0;
    for (Blocks blocks(array.shape); !blocks.done(); blocks.next()) {
      hear_yes(child);
      child.reals(std::span(array.data).subspan(at, blocks.count()), 10);
      at += blocks.count();
    }
  });
  return array;
}

std::string Hdf5Reader::text_attribute(std::string_view object, std::string_view name) const {
  std::string text;
  ask("text", object, name, [&](Channel& child) { text = child.text(); });
  return text;
}

double Hdf5Reader::number_attribute(std::string_view object, std::string_view name) const {
  double value = 0;
  ask("number", object, name, [&](Channel& child) { value = child.real(); });
  return value;
}

bool is_hdf5(const std::filesystem::path& source) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  std::ifstream file(source, std::ios::binary);
  // At the beginning, or behind a block of the user's own of 512, 1024, 2048 ... bytes.
  for (std::streamoff at = 0; file; at = at == 0 ? 512 : 2 * at) {
    std::array<char, 8> head{};
    file.seekg(at);
    if (!file.read(head.data(), head.size())) return false;
    if (std::string_view(head.data(), head.size()) == kSignature) return true;
  }
  return false;
}

}  // namespace attractor
