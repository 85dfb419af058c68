// A checksum of bytes, the same however they are handed in: FNV-1a over words of eight bytes. It
// tells truncation, bit rot and another file apart from what was there, not malice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace attractor {

class Checksum {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Numbers as their bytes, the count first: (1, 2), (3) and (1), (2, 3) differ.
  template <class T>
  void add_all(std::span<const T> values) {
    static_assert(std::is_arithmetic_v<T>);
    const std::uint64_t count = values.size();
    add(std::as_bytes(std::span(&count, 1)));
    add(std::as_bytes(values));
  }
  /// Of all bytes so far.
  std::uint64_t value() const;

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U, size_ = 0;
  std::array<std::byte, 8> rest_{};  // the last size_ % 8 bytes wait here for a whole word
};

}  // namespace attractor
