#include "attractor/drawing/indexed_png.hpp"

#include <gtest/gtest.h>

namespace attractor::report {
namespace {

std::uint32_t big_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < 4; ++k)
    value = value << 8U | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

/// The content of the first chunk of a kind.
std::string chunk_of(const std::string& png, std::string_view kind) {
  for (std::size_t at = 8; at + 8 < png.size(); at += 12 + big_at(png, at))
    if (std::string_view(png).substr(at + 4, 4) == kind) return png.substr(at + 8, big_at(png, at));
  return "none";
}

TEST(Base64, AsInTheStandard) {  // RFC 4648, section 10
  for (const auto& [bytes, text] :
       {std::pair{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}})
    EXPECT_EQ(base64(bytes), text);
}

TEST(IndexedPng, ChunksAndChecksums) {
  const std::string png = indexed_png(
      {.width = 2, .height = 2, .index = {0, 1, kTransparent, 0}, .palette = {0x112233, 0xaabbcc}});
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
  // The end of every PNG file, checksum included.
  EXPECT_TRUE(png.ends_with(std::string("\0\0\0\0IEND\xae\x42\x60\x82", 12)));
  EXPECT_EQ(big_at(chunk_of(png, "IHDR"), 0), 2u);
  EXPECT_EQ(chunk_of(png, "PLTE").substr(0, 6), "\x11\x22\x33\xaa\xbb\xcc");
  EXPECT_EQ(chunk_of(png, "tRNS")[255], '\0');
  const std::string data = chunk_of(png, "IDAT");
  EXPECT_EQ(data.substr(2, 5), std::string("\x01\x06\x00\xf9\xff", 5));  // one block of 6 bytes
  EXPECT_EQ(data.substr(7, 6), std::string("\x00\x00\x01\x00\xff\x00", 6));
  // Adler-32 of these six bytes by hand: a = 1 + 1 + 255, b = sum of all a.
  EXPECT_EQ(big_at(data, 13), (1U + 1 + 2 + 2 + 257 + 257) << 16U | 257U);
}

TEST(IndexedPng, ManyCellsTakeSeveralBlocks) {
  const std::string png = indexed_png({.width = 300,
                                       .height = 400,
                                       .index = std::vector<std::uint8_t>(120000, 7),
                                       .palette = std::vector<std::uint32_t>(8, 0)});
  const std::string data = chunk_of(png, "IDAT");
  EXPECT_EQ(data.size(), 2 + 2 * 5 + 400 * 301 + 4u);
  EXPECT_EQ(data[2], 0);
  EXPECT_EQ(data[2 + 5 + 65535], 1);
}

}  // namespace
}  // namespace attractor::report
