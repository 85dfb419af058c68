#include "attractor/files/arrays/hdf5.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/arrays/hdf5_handle.hpp"

namespace attractor {
namespace {

using namespace hdf5;

static_assert(std::is_same_v<hid_t, std::int64_t>, "the header declares HDF5 identifiers as int64");

/// A property list for creating files, groups or datasets without time stamps.
Handle timeless(hid_t kind) {
  Handle list(H5Pcreate(kind), H5Pclose, "HDF5 property list");
  check(H5Pset_obj_track_times(list, false), "HDF5 property list");
  return list;
}

Handle make_space(const Hdf5Writer::Shape& shape) {
  const std::vector<hsize_t> dims(shape.begin(), shape.end());
  return {dims.empty() ? H5Screate(H5S_SCALAR)
                       : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
          H5Sclose, "HDF5 dataspace"};
}

/// A UTF-8 string type of `size` bytes padded with NUL, or of variable length.
Handle make_text_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "HDF5 string type");
  check(H5Tset_size(type, size), "HDF5 string type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "HDF5 string type");
  if (size != H5T_VARIABLE) check(H5Tset_strpad(type, H5T_STR_NULLPAD), "HDF5 string type");
  return type;
}

/// Makes the group and its parents one by one: HDF5's own way of making intermediate groups does
/// not let us switch off their time stamps.
void make_groups(hid_t file, std::string_view path) {
  const Quiet quiet;
  const Handle list = timeless(H5P_GROUP_CREATE);
  const std::string full = absolute(path);
  for (std::size_t at = 1; at < full.size();) {
    const std::size_t end = std::min(full.find('/', at), full.size());
    const std::string prefix = full.substr(0, end);
    const std::string what = fmt::format("HDF5 group {}", prefix);
    if (H5Lexists(file, prefix.c_str(), H5P_DEFAULT) > 0)
      Handle(H5Gopen2(file, prefix.c_str(), H5P_DEFAULT), H5Gclose, what);
    else
      Handle(H5Gcreate2(file, prefix.c_str(), H5P_DEFAULT, list, H5P_DEFAULT), H5Gclose, what);
    at = end + 1;
  }
}

/// HDF5 crashes, or cannot be closed, where it is refused memory: what it may need is asked for
/// first. It moves its whole image where that grows.
void require_memory(hid_t file, std::size_t bytes) {
  constexpr std::size_t kOwn = std::size_t{12} << 20;  // of its caches and buffers
  hsize_t image = 0;
  if (file >= 0) check(H5Fget_filesize(file, &image), "HDF5 file in memory");
  const std::size_t needed = kOwn + static_cast<std::size_t>(image) + 2 * bytes;
  void* volatile place = std::malloc(needed);  // volatile: it is not optimised away
  if (place == nullptr)
    throw Error(fmt::format("not enough memory to write results: {:.0f} MB are needed",
                            static_cast<double>(needed) / 1e6));
  std::free(place);
}

void make_dataset(hid_t file, std::string_view path, hid_t type, const Hdf5Writer::Shape& shape,
                  std::size_t count, const void* values) {
  const Quiet quiet;
  assert(count == product(shape));
  const std::string full = absolute(path);
  const std::string what = fmt::format("HDF5 dataset {}", full);
  require_memory(file, count * H5Tget_size(type));
  make_groups(file, full.substr(0, full.rfind('/')));
  const Handle space = make_space(shape);
  const Handle list = timeless(H5P_DATASET_CREATE);
  const Handle dataset(H5Dcreate2(file, full.c_str(), type, space, H5P_DEFAULT, list, H5P_DEFAULT),
                       H5Dclose, what);
  if (count > 0) check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), what);
}

void make_attribute(hid_t file, std::string_view object, std::string_view name, hid_t type,
                    const void* value) {
  const Quiet quiet;
  const std::string full = absolute(object);
  const std::string what = fmt::format("HDF5 attribute {} of {}", name, full);
  const Handle space = make_space({});
  const Handle attribute(H5Acreate_by_name(file, full.c_str(), std::string(name).c_str(), type,
                                           space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose, what);
  check(H5Awrite(attribute, type, value), what);
}

}  // namespace

void close_no_hdf5_at_exit() { H5dont_atexit(); }

Hdf5Writer::Hdf5Writer() {
  require_memory(-1, 0);
  const Quiet quiet;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "HDF5 property list");
  check(H5Pset_fapl_core(access, std::size_t{1} << 20, false), "HDF5 core driver");
  const Handle create = timeless(H5P_FILE_CREATE);
  // HDF5 takes two open files of one name for the same file, in memory too.
  const std::string name = fmt::format("attractor-{}", fmt::ptr(this));
  file_ = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, create, access);
  check(file_, "HDF5 file in memory");
}

Hdf5Writer::~Hdf5Writer() {
  const Quiet quiet;
  H5Fclose(file_);
}

void Hdf5Writer::group(std::string_view path) { make_groups(file_, path); }

void Hdf5Writer::dataset(std::string_view path, std::span<const double> values,
                         const Shape& shape) {
  make_dataset(file_, path, H5T_NATIVE_DOUBLE, shape, values.size(), values.data());
}

void Hdf5Writer::dataset(std::string_view path, std::span<const std::int64_t> values,
                         const Shape& shape) {
  make_dataset(file_, path, H5T_NATIVE_INT64, shape, values.size(), values.data());
}

void Hdf5Writer::dataset(std::string_view path, std::span<const std::uint32_t> values,
                         const Shape& shape) {
  make_dataset(file_, path, H5T_NATIVE_UINT32, shape, values.size(), values.data());
}

void Hdf5Writer::dataset(std::string_view path, std::span<const std::uint64_t> values,
                         const Shape& shape) {
  make_dataset(file_, path, H5T_NATIVE_UINT64, shape, values.size(), values.data());
}

void Hdf5Writer::dataset(std::string_view path, std::span<const std::string> values) {
  std::size_t width = 1;
  for (const std::string& text : values) width = std::max(width, text.size());
  std::string padded(width * values.size(), '\0');
  for (std::size_t i = 0; i < values.size(); ++i)
    std::ranges::copy(values[i], padded.begin() + static_cast<std::ptrdiff_t>(i * width));
  make_dataset(file_, path, make_text_type(width), {values.size()}, values.size(), padded.data());
}

void Hdf5Writer::attribute(std::string_view object, std::string_view name, std::string_view text) {
  if (text.find('\0') != std::string_view::npos)
    throw Error(fmt::format("HDF5 attribute {} of {}: the text contains a NUL character", name,
                            absolute(object)));
  const std::string copy(text);
  const char* pointer = copy.c_str();
  make_attribute(file_, object, name, make_text_type(H5T_VARIABLE), &pointer);
}

void Hdf5Writer::attribute(std::string_view object, std::string_view name, double value) {
  make_attribute(file_, object, name, H5T_NATIVE_DOUBLE, &value);
}

void Hdf5Writer::attribute(std::string_view object, std::string_view name, std::int64_t value) {
  make_attribute(file_, object, name, H5T_NATIVE_INT64, &value);
}

void Hdf5Writer::attribute(std::string_view object, std::string_view name, std::uint64_t value) {
  make_attribute(file_, object, name, H5T_NATIVE_UINT64, &value);
}

void Hdf5Writer::commit(const std::filesystem::path& target) {
  const Quiet quiet;
  const std::string what = fmt::format("{}: HDF5 image", target.string());
  check(H5Fflush(file_, H5F_SCOPE_GLOBAL), what);
  const ssize_t size = H5Fget_file_image(file_, nullptr, 0);
  check(size, what);
  std::string image(static_cast<std::size_t>(size), '\0');
  check(H5Fget_file_image(file_, image.data(), image.size()), what);
  write_file(target, image);
}

}  // namespace attractor
