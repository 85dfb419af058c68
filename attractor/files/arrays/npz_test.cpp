#include "attractor/files/arrays/npz.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "attractor/base/file.hpp"
#include "attractor/files/arrays/array_file.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

namespace fs = std::filesystem;

std::string bytes_of_number(std::uint64_t value, std::size_t width) {
  std::string text;
  for (std::size_t k = 0; k < width; ++k) text += static_cast<char>(value >> (8 * k) & 0xff);
  return text;
}

std::string npy_of(double value) {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
  header.append(117 - header.size(), ' ').push_back('\n');
  std::string data(8, '\0');
  std::memcpy(data.data(), &value, 8);
  return std::string("\x93NUMPY\x01\x00", 8) + bytes_of_number(header.size(), 2) + header + data;
}

std::string deflated(const std::string& text) {
  std::string out(text.size() + 100, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// An archive of one member, with room to lie.
struct MadeUpZip {
  std::string name = "h.npy", content = npy_of(2.5);
  bool deflate = false;
  std::uint64_t kind = 99, size = 0, flags = 0, sum = 0;

  std::string bytes() const {
    const std::string packed = deflate ? deflated(content) : content;
    const std::uint64_t checksum = sum != 0
                                       ? sum
                                       : crc32(0, reinterpret_cast<const Bytef*>(content.data()),
                                               static_cast<uInt>(content.size()));
    const std::string sizes = bytes_of_number(checksum, 4) + bytes_of_number(packed.size(), 4) +
                              bytes_of_number(size != 0 ? size : content.size(), 4);
    const std::string how = bytes_of_number(kind != 99 ? kind : (deflate ? 8 : 0), 2);
    const std::string local = "PK\x03\x04" + bytes_of_number(20, 2) + bytes_of_number(flags, 2) +
                              how + bytes_of_number(0, 4) + sizes +
                              bytes_of_number(name.size(), 2) + bytes_of_number(0, 2) + name +
                              packed;
    const std::string entry =
        "PK\x01\x02" + bytes_of_number(20, 2) + bytes_of_number(20, 2) + bytes_of_number(flags, 2) +
        how + bytes_of_number(0, 4) + sizes + bytes_of_number(name.size(), 2) +
        bytes_of_number(0, 2) + bytes_of_number(0, 2) + bytes_of_number(0, 2) +
        bytes_of_number(0, 2) + bytes_of_number(0, 4) + bytes_of_number(0, 4) + name;
    return local + entry + "PK\x05\x06" + bytes_of_number(0, 4) + bytes_of_number(1, 2) +
           bytes_of_number(1, 2) + bytes_of_number(entry.size(), 4) +
           bytes_of_number(local.size(), 4) + bytes_of_number(0, 2);
  }
};

class NpzFile : public testing::Test {
 protected:
  ~NpzFile() override { fs::remove(file_); }
  std::string write(const std::string& bytes) {
    write_file(file_, bytes);
    return file_.string();
  }
  std::string said(const MadeUpZip& archive) {
    const std::string file = write(archive.bytes());
    return refusal([&] { read_array(file); });
  }
  fs::path file_ = fs::path(testing::TempDir()) / ("npz_test_" + std::to_string(::getpid()));
};

TEST_F(NpzFile, ReadsStoredAndDeflatedMembers) {
  for (const bool deflate : {false, true}) {
    const std::string file = write(MadeUpZip{.deflate = deflate}.bytes());
    EXPECT_EQ(Npz(file).names(), (std::vector<std::string>{"h"}));
    EXPECT_EQ(read_array(file).data, (std::vector<double>{2.5}));
    EXPECT_EQ(read_array(file + ":/h").data, (std::vector<double>{2.5}));
    EXPECT_SAYS(refusal([&] { read_array(file + ":/g"); }), "has no array g; the file has h");
  }
}

TEST_F(NpzFile, RefusesWhatCannotBe) {
  EXPECT_SAYS(said({.deflate = true, .size = 4000000000U}), "which cannot be");
  EXPECT_SAYS(said({.size = 7}), "which cannot be");
  EXPECT_SAYS(said({.deflate = true, .size = 140}), "cannot be unpacked");
  EXPECT_SAYS(said({.deflate = true, .size = 130}), "cannot be unpacked");
  EXPECT_SAYS(said({.kind = 12}), "has the compression 12; allowed: 0, 8");
  EXPECT_SAYS(said({.flags = 1}), "is encrypted");
  EXPECT_SAYS(said({.deflate = true, .sum = 5}), "its checksum is wrong");
  EXPECT_SAYS(said({.content = "no array at all"}), "does not begin with the .npy signature");
  const std::string whole = MadeUpZip{}.bytes();
  for (const std::size_t length : {30UL, 100UL, whole.size() - 1}) {
    const std::string file = write(whole.substr(0, length));
    EXPECT_SAYS(refusal([&] { read_array(file); }), "has no directory of a ZIP archive");
  }
  for (std::size_t at = whole.size() - 12; at < whole.size() - 2; ++at) {
    std::string broken = whole;
    broken[at] = '\x7f';
    const std::string file = write(broken);
    EXPECT_NE(refusal([&] { read_array(file); }), "") << at;
  }
}

}  // namespace
}  // namespace attractor
