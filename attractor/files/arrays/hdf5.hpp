// HDF5 files: what Attractor writes for others, and arrays of numbers others wrote.
// A file is built in memory and lands on disk whole or not at all; it holds no time stamps, so
// equal content is equal bytes. The reader takes float and integer datasets as doubles and follows
// no link into another file. It compares declared sizes with the file before it takes memory, and
// the library parses the file in a process apart, with limits of time and memory: a damaged file is
// an Error. Calls may come from any one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attractor/base/array.hpp"
#include "attractor/report/archive.hpp"

namespace attractor {

class Apart;
class Channel;

/// For programs, before anything else of HDF5: every file is closed by those who opened it, and the
/// library does not go through them once more at the end, which fails where memory ran out.
void close_no_hdf5_at_exit();

/// Strings are padded with NUL to the longest of their list.
class Hdf5Writer final : public Archive {
 public:
  using Archive::attribute;
  using Archive::dataset;

  Hdf5Writer();
  ~Hdf5Writer() override;
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  void group(std::string_view path) override;

  void dataset(std::string_view path, std::span<const double> values, const Shape& shape) override;
  void dataset(std::string_view path, std::span<const std::int64_t> values,
               const Shape& shape) override;
  void dataset(std::string_view path, std::span<const std::uint32_t> values,
               const Shape& shape) override;
  void dataset(std::string_view path, std::span<const std::uint64_t> values,
               const Shape& shape) override;
  void dataset(std::string_view path, std::span<const std::string> values) override;

  void attribute(std::string_view object, std::string_view name, std::string_view text) override;
  void attribute(std::string_view object, std::string_view name, double value) override;
  void attribute(std::string_view object, std::string_view name, std::int64_t value) override;
  void attribute(std::string_view object, std::string_view name, std::uint64_t value) override;

  /// Writes everything so far; the writer may go on and commit again.
  void commit(const std::filesystem::path& target);

 private:
  std::int64_t file_;
};

class Hdf5Reader {
 public:
  /// `patience`: seconds that the library may take for one answer before the file counts as
  /// damaged.
  explicit Hdf5Reader(const std::filesystem::path& source, double patience = 20);
  ~Hdf5Reader();
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

  /// Full paths of all float and integer datasets, in the order of their names.
  std::vector<std::string> datasets() const;
  bool exists(std::string_view path) const;
  /// At most 2^31 elements; integers beyond 2^53 round.
  Array read(std::string_view path) const;
  /// The dataset is of integers.
  bool is_whole(std::string_view path) const;

  std::string text_attribute(std::string_view object, std::string_view name) const;
  double number_attribute(std::string_view object, std::string_view name) const;

 private:
  void ask(std::string_view question, std::string_view path, std::string_view name,
           const std::function<void(Channel&)>& hear) const;

  std::unique_ptr<Apart> apart_;
};

/// Whether the content begins like an HDF5 file; false for what cannot be opened.
bool is_hdf5(const std::filesystem::path& source);

}  // namespace attractor
