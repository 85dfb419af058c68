#include "attractor/base/checksum.hpp"

#include <algorithm>
#include <cstring>

namespace attractor {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x100000001b3U;
  return hash ^ (hash >> 32);  // else a change of the top bits never reaches the others
}

std::uint64_t word_of(const std::byte* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, 8);
  return word;
}

}  // namespace

void Checksum::add(std::span<const std::byte> bytes) {
  const std::size_t waiting = size_ % 8;
  size_ += bytes.size();
  if (waiting > 0) {
    const std::size_t taken = std::min(8 - waiting, bytes.size());
    std::copy_n(bytes.begin(), taken, rest_.begin() + static_cast<std::ptrdiff_t>(waiting));
    bytes = bytes.subspan(taken);
    if (waiting + taken < 8) return;
    hash_ = mix(hash_, word_of(rest_.data()));
  }
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) hash_ = mix(hash_, word_of(bytes.data()));
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

std::uint64_t Checksum::value() const {
  std::array<std::byte, 8> last{};
  std::copy_n(rest_.begin(), size_ % 8, last.begin());
  return mix(mix(hash_, word_of(last.data())), size_);
}

}  // namespace attractor
