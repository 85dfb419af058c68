// The format of checkpoints: a private binary file of magic, data and checksum, written whole or
// not at all. A damaged or foreign file is refused.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attractor/base/file.hpp"
#include "attractor/flow/run.hpp"

namespace attractor::experiment {

class CheckpointWriter {
 public:
  CheckpointWriter(const std::filesystem::path& file, std::string_view magic) : file_(file) {
    file_.write(magic);
  }

  template <class T>
  void put(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    raw(std::as_bytes(std::span(&value, 1)));
  }
  template <class T>
  void put_all(std::span<const T> values) {
    static_assert(std::is_arithmetic_v<T>);
    put(static_cast<std::uint64_t>(values.size()));
    raw(std::as_bytes(values));
  }
  void put(const std::string& text) { put_all(std::span<const char>(text)); }
  void put(const flow::Time& time) {
    put(time.mantissa());
    put(time.exponent());
  }
  void put(const flow::Progress& progress);
  void commit();

 private:
  void raw(std::span<const std::byte> bytes);
  AtomicFile file_;
  std::uint64_t checksum_ = 0xcbf29ce484222325U;
};

class CheckpointReader {
 public:
  /// The bytes of a whole file; `name` is what messages call it.
  CheckpointReader(std::string_view bytes, std::string name, std::string_view magic);

  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> get_all() {
    const std::uint64_t count = get<std::uint64_t>();
    if (count > rest_.size() / sizeof(T)) fail("is cut short");
    std::vector<T> values(count);
    const std::string_view bytes = take(count * sizeof(T));
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::string get_text() {
    const std::vector<char> text = get_all<char>();
    return {text.begin(), text.end()};
  }
  flow::Time get_time() {
    const double mantissa = get<double>(), exponent = get<double>();
    return flow::Time(mantissa, exponent);
  }
  /// A count of records of at least `bytes` bytes each.
  std::uint64_t get_count(std::size_t bytes) {
    const std::uint64_t count = get<std::uint64_t>();
    if (count > rest_.size() / bytes) fail("is cut short");
    return count;
  }
  flow::Progress get_progress();
  /// Nothing is left and the checksum is right.
  void finish() const;

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string_view take(std::size_t size);

  std::string_view rest_;
  std::string name_;
  std::uint64_t checksum_ = 0xcbf29ce484222325U, expected_ = 0;
};

}  // namespace attractor::experiment
