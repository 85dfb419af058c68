#include "attractor/files/arrays/npy.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

using namespace std::string_literals;

/// A file of version `major`.0 with this header text, unpadded, and these data.
std::string npy(std::string_view header, std::string_view data, int major = 1) {
  std::string out = "\x93NUMPY"s + static_cast<char>(major) + '\0';
  const std::size_t width = major == 1 ? 2 : 4;
  for (std::size_t k = 0; k < width; ++k)
    out += static_cast<char>((header.size() >> (8 * k)) & 0xff);
  return out.append(header).append(data);
}

std::string header(std::string_view descr, std::string_view shape, bool fortran = false) {
  return "{'descr': '" + std::string(descr) +
         "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + std::string(shape) + ", }\n";
}

Array parse(std::string_view bytes) { return parse_npy(std::as_bytes(std::span(bytes)), "x.npy"); }

/// The message of the refusal; empty if the bytes were accepted.
std::string refusal_of_bytes(std::string_view bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string refusal_of_header(std::string_view text) { return refusal_of_bytes(npy(text, "")); }

constexpr char kLittleOneTwo[] = "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40";
const std::string kTwoDoubles(kLittleOneTwo, 16);

TEST(Npy, ReadsTheExactBytesNumpyWrites) {
  // np.save(f, np.array([[1., 2.]])) with numpy 1.24.
  const std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }";
  std::string file = "\x93NUMPY\x01\x00\x76\x00"s + text;
  file += std::string(127 - file.size(), ' ') + "\n" + kTwoDoubles;
  const Array array = parse(file);
  EXPECT_EQ(array.shape, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(array.data, (std::vector<double>{1, 2}));
}

TEST(Npy, WritesTheExactBytesNumpyWrites) {
  const std::string path = ::testing::TempDir() + "npy_exact_" + std::to_string(::getpid());
  write_npy(path, {{1, 2}, {1, 2}});
  std::string expected =
      "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }"s;
  expected += std::string(127 - expected.size(), ' ') + "\n" + kTwoDoubles;
  EXPECT_EQ(read_file(path, 4096), expected);
  std::filesystem::remove(path);
}

TEST(Npy, RoundTripsEveryRankBitForBit) {
  const std::string path = ::testing::TempDir() + "npy_trip_" + std::to_string(::getpid());
  for (std::size_t rank = 0; rank <= 8; ++rank) {
    Array array{std::vector<std::size_t>(rank, 2), std::vector<double>(std::size_t{1} << rank)};
    for (std::size_t i = 0; i < array.data.size(); ++i)
      array.data[i] = std::sin(static_cast<double>(i) + 0.5);
    array.data[0] = std::numeric_limits<double>::denorm_min();
    write_npy(path, array);
    const Array back = read_npy(path);
    EXPECT_EQ(back.shape, array.shape);
    EXPECT_EQ(back.data, array.data);
    EXPECT_EQ((std::filesystem::file_size(path) - 8 * array.data.size()) % 64, 0u);
  }
  std::filesystem::remove(path);
}

TEST(Npy, KeepsNaN) {
  const Array array = parse(npy(header("<f8", "(1,)"), "\0\0\0\0\0\0\xf8\x7f"s));
  EXPECT_TRUE(std::isnan(array.data[0]));
}

TEST(Npy, ReadsVersionsTwoAndThree) {
  for (const int major : {2, 3})
    EXPECT_EQ(parse(npy(header("<f8", "(2,)"), kTwoDoubles, major)).data,
              (std::vector<double>{1, 2}));
}

TEST(Npy, ReadsKeysInAnyOrderAndEitherQuote) {
  const std::string text = R"({"shape":(2,),'fortran_order' : True,"descr":"<f8"})";
  EXPECT_EQ(parse(npy(text, kTwoDoubles)).data, (std::vector<double>{1, 2}));
}

TEST(Npy, ReadsScalar) {
  const Array array = parse(npy(header("<f8", "()"), kTwoDoubles.substr(8)));
  EXPECT_TRUE(array.shape.empty());
  EXPECT_EQ(array.data, (std::vector<double>{2}));
}

TEST(Npy, ReadsEmptyArray) {
  const Array array = parse(npy(header("<f8", "(0, 3)"), ""));
  EXPECT_EQ(array.shape, (std::vector<std::size_t>{0, 3}));
  EXPECT_TRUE(array.data.empty());
}

struct Encoded {
  const char* descr;
  std::string bytes;
  double value;
};

class NpyType : public ::testing::TestWithParam<Encoded> {};

TEST_P(NpyType, Decodes) {
  const Encoded& one = GetParam();
  EXPECT_EQ(parse(npy(header(one.descr, "(1,)"), one.bytes)).data,
            (std::vector<double>{one.value}));
}

INSTANTIATE_TEST_SUITE_P(
    All, NpyType,
    ::testing::Values(Encoded{"<f8", "\0\0\0\0\0\0\xf8\xbf"s, -1.5},
                      Encoded{">f8", "\xbf\xf8\0\0\0\0\0\0"s, -1.5},
                      Encoded{"<f4", "\0\0\xc0\xbf"s, -1.5}, Encoded{">f4", "\xbf\xc0\0\0"s, -1.5},
                      Encoded{"=f4", "\0\0\xc0\xbf"s, -1.5}, Encoded{"|i1", "\xfe"s, -2},
                      Encoded{"<i1", "\xfe"s, -2}, Encoded{">i1", "\xfe"s, -2},
                      Encoded{"|u1", "\xfe"s, 254}, Encoded{"<i2", "\xfe\xff"s, -2},
                      Encoded{">i2", "\xff\xfe"s, -2}, Encoded{"<u2", "\xfe\xff"s, 65534},
                      Encoded{">u2", "\xff\xfe"s, 65534},
                      Encoded{"<i4", "\x01\x02\0\x80"s, -2147483135.0},
                      Encoded{">i4", "\x80\0\x02\x01"s, -2147483135.0},
                      Encoded{"<u4", "\x01\x02\0\x80"s, 2147484161.0},
                      Encoded{">u4", "\x80\0\x02\x01"s, 2147484161.0},
                      Encoded{"<i8", "\x03\0\0\0\x01\0\0\0"s, 4294967299.0},
                      Encoded{">i8", "\xff\xff\xff\xff\xff\xff\xff\xfd"s, -3},
                      Encoded{"<u8", "\0\0\0\0\0\0\0\x80"s, 9223372036854775808.0},
                      Encoded{">u8", "\x80\0\0\0\0\0\0\0"s, 9223372036854775808.0}));

TEST(Npy, TurnsColumnMajorMatrixIntoRowMajor) {
  const Array array = parse(npy(header("|u1", "(2, 3)", true), "\x01\x04\x02\x05\x03\x06"));
  EXPECT_EQ(array.data, (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, TurnsColumnMajorCubeIntoRowMajor) {
  const Array array = parse(
      npy(header("|u1", "(2, 3, 2)", true), "\x00\x06\x02\x08\x04\x0a\x01\x07\x03\x09\x05\x0b"s));
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(array.data[i], static_cast<double>(i));
}

TEST(Npy, RefusesBadMagic) {
  std::string file = npy(header("<f8", "(2,)"), kTwoDoubles);
  file[0] = 'x';
  EXPECT_SAYS(refusal_of_bytes(file), "x.npy: does not begin with the .npy signature");
}

TEST(Npy, RefusesEmptyFile) { EXPECT_SAYS(refusal_of_bytes(""), "signature"); }

TEST(Npy, RefusesUnknownVersions) {
  EXPECT_SAYS(refusal_of_bytes(npy(header("<f8", "(2,)"), kTwoDoubles, 4)), "version 4.0");
  EXPECT_SAYS(refusal_of_bytes(npy(header("<f8", "(2,)"), kTwoDoubles, 0)), "version 0.0");
  std::string file = npy(header("<f8", "(2,)"), kTwoDoubles);
  file[7] = 1;
  EXPECT_SAYS(refusal_of_bytes(file), "version 1.1");
}

TEST(Npy, RefusesEveryTruncation) {
  for (const int major : {1, 2}) {
    const std::string file = npy(header("<f8", "(2,)"), kTwoDoubles, major);
    for (std::size_t cut = 0; cut < file.size(); ++cut)
      EXPECT_NE(refusal_of_bytes(std::string_view(file).substr(0, cut)), "") << cut;
  }
}

TEST(Npy, RefusesTruncatedData) {
  EXPECT_SAYS(refusal_of_bytes(npy(header("<f8", "(2,)"), kTwoDoubles.substr(1))),
              "truncated: the shape (2) with 8 bytes per element needs 16 bytes of data and the "
              "file has 15");
}

TEST(Npy, RefusesExtraBytes) {
  EXPECT_SAYS(refusal_of_bytes(npy(header("<f8", "(2,)"), kTwoDoubles + "x")), "too long");
}

TEST(Npy, RefusesHeaderLongerThanFile) {
  std::string file = npy(header("<f8", "(2,)"), kTwoDoubles, 2);
  file[11] = '\x7f';
  EXPECT_SAYS(refusal_of_bytes(file), "declares a header of 21307");
}

TEST(Npy, RefusesShapesThatOverflow) {
  EXPECT_SAYS(refusal_of_header(header("<f8", "(4294967296, 4294967296)")), "more than 2147483648");
  EXPECT_SAYS(refusal_of_header(header("<f8", "(0, 4294967296, 4294967296)")),
              "more than 2147483648");
  EXPECT_SAYS(refusal_of_header(header("<f8", "(99999999999999999999,)")), "too large");
}

TEST(Npy, RefusesLargeShapeBeforeTakingMemory) {
  EXPECT_SAYS(refusal_of_header(header("<f8", "(2147483648,)")), "needs 17179869184 bytes");
}

TEST(Npy, RefusesNegativeDimension) {
  EXPECT_SAYS(refusal_of_header(header("<f8", "(2, -3)")), "dimension -3");
}

TEST(Npy, RefusesRankNine) {
  EXPECT_SAYS(refusal_of_header(header("<f8", "(1, 1, 1, 1, 1, 1, 1, 1, 1)")),
              "more than 8 dimensions");
}

TEST(Npy, RefusesOtherTypes) {
  for (const auto& [descr, part] : {std::pair{"|O", "'|O' holds Python objects"},
                                    {"<c16", "'<c16' holds complex numbers"},
                                    {"|S5", "strings"},
                                    {"<U5", "strings"},
                                    {"|V8", "raw records"},
                                    {"|b1", "booleans"},
                                    {"<M8[ns]", "times"},
                                    {"<f1", "unsupported size"},
                                    {"<f16", "unsupported size"},
                                    {"<i3", "unsupported size"},
                                    {"|f8", "lacks a byte order"},
                                    {"f8", "not a dtype"},
                                    {"", "not a dtype"}})
    EXPECT_SAYS(refusal_of_header(header(descr, "(0,)")), part);
}

TEST(Npy, RefusesStructuredType) {
  EXPECT_SAYS(
      refusal_of_header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (0,), }"),
      "dtype [('a', '<f8')] is structured");
}

class NpyGarbage : public ::testing::TestWithParam<const char*> {};

TEST_P(NpyGarbage, IsRefused) {
  const std::string message = refusal_of_bytes(npy(GetParam(), kTwoDoubles));
  EXPECT_SAYS(message, "x.npy: ");
  EXPECT_SAYS(message, "header");
}

INSTANTIATE_TEST_SUITE_P(
    Header, NpyGarbage,
    ::testing::Values("", "\n", "{", "{}", "nonsense", "{'descr'}", "{'descr': '<f8'",
                      "{'descr': '<f8', 'fortran_order': False}", "{'descr': '<f8', 'shape': (2,)}",
                      "{'fortran_order': False, 'shape': (2,)}",
                      "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}}",
                      "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}",
                      "{'descr': '<f8', 'fortran_order': Falsehood, 'shape': (2,)}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (2)}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': 2}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': [2]}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (2,,)}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (1 2)}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (2.0,)}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (+2,)}",
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (2,",
                      "{'descr': '<f8', 'fortran_order': False 'shape': (2,)}",
                      "{'descr': '<\\x668', 'fortran_order': False, 'shape': (2,)}",
                      "{'descr': None, 'fortran_order': False, 'shape': (2,)}", "{'descr: <f8}"));

TEST(Npy, MessagesShowNoControlCharacters) {
  const std::string message = refusal_of_bytes(npy("{'\x1b[31m\x07': 1}", ""));
  EXPECT_SAYS(message, "'?[31m?'");
}

TEST(Npy, RefusesMissingFile) {
  try {
    read_npy("/nowhere/x.npy");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "/nowhere/x.npy: no such file");
  }
}

TEST(Npy, RefusesToWriteWhereItCannot) {
  EXPECT_THROW(write_npy("/nowhere/x.npy", {{1}, {1}}), Error);
}

TEST(Npy, ReadsHalvesInEitherOrder) {
  // 1, -2, the smallest number above 0, the largest one.
  const Array little = parse(npy(header("<f2", "(4,)"), "\x00\x3c\x00\xc0\x01\x00\xff\x7b"s));
  const Array big = parse(npy(header(">f2", "(4,)"), "\x3c\x00\xc0\x00\x00\x01\x7b\xff"s));
  EXPECT_EQ(little.data, (std::vector<double>{1, -2, 0x1p-24, 65504}));
  EXPECT_EQ(big.data, little.data);
}

}  // namespace
}  // namespace attractor
