// A picture of few colours as the bytes of a PNG file: 8-bit indices into a palette, not compressed
// (stored blocks of deflate), so that a page's script can read the indices back without a decoder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attractor::report {

struct IndexedPicture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> index;     // rows from above
  std::vector<std::uint32_t> palette;  // 0xRRGGBB, at most 255
};

/// 255 is transparent: an index that is in no palette.
inline constexpr std::uint8_t kTransparent = 255;

std::string indexed_png(const IndexedPicture& picture);

/// Bytes as text.
std::string base64(std::string_view bytes);

}  // namespace attractor::report
