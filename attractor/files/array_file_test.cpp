#include "attractor/files/array_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/hdf5.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

namespace fs = std::filesystem;

/// Gives each test a folder of its own.
class TokenFile : public ::testing::Test {
 protected:
  TokenFile()
      : folder_(fs::path(::testing::TempDir()) /
                ("token_file_test_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~TokenFile() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string npy(std::vector<std::size_t> shape, std::vector<double> data) const {
    write_npy(path("x.npy"), {std::move(shape), std::move(data)});
    return path("x.npy");
  }

  std::string hdf5(const std::vector<std::string>& names) const {
    Hdf5Writer out;
    double value = 0;
    for (const std::string& name : names) {
      const std::vector<double> row = {++value, 0};
      out.dataset(name, row, {1, 2});
    }
    out.commit(path("x.h5"));
    return path("x.h5");
  }

 private:
  fs::path folder_;
};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_F(TokenFile, ReadsNpyWhateverItsName) {
  fs::rename(npy({2}, {1, 2}), path("x.h5"));
  EXPECT_EQ(read_array(path("x.h5")).data, (std::vector<double>{1, 2}));
}

TEST_F(TokenFile, ReadsHdf5WhateverItsName) {
  fs::rename(hdf5({"a"}), path("x.npy"));
  EXPECT_EQ(read_array(path("x.npy")).data, (std::vector<double>{1, 0}));
}

TEST_F(TokenFile, ReadsNamedDataset) {
  const std::string file = hdf5({"a", "deep/b"});
  const Array array = read_array(file + ":/deep/b");
  EXPECT_EQ(array.data, (std::vector<double>{2, 0}));
  EXPECT_EQ(array.shape, (std::vector<std::size_t>{1, 2}));
}

TEST_F(TokenFile, ReadsFromFolderWithColon) {
  fs::create_directories(path("a:"));
  fs::rename(hdf5({"a", "b"}), path("a:/x.h5"));
  EXPECT_EQ(read_array(path("a:/x.h5:/b")).data, (std::vector<double>{2, 0}));
}

TEST_F(TokenFile, ChoosesTheOnlyDataset) {
  EXPECT_EQ(read_array(hdf5({"deep/any"})).data, (std::vector<double>{1, 0}));
}

TEST_F(TokenFile, ChoosesTheOneNamedTokensOrPositions) {
  EXPECT_EQ(read_array(hdf5({"a", "tokens", "z"})).data, (std::vector<double>{2, 0}));
  EXPECT_EQ(read_array(hdf5({"a", "run/positions"})).data, (std::vector<double>{2, 0}));
}

TEST_F(TokenFile, RefusesAmbiguousDatasets) {
  const std::string file = hdf5({"a", "b"});
  EXPECT_SAYS(refusal([&] { read_array(file); }), "the file has /a, /b");
}

TEST_F(TokenFile, RefusesBothTokensAndPositions) {
  const std::string file = hdf5({"tokens", "positions"});
  EXPECT_SAYS(refusal([&] { read_array(file); }), "the file has /positions, /tokens");
}

TEST_F(TokenFile, ListsAtMostEightNames) {
  const std::string file = hdf5({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"});
  EXPECT_SAYS(refusal([&] { read_array(file); }), "/g, /h and 2 more");
}

TEST_F(TokenFile, RefusesHdf5WithoutNumbers) {
  const std::string file = hdf5({});
  EXPECT_SAYS(refusal([&] { read_array(file); }), "the file has no numeric dataset");
}

TEST_F(TokenFile, RefusesMissingDataset) {
  const std::string file = hdf5({"a"});
  EXPECT_SAYS(refusal([&] { read_array(file + ":/b"); }), "has no dataset /b; the file has /a");
}

TEST_F(TokenFile, RefusesPathIntoNpy) {
  const std::string file = npy({1}, {1});
  EXPECT_SAYS(refusal([&] { read_array(file + ":/a"); }), "leave out :/a");
}

TEST_F(TokenFile, RefusesMissingFile) {
  EXPECT_SAYS(refusal([&] { read_array(path("none.npy")); }), "none.npy: no such file");
  EXPECT_SAYS(refusal([&] { read_array(path("none.h5:/a")); }), "none.h5:/a: no such file");
  EXPECT_SAYS(refusal([&] { read_array(""); }), "no such file");
}

TEST_F(TokenFile, RefusesFolder) {
  EXPECT_SAYS(refusal([&] { read_array(path("")); }), "not a file");
}

TEST_F(TokenFile, RefusesOtherContent) {
  write_file(path("x.npy"), "1, 2, 3\n");
  EXPECT_SAYS(refusal([&] { read_array(path("x.npy")); }), "x.npy is neither .npy nor HDF5");
}

TEST_F(TokenFile, RefusesEmptyFile) {
  write_file(path("x.npy"), "");
  EXPECT_SAYS(refusal([&] { read_array(path("x.npy")); }), "x.npy is neither .npy nor HDF5");
}

TEST_F(TokenFile, RefusesTruncatedHdf5) {
  const std::string whole = read_file(hdf5({"a"}), 1 << 20);
  for (const std::size_t cut :
       {std::size_t{8}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
    write_file(path("cut.h5"), std::string_view(whole).substr(0, cut));
    EXPECT_SAYS(refusal([&] { read_array(path("cut.h5")); }), "cut.h5");
  }
}

TEST_F(TokenFile, LeavesTokensAsTheyAre) {
  const Array tokens = read_tokens(npy({2, 2}, {3, 4, 0, 0}), false);
  EXPECT_EQ(tokens.data, (std::vector<double>{3, 4, 0, 0}));
}

TEST_F(TokenFile, ScalesRowsToUnitLength) {
  const Array tokens = read_tokens(npy({2, 2}, {3, 4, 0, -2}), true);
  EXPECT_NEAR(tokens.data[0], 0.6, 1e-15);
  EXPECT_NEAR(tokens.data[1], 0.8, 1e-15);
  EXPECT_EQ(tokens.data[2], 0);
  EXPECT_EQ(tokens.data[3], -1);
}

TEST_F(TokenFile, ScalesExtremeRows) {
  const Array tokens = read_tokens(npy({2, 2}, {1e300, 1e300, 5e-324, 5e-324}), true);
  for (const double x : tokens.data) EXPECT_NEAR(x, std::sqrt(0.5), 1e-15);
}

TEST_F(TokenFile, RefusesZeroRow) {
  const std::string file = npy({3, 2}, {1, 0, 0, 1, 0, 0});
  EXPECT_SAYS(refusal([&] { read_tokens(file, true); }), "row 2 (counted from 0) is zero");
}

TEST_F(TokenFile, RefusesNaNToken) {
  const std::string file = npy({2, 3}, {1, 2, 3, 4, 5, kNaN});
  EXPECT_SAYS(refusal([&] { read_tokens(file, false); }), "x.npy: row 1, column 2");
}

TEST_F(TokenFile, RefusesInfiniteToken) {
  const std::string file = npy({2, 2}, {1, -kInfinity, kNaN, 1});
  EXPECT_SAYS(refusal([&] { read_tokens(file, true); }),
              "row 0, column 1 (counted from 0) is -inf");
}

TEST_F(TokenFile, RefusesTokensOfOtherRank) {
  EXPECT_SAYS(refusal([&] { read_tokens(npy({4}, {1, 2, 3, 4}), false); }), "the shape (4)");
  EXPECT_SAYS(refusal([&] { read_tokens(npy({}, {1}), false); }), "the shape ()");
  EXPECT_SAYS(refusal([&] { read_tokens(npy({1, 1, 2}, {1, 2}), false); }), "the shape (1, 1, 2)");
}

TEST_F(TokenFile, RefusesNoTokens) {
  EXPECT_SAYS(refusal([&] { read_tokens(npy({0, 3}, {}), false); }), "the shape (0, 3)");
}

TEST_F(TokenFile, RefusesOneDimension) {
  EXPECT_SAYS(refusal([&] { read_tokens(npy({3, 1}, {1, 2, 3}), false); }), "d >= 2");
}

TEST_F(TokenFile, ReadsWeights) {
  const std::string four = npy({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(read_weights(four, {2, 2}, "(d, d)").data, (std::vector<double>{1, 2, 3, 4}));
  const Array one_head = read_weights(four, {1, 2, 2}, "(h, r, d)");
  EXPECT_EQ(one_head.shape, (std::vector<std::size_t>{1, 2, 2}));
  const Array heads = read_weights(npy({2, 1, 2}, {1, 2, 3, 4}), {2, 1, 2}, "(h, r, d)");
  EXPECT_EQ(heads.shape, (std::vector<std::size_t>{2, 1, 2}));
  const Array free = read_weights(npy({3, 2}, {1, 2, 3, 4, 5, 6}), {0, 2}, "(w, d)");
  EXPECT_EQ(free.shape, (std::vector<std::size_t>{3, 2}));
}

TEST_F(TokenFile, RefusesWeightsOfOtherShape) {
  const std::string four = npy({2, 2}, {1, 2, 3, 4});
  const auto message = [&](const std::vector<std::size_t>& shape, const std::string& axes) {
    return refusal([&] { read_weights(four, shape, axes); });
  };
  EXPECT_EQ(message({3, 3}, "(dim, dim)"),
            four + ": the weights have the shape (2, 2); allowed is (dim, dim) = (3, 3)");
  EXPECT_SAYS(message({2, 2, 2}, "(heads, rank, dim)"),
              "the shape (2, 2); allowed is (heads, rank, dim) = (2, 2, 2)");
  EXPECT_SAYS(message({0, 3}, "(width, dim)"), "(2, 2); allowed is (width, dim) = (any, 3)");
  EXPECT_SAYS(message({4}, "(width)"), "(2, 2); allowed is (width) = (4)");
  EXPECT_SAYS(refusal([&] { read_weights(npy({0, 2}, {}), {0, 2}, "(width, dim)"); }), "(0, 2)");
  EXPECT_SAYS(refusal([&] { read_weights(npy({1, 2}, {1, 2}), {2, 2}, "(d, d)"); }), "(1, 2)");
}

TEST_F(TokenFile, RefusesWeightsThatAreNotFinite) {
  const std::string matrix = npy({2, 2}, {1, 2, kNaN, 4});
  EXPECT_SAYS(refusal([&] { read_weights(matrix, {2, 2}, "(d, d)"); }), "row 1, column 0");
  const std::string heads = npy({2, 1, 2}, {1, 2, 3, kInfinity});
  EXPECT_SAYS(refusal([&] {
                read_weights(heads, {2, 1, 2}, "(h, r, d)");
              }),
              "entry (1, 0, 1) (counted from 0) is inf");
}

TEST_F(TokenFile, FindsTheFileOfASpec) {
  const std::string file = npy({2}, {1, 2});
  EXPECT_EQ(file_of(file), file);
  EXPECT_EQ(file_of(file + ":/some/where"), file);
  EXPECT_SAYS(refusal([&] { file_of(path("none.npy")); }), "none.npy: no such file");
}

}  // namespace
}  // namespace attractor
