// Where a result puts its arrays: an HDF5 file (hdf5.hpp), or whatever else keeps named numbers.
// Who computes describes what there is once, in the words below, and never learns where it goes.
//
// Paths are "/group/name" (the first slash may be left out); missing groups are made on the way.
// Naming a thing twice is an Error. The product of `shape` is the number of values.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace attractor {

class Archive {
 public:
  using Shape = std::vector<std::size_t>;

  virtual ~Archive() = default;

  /// A group that exists already is left as it is.
  virtual void group(std::string_view path) = 0;

  virtual void dataset(std::string_view path, std::span<const double> values,
                       const Shape& shape) = 0;
  virtual void dataset(std::string_view path, std::span<const std::int64_t> values,
                       const Shape& shape) = 0;
  virtual void dataset(std::string_view path, std::span<const std::uint32_t> values,
                       const Shape& shape) = 0;
  virtual void dataset(std::string_view path, std::span<const std::uint64_t> values,
                       const Shape& shape) = 0;
  /// A list of UTF-8 strings.
  virtual void dataset(std::string_view path, std::span<const std::string> values) = 0;

  /// The object must exist; "/" is the whole. Text is UTF-8 without NUL, of any length.
  virtual void attribute(std::string_view object, std::string_view name, std::string_view text) = 0;
  virtual void attribute(std::string_view object, std::string_view name, double value) = 0;
  virtual void attribute(std::string_view object, std::string_view name, std::int64_t value) = 0;
  virtual void attribute(std::string_view object, std::string_view name, std::uint64_t value) = 0;
  template <std::integral T>
  void attribute(std::string_view object, std::string_view name, T value) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    attribute(object, name, static_cast<Wide>(value));
  }
};

/// field(row) of every row, as a dataset of T.
template <class T = double, class Row, class Field>
void write_column(Archive& file, std::string_view path, const std::vector<Row>& rows,
                  const Field& field) {
  std::vector<T> values;
  for (const Row& row : rows) values.push_back(static_cast<T>(field(row)));
  file.dataset(path, std::span<const T>(values), {values.size()});
}

}  // namespace attractor
