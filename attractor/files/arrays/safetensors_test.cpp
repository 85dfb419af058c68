#include "attractor/files/arrays/safetensors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>

#include "attractor/base/file.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

namespace fs = std::filesystem;

class SafetensorsFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        fs::temp_directory_path() / (std::string("safetensors_test_") +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  static std::string bytes(const std::string& header, const std::string& data) {
    std::string length(8, '\0');
    for (std::size_t k = 0; k < 8; ++k)
      length[k] = static_cast<char>(header.size() >> (8 * k) & 0xff);
    return length + header + data;
  }
  fs::path write(const std::string& header, const std::string& data,
                 const std::string& name = "m.safetensors") {
    write_file(directory_ / name, bytes(header, data));
    return directory_ / name;
  }
  std::string said(const std::string& header, const std::string& data) {
    const fs::path file = write(header, data);
    return refusal([&] { Safetensors s(file); });
  }
  fs::path directory_;
};

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string text(values.size() * sizeof(T), '\0');
  std::memcpy(text.data(), values.begin(), text.size());
  return text;
}

TEST_F(SafetensorsFile, ReadsEveryFormat) {
  const fs::path file = write(
      R"({"__metadata__": {"format": "pt"},
          "d": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]},
          "f": {"dtype": "F32", "shape": [1, 2], "data_offsets": [16, 24]},
          "h": {"dtype": "F16", "shape": [6], "data_offsets": [24, 36]},
          "b": {"dtype": "BF16", "shape": [2], "data_offsets": [36, 40]},
          "i": {"dtype": "I64", "shape": [], "data_offsets": [40, 48]}})",
      raw<double>({0.1, -3}) + raw<float>({1.5F, 2}) +
          raw<std::uint16_t>({0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000, 0x7c00}) +
          raw<std::uint16_t>({0x3fc0, 0xc2f7}) + raw<std::int64_t>({7}));
  const Safetensors s(file);
  EXPECT_EQ(s.names(), (std::vector<std::string>{"b", "d", "f", "h", "i"}));
  EXPECT_EQ(s.array("d").data, (std::vector<double>{0.1, -3}));
  EXPECT_EQ(*s.shape("f"), (models::Shape{1, 2}));
  EXPECT_EQ(s.array("f").data, (std::vector<double>{1.5, 2}));
  const std::vector<double> half = s.array("h").data;
  EXPECT_EQ(half[0], 1);
  EXPECT_EQ(half[1], -2);
  EXPECT_EQ(half[2], 0x1p-24);
  EXPECT_EQ(half[3], 65504);
  EXPECT_TRUE(half[4] == 0 && std::signbit(half[4]));
  EXPECT_TRUE(std::isinf(half[5]));
  EXPECT_EQ(s.array("b").data, (std::vector<double>{1.5, -123.5}));
  EXPECT_SAYS(refusal([&] { s.array("i"); }),
              "tensor 'i' has dtype I64; allowed: F64, F32, F16, BF16");
  EXPECT_SAYS(refusal([&] { s.array("z"); }), "has no tensor 'z'");
  EXPECT_EQ(s.shape("z"), nullptr);
}

TEST_F(SafetensorsFile, RefusesHeadersThatDoNotFitTheFile) {
  const std::string data(8, 'x');
  EXPECT_SAYS(said(R"({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})", data),
              "of shape (3) and dtype F32 needs 12 bytes, its data_offsets are 0 and 8");
  EXPECT_SAYS(said(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", data),
              "the tensors need 4 bytes and the file has 8");
  EXPECT_SAYS(said(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
                       "b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})",
                   data),
              "tensors overlap at byte 0");
  EXPECT_SAYS(said(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})", data),
              "tensors leave a gap at byte 0");
  EXPECT_SAYS(
      said(
          R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296, 0], "data_offsets": [0, 0]}})",
          ""),
      "has more than 4294967296 numbers");
  EXPECT_SAYS(said(R"({"a": {"dtype": "Q4", "shape": [2], "data_offsets": [0, 8]}})", data),
              "has the dtype 'Q4'");
  EXPECT_SAYS(said(R"({"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}})", data),
              "has a negative number where none belongs");
  EXPECT_SAYS(said(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})", data),
              "data_offsets are 8 and 0");
  EXPECT_SAYS(said(R"({"a": {"dtype": "F32", "shape": [2]}})", data), "lacks its data_offsets");
  EXPECT_SAYS(
      said(R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], "x": 1}})", data),
      "has the key 'x'");
  EXPECT_SAYS(said(R"({"a": {"dtype": "F32", "shape": [[2]], "data_offsets": [0, 8]}})", data),
              "has a list where none belongs");
  EXPECT_SAYS(said(R"({"a": 3})", data), "tensor 'a' has a number where none belongs");
  EXPECT_SAYS(said("{\"a\"", data), "the header is no JSON at its byte");
}

TEST_F(SafetensorsFile, RefusesLengthsThatTheFileDoesNotHave) {
  write_file(directory_ / "s", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
  EXPECT_SAYS(refusal([&] { Safetensors s(directory_ / "s"); }),
              "declares a header of 9223372036854775807 bytes; the file has 2");
  write_file(directory_ / "t", "abc");
  EXPECT_SAYS(refusal([&] { Safetensors s(directory_ / "t"); }), "3 bytes are too few");
  EXPECT_FALSE(is_safetensors(directory_ / "s"));
}

TEST_F(SafetensorsFile, AnIndexJoinsFilesBesideIt) {
  write(R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", raw<float>({1}),
        "1.safetensors");
  write(R"({"b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})", raw<float>({2}),
        "2.safetensors");
  const auto index = [&](const std::string& map) {
    write_file(directory_ / "i.json", "{\"weight_map\": " + map + "}");
    return directory_ / "i.json";
  };
  const Safetensors s(index(R"({"a": "1.safetensors", "b": "2.safetensors"})"));
  EXPECT_EQ(s.array("a").data, (std::vector<double>{1}));
  EXPECT_EQ(s.array("b").data, (std::vector<double>{2}));
  EXPECT_SAYS(refusal([&] { Safetensors t(index(R"({"a": "../x"})")); }),
              "which is no name of a file beside it");
  EXPECT_SAYS(refusal([&] { Safetensors t(index(R"({"c": "1.safetensors"})")); }),
              "tensor 'c' is not in 1.safetensors");
  EXPECT_SAYS(refusal([&] { Safetensors t(index(R"({"c": "3.safetensors"})")); }), "no such file");
}

}  // namespace
}  // namespace attractor
