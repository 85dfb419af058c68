#include "attractor/files/arrays/number_format.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace attractor {
namespace {

constexpr std::size_t kNumbersAtATime = std::size_t{1} << 16;

template <class Raw>
Raw little_endian(const std::byte* bytes) {
  std::array<std::byte, sizeof(Raw)> raw;
  std::memcpy(raw.data(), bytes, sizeof(Raw));
  if constexpr (std::endian::native == std::endian::big) std::reverse(raw.begin(), raw.end());
  return std::bit_cast<Raw>(raw);
}

template <class T>
T number_at(const std::byte* bytes, NumberFormat format) {
  switch (format) {
    case NumberFormat::f64:
      return static_cast<T>(little_endian<double>(bytes));
    case NumberFormat::f32:
      return static_cast<T>(little_endian<float>(bytes));
    case NumberFormat::f16:
      return static_cast<T>(half_to_float(little_endian<std::uint16_t>(bytes)));
    default:
      return static_cast<T>(bfloat_to_float(little_endian<std::uint16_t>(bytes)));
  }
}

}  // namespace

template <class T>
void read_numbers(const FileSlices& file, std::uint64_t offset, NumberFormat format,
                  std::span<T> out) {
  const std::size_t width = bytes_of(format);
  std::vector<std::byte> buffer(std::min(out.size(), kNumbersAtATime) * width);
  for (std::size_t begin = 0; begin < out.size(); begin += kNumbersAtATime) {
    const std::size_t count = std::min(kNumbersAtATime, out.size() - begin);
    file.read(offset + begin * width, std::span(buffer).first(count * width));
    for (std::size_t k = 0; k < count; ++k)
      out[begin + k] = number_at<T>(buffer.data() + k * width, format);
  }
}

template void read_numbers<float>(const FileSlices&, std::uint64_t, NumberFormat, std::span<float>);
template void read_numbers<double>(const FileSlices&, std::uint64_t, NumberFormat,
                                   std::span<double>);

}  // namespace attractor
