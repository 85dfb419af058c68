#include "attractor/base/random.hpp"

#include <Random123/threefry.h>

#include <cmath>
#include <numbers>
#include <utility>

namespace attractor {
namespace {

// FNV-1a: a fixed function of the name, unlike std::hash.
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3U;
  return h;
}

using Block = r123::Threefry4x64::ctr_type;

Block draw(std::uint64_t seed, std::uint64_t name, std::uint64_t item, std::uint64_t block) {
  return r123::Threefry4x64{}(Block{{item, block, 0, 0}}, Block{{seed, name, 0, 0}});
}

// 52 bits, shifted by half a unit (exact in a double): never 0, never 1.
double open_unit(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

std::pair<double, double> box_muller(std::uint64_t a, std::uint64_t b) {
  const double radius = std::sqrt(-2 * std::log(open_unit(a)));
  const double angle = 2 * std::numbers::pi * open_unit(b);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

Stream::Stream(std::uint64_t seed, std::string_view name) : seed_(seed), name_(hash(name)) {}

double Stream::uniform(std::uint64_t item, std::uint64_t index) const {
  return open_unit(draw(seed_, name_, item, index / 4)[index % 4]);
}

double Stream::normal(std::uint64_t item, std::uint64_t index) const {
  const Block block = draw(seed_, name_, item, index / 4);
  const std::size_t pair = index % 4 / 2 * 2;
  const auto [a, b] = box_muller(block[pair], block[pair + 1]);
  return index % 2 == 0 ? a : b;
}

std::uint64_t Stream::below(std::uint64_t bound, std::uint64_t item, std::uint64_t index) const {
  const std::uint64_t bits = draw(seed_, name_, item, index / 4)[index % 4];
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * bound) >> 64);
}

void Stream::normals(std::uint64_t item, std::span<double> out) const {
  for (std::size_t k = 0; k < out.size(); k += 4) {
    const Block block = draw(seed_, name_, item, k / 4);
    for (std::size_t pair = 0; pair < 4 && k + pair < out.size(); pair += 2) {
      const auto [a, b] = box_muller(block[pair], block[pair + 1]);
      out[k + pair] = a;
      if (k + pair + 1 < out.size()) out[k + pair + 1] = b;
    }
  }
}

}  // namespace attractor
