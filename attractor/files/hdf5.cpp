#include "attractor/files/hdf5.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <numeric>
#include <system_error>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"

namespace attractor {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t>, "the header declares HDF5 identifiers as int64");

constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 31;
// Deflate shrinks at most 1032 times; a chunked dataset that claims more is a decompression bomb.
constexpr std::uint64_t kMaxCompression = 2048;
constexpr std::ptrdiff_t kMaxDepth = 32;

/// Keeps HDF5 from printing its error stack while in scope. The setting belongs to the thread, and
/// the program around us may use HDF5 too, so it is put back.
class Quiet {
 public:
  Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// What HDF5 says about its last failure.
std::string reason() {
  std::string text = "HDF5 gives no reason";
  const auto first = [](unsigned level, const H5E_error2_t* error, void* out) -> herr_t {
    if (level == 0 && error->desc) *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first, &text);
  return text;
}

void check(std::int64_t status, std::string_view what) {
  if (status < 0) throw Error(fmt::format("{}: {}", what, reason()));
}

/// Owns an HDF5 identifier; a negative one means the call failed and becomes an Error.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), std::string_view what) : id_(id), close_(close) {
    check(id, what);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

std::size_t product(const std::vector<std::size_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::string absolute(std::string_view path) {
  return path.starts_with('/') ? std::string(path) : fmt::format("/{}", path);
}

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

void make_dataset(hid_t file, std::string_view path, hid_t type, const Hdf5Writer::Shape& shape,
                  std::size_t count, const void* values) {
  const Quiet quiet;
  assert(count == product(shape));
  const std::string full = absolute(path);
  const std::string what = fmt::format("HDF5 dataset {}", full);
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

Hdf5Writer::Hdf5Writer() {
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

namespace {

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

}  // namespace

Hdf5Reader::Hdf5Reader(const std::filesystem::path& source) : name_(source.string()) {
  const Quiet quiet;
  std::error_code error;
  if (!std::filesystem::is_regular_file(source, error))
    throw Error(fmt::format("{}: no such file", name_));
  bytes_ = std::filesystem::file_size(source, error);
  if (!is_hdf5(source)) throw Error(fmt::format("{}: not an HDF5 file", name_));
  file_ = H5Fopen(name_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  check(file_, fmt::format("{}: cannot be opened as HDF5", name_));
}

Hdf5Reader::~Hdf5Reader() {
  const Quiet quiet;
  H5Fclose(file_);
}

std::vector<std::string> Hdf5Reader::datasets() const {
  const Quiet quiet;
  Visit visit;
  if (H5Ovisit(file_, H5_INDEX_NAME, H5_ITER_INC, collect, &visit) < 0)
    throw Error(fmt::format("{}: cannot be listed: {}", name_,
                            visit.failure.empty() ? reason() : visit.failure));
  return visit.paths;
}

bool Hdf5Reader::exists(std::string_view path) const {
  const Quiet quiet;
  const hid_t object = H5Oopen(file_, absolute(path).c_str(), inside());
  if (object < 0) return false;
  H5Oclose(object);
  return true;
}

Array Hdf5Reader::read(std::string_view path) const {
  const Quiet quiet;
  const std::string full = absolute(path);
  const std::string what = fmt::format("{}:{}", name_, full);
  const Handle object(H5Oopen(file_, full.c_str(), inside()), H5Oclose, what);
  if (H5Iget_type(object) != H5I_DATASET) throw Error(fmt::format("{}: not a dataset", what));
  const Handle type(H5Dget_type(object), H5Tclose, what);
  if (!is_number(type)) throw Error(fmt::format("{}: neither floats nor integers", what));
  const Handle space(H5Dget_space(object), H5Sclose, what);
  Array array{.shape = checked_shape(space, what), .data = {}};
  const std::size_t count = product(array.shape);
  check_storage(object, count * H5Tget_size(type), bytes_, what);
  array.data.resize(count);
  if (count == 0) return array;
  check(H5Dread(object, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.data.data()), what);
  return array;
}

bool Hdf5Reader::is_whole(std::string_view path) const {
  const Quiet quiet;
  const std::string full = absolute(path);
  const Handle object(H5Oopen(file_, full.c_str(), inside()), H5Oclose, full);
  if (H5Iget_type(object) != H5I_DATASET) return false;
  const Handle type(H5Dget_type(object), H5Tclose, full);
  return H5Tget_class(type) == H5T_INTEGER;
}

std::string Hdf5Reader::text_attribute(std::string_view object, std::string_view name) const {
  const Quiet quiet;
  const std::string what = fmt::format("{}:{} attribute {}", name_, absolute(object), name);
  const Handle attribute = open_attribute(file_, absolute(object), std::string(name), what);
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

double Hdf5Reader::number_attribute(std::string_view object, std::string_view name) const {
  const Quiet quiet;
  const std::string what = fmt::format("{}:{} attribute {}", name_, absolute(object), name);
  const Handle attribute = open_attribute(file_, absolute(object), std::string(name), what);
  const Handle type(H5Aget_type(attribute), H5Tclose, what);
  if (!is_number(type)) throw Error(fmt::format("{}: not a number", what));
  double value = 0;
  check(H5Aread(attribute, H5T_NATIVE_DOUBLE, &value), what);
  return value;
}

bool is_hdf5(const std::filesystem::path& source) {
  const Quiet quiet;
  return H5Fis_hdf5(source.c_str()) > 0;
}

}  // namespace attractor
