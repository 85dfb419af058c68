#include "attractor/drawing/indexed_png.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace attractor::report {
namespace {

std::string big(std::uint32_t value) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes += static_cast<char>(value >> shift & 0xffU);
  return bytes;
}

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; ++k) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t a = 1, b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16U | a;
}

std::string chunk(std::string_view kind, const std::string& data) {
  const std::string whole = std::string(kind) + data;
  return big(static_cast<std::uint32_t>(data.size())) + whole + big(crc32(whole));
}

/// zlib's form of bytes that are only stored.
std::string stored(const std::string& bytes) {
  constexpr std::size_t kMost = 65535;
  std::string text = "\x78\x01";
  for (std::size_t at = 0; at < bytes.size(); at += kMost) {
    const std::size_t size = std::min(kMost, bytes.size() - at);
    text += static_cast<char>(at + size == bytes.size() ? 1 : 0);
    for (const std::size_t length : {size, ~size}) {
      text += static_cast<char>(length & 0xffU);
      text += static_cast<char>(length >> 8U & 0xffU);
    }
    text.append(bytes, at, size);
  }
  return text + big(adler32(bytes));
}

}  // namespace

std::string indexed_png(const IndexedPicture& picture) {
  std::string colours, alpha, rows;
  for (std::size_t k = 0; k < 256; ++k) {
    const std::uint32_t colour = k < picture.palette.size() ? picture.palette[k] : 0;
    colours += big(colour).substr(1);
    alpha += static_cast<char>(k == kTransparent ? 0 : 255);
  }
  for (std::size_t y = 0; y < picture.height; ++y) {
    rows += '\0';  // no filter
    for (std::size_t x = 0; x < picture.width; ++x)
      rows += static_cast<char>(picture.index[y * picture.width + x]);
  }
  const std::string head = big(static_cast<std::uint32_t>(picture.width)) +
                           big(static_cast<std::uint32_t>(picture.height)) +
                           std::string("\x08\x03\x00\x00\x00", 5);
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", head) + chunk("PLTE", colours) + chunk("tRNS", alpha) +
         chunk("IDAT", stored(rows)) + chunk("IEND", "");
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : kLetters[three >> (18 - 6 * k) & 63U];
  }
  return text;
}

}  // namespace attractor::report
