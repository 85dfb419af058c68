#include "attractor/files/arrays/array_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

namespace fs = std::filesystem;

/// Gives each test a folder of its own.
class ArrayFile : public ::testing::Test {
 protected:
  ArrayFile()
      : folder_(fs::path(::testing::TempDir()) /
                ("array_file_test_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~ArrayFile() override { fs::remove_all(folder_); }
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

TEST_F(ArrayFile, ReadsNpyWhateverItsName) {
  fs::rename(npy({2}, {1, 2}), path("x.h5"));
  EXPECT_EQ(read_array(path("x.h5")).data, (std::vector<double>{1, 2}));
}

TEST_F(ArrayFile, ReadsHdf5WhateverItsName) {
  fs::rename(hdf5({"a"}), path("x.npy"));
  EXPECT_EQ(read_array(path("x.npy")).data, (std::vector<double>{1, 0}));
}

TEST_F(ArrayFile, ReadsNamedDataset) {
  const std::string file = hdf5({"a", "deep/b"});
  const Array array = read_array(file + ":/deep/b");
  EXPECT_EQ(array.data, (std::vector<double>{2, 0}));
  EXPECT_EQ(array.shape, (std::vector<std::size_t>{1, 2}));
}

TEST_F(ArrayFile, ReadsFromFolderWithColon) {
  fs::create_directories(path("a:"));
  fs::rename(hdf5({"a", "b"}), path("a:/x.h5"));
  EXPECT_EQ(read_array(path("a:/x.h5:/b")).data, (std::vector<double>{2, 0}));
}

TEST_F(ArrayFile, ChoosesTheOnlyDataset) {
  EXPECT_EQ(read_array(hdf5({"deep/any"})).data, (std::vector<double>{1, 0}));
}

TEST_F(ArrayFile, ChoosesTheOneNamedTokensOrPositions) {
  EXPECT_EQ(read_array(hdf5({"a", "tokens", "z"})).data, (std::vector<double>{2, 0}));
  EXPECT_EQ(read_array(hdf5({"a", "run/positions"})).data, (std::vector<double>{2, 0}));
}

TEST_F(ArrayFile, RefusesAmbiguousDatasets) {
  const std::string file = hdf5({"a", "b"});
  EXPECT_SAYS(refusal([&] { read_array(file); }), "the file has /a, /b");
}

TEST_F(ArrayFile, RefusesBothTokensAndPositions) {
  const std::string file = hdf5({"tokens", "positions"});
  EXPECT_SAYS(refusal([&] { read_array(file); }), "the file has /positions, /tokens");
}

TEST_F(ArrayFile, ListsAtMostEightNames) {
  const std::string file = hdf5({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"});
  EXPECT_SAYS(refusal([&] { read_array(file); }), "/g, /h and 2 more");
}

TEST_F(ArrayFile, RefusesHdf5WithoutNumbers) {
  const std::string file = hdf5({});
  EXPECT_SAYS(refusal([&] { read_array(file); }), "the file has no array of numbers");
}

TEST_F(ArrayFile, RefusesMissingDataset) {
  const std::string file = hdf5({"a"});
  EXPECT_SAYS(refusal([&] { read_array(file + ":/b"); }), "has no dataset /b; the file has /a");
}

TEST_F(ArrayFile, RefusesPathIntoNpy) {
  const std::string file = npy({1}, {1});
  EXPECT_SAYS(refusal([&] { read_array(file + ":/a"); }), "leave out :/a");
}

TEST_F(ArrayFile, RefusesMissingFile) {
  EXPECT_SAYS(refusal([&] { read_array(path("none.npy")); }), "none.npy: no such file");
  EXPECT_SAYS(refusal([&] { read_array(path("none.h5:/a")); }), "none.h5:/a: no such file");
  EXPECT_SAYS(refusal([&] { read_array(""); }), "no such file");
}

TEST_F(ArrayFile, RefusesFolder) {
  EXPECT_SAYS(refusal([&] { read_array(path("")); }), "not a file");
}

TEST_F(ArrayFile, RefusesOtherContent) {
  write_file(path("x.npy"), "1, 2, 3\n");
  EXPECT_SAYS(refusal([&] { read_array(path("x.npy")); }),
              "x.npy is neither .npy, .npz, safetensors nor HDF5");
}

TEST_F(ArrayFile, RefusesEmptyFile) {
  write_file(path("x.npy"), "");
  EXPECT_SAYS(refusal([&] { read_array(path("x.npy")); }),
              "x.npy is neither .npy, .npz, safetensors nor HDF5");
}

TEST_F(ArrayFile, RefusesTruncatedHdf5) {
  const std::string whole = read_file(hdf5({"a"}), 1 << 20);
  for (const std::size_t cut :
       {std::size_t{8}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
    write_file(path("cut.h5"), std::string_view(whole).substr(0, cut));
    EXPECT_SAYS(refusal([&] { read_array(path("cut.h5")); }), "cut.h5");
  }
}

TEST_F(ArrayFile, FindsTheFileOfASpec) {
  const std::string file = npy({2}, {1, 2});
  EXPECT_EQ(file_of(file), file);
  EXPECT_EQ(file_of(file + ":/some/where"), file);
  EXPECT_SAYS(refusal([&] { file_of(path("none.npy")); }), "none.npy: no such file");
}

}  // namespace
}  // namespace attractor
