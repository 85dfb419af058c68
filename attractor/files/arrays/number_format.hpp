// Numbers as files of weights keep them: IEEE floats of 2, 4 and 8 bytes and bfloat16 (the upper
// half of a float), little endian. All become floats or doubles; of f64 a float keeps 24 bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "attractor/files/arrays/file_slices.hpp"

namespace attractor {

enum class NumberFormat { f64, f32, f16, bf16 };

inline constexpr std::size_t bytes_of(NumberFormat format) {
  return format == NumberFormat::f64 ? 8 : format == NumberFormat::f32 ? 4 : 2;
}

inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U, magnitude = half & 0x7fffU;
  if (magnitude >= 0x7c00U)  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13U);
  if (magnitude < 0x400U)  // below the smallest normal number: whole steps of 2^-24
    return std::bit_cast<float>(
        sign | std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F));
  return std::bit_cast<float>(sign | ((magnitude << 13U) + 0x38000000U));
}

inline float bfloat_to_float(std::uint16_t upper) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(upper) << 16U);
}

/// Reads out.size() numbers that begin at `offset`, some at a time. T: float or double.
template <class T>
void read_numbers(const FileSlices& file, std::uint64_t offset, NumberFormat format,
                  std::span<T> out);

extern template void read_numbers<float>(const FileSlices&, std::uint64_t, NumberFormat,
                                         std::span<float>);
extern template void read_numbers<double>(const FileSlices&, std::uint64_t, NumberFormat,
                                          std::span<double>);

}  // namespace attractor
