// The format of checkpoints: private bytes of magic, data and checksum, kept whole or not at all.
// Damaged or foreign ones are refused before anything in them is looked at. The checksum
// guards against accidents; what the data say is checked by those who know their meaning.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attractor/base/checksum.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/lab/context.hpp"

namespace attractor::lab {

class CheckpointWriter {
 public:
  CheckpointWriter(CheckpointStore& store, std::string_view magic) : to_(store.replace()) {
    to_->write(std::as_bytes(std::span<const char>(magic)));
  }

  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    raw(std::as_bytes(std::span(&value, 1)));
  }
  template <class T>
  void put_all(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
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
  std::unique_ptr<CheckpointStore::Writing> to_;
  Checksum checksum_;
};

/// What stands between magic and checksum, with its checksum behind it.
std::string sealed(std::string_view magic, std::string_view data);

class CheckpointReader {
 public:
  /// The bytes of a whole checkpoint; `name` is what messages call it.
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
  bool at_end() const { return rest_.empty(); }
  /// Nothing is left.
  void finish() const;

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string_view take(std::size_t size);

  std::string_view rest_;
  std::string name_;
};

/// Refuses the content of a checkpoint: `name` is what it is called, `what` is wrong in it.
[[noreturn]] void refuse_content(const std::string& name, const std::string& what);

/// A time that a run can have reached.
bool is_time(const flow::Time& time);
/// ln of two times in this order, or equal to rounding: the logarithm depends on the unit.
bool in_order(double log_before, double log_after);

/// `name` holds a run at a time and with a step that exist, and a state of `numbers` finite
/// numbers.
void validate(const flow::Progress& progress, std::size_t numbers, const std::string& name);

}  // namespace attractor::lab
