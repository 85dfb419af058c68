#include "attractor/drawing/scene_json.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "attractor/lab/json.hpp"

namespace attractor::report {
namespace {

std::string bytes_of(const std::string& base64) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : base64) {
    if (c == '=') break;
    bits = bits << 6U | static_cast<std::uint32_t>(letters.find(c));
    if ((held += 6) >= 8) bytes += static_cast<char>(bits >> (held -= 8) & 0xffU);
  }
  return bytes;
}

double short_at(const std::string& bytes, std::size_t k) {
  const auto low = static_cast<unsigned char>(bytes[2 * k]),
             high = static_cast<unsigned char>(bytes[2 * k + 1]);
  return static_cast<std::int16_t>(low | high << 8);
}

TEST(SceneJson, PositionsComeBack) {
  Scene scene{.title = "a </script> b", .labels = {"t = 10^{3}", "<b>"}};
  scene.tokens = TokenScene{.shape = TokenScene::Shape::circle,
                            .palette = {kBlue, 0x123456},
                            .group = {0, 1},
                            .xyz = {{0.123456, -1, 0, 1, 0.5, 0}, {kNan, 2, 0, 0, 0, 0}},
                            .unit = {1, 1}};
  scene.clocks = {{"time", {0.5, kNan}}};
  const std::string text = scene_json(scene);
  EXPECT_EQ(text.find('<'), std::string::npos);
  const lab::Json json = lab::Json::parse(text);
  EXPECT_EQ(json["title"].get<std::string>(), "a </script> b");
  EXPECT_EQ(json["tokens"]["palette"][0].get<std::string>(), "blue");
  EXPECT_EQ(json["tokens"]["palette"][1].get<std::string>(), "#123456");
  EXPECT_EQ(bytes_of(json["tokens"]["group"].get<std::string>()), std::string("\x00\x01", 2));
  const std::string first = bytes_of(json["tokens"]["frames"][0].get<std::string>());
  ASSERT_EQ(first.size(), 12u);
  EXPECT_NEAR(short_at(first, 0) / 32000, 0.123456, 0.5 / 32000);
  EXPECT_EQ(short_at(first, 1), -32000);
  const std::string second = bytes_of(json["tokens"]["frames"][1].get<std::string>());
  EXPECT_EQ(short_at(second, 0), -32768) << "not known";
  EXPECT_EQ(short_at(second, 1), 32767) << "no further than the picture";
  EXPECT_EQ(json["clocks"]["time"][0].get<double>(), 0.5);
  EXPECT_TRUE(json["clocks"]["time"][1].is_null());
}

TEST(SceneJson, LinesAreFloats) {
  Scene scene{.labels = {"one"}};
  scene.plane = PlaneScene{.x = {.low = -1, .high = 1}, .y = {.low = -1, .high = 1}};
  scene.plane->lines = {
      {.colour = kVermillion, .arrow = true, .x = {{0.1, kNan}}, .y = {{-3e5, 2}}}};
  const lab::Json json = lab::Json::parse(scene_json(scene));
  const std::string bytes = bytes_of(json["plane"]["lines"][0]["frames"][0].get<std::string>());
  ASSERT_EQ(bytes.size(), 16u);
  const auto at = [&](std::size_t k) {
    std::uint32_t bits = 0;
    for (std::size_t b = 4; b-- > 0;)
      bits = bits << 8U | static_cast<unsigned char>(bytes[4 * k + b]);
    return std::bit_cast<float>(bits);
  };
  EXPECT_EQ(at(0), 0.1F);
  EXPECT_EQ(at(1), -3e5F);
  EXPECT_TRUE(std::isnan(at(2)));
  EXPECT_EQ(json["plane"]["axes"].size(), 0u);
}

}  // namespace
}  // namespace attractor::report
