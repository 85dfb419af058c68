// Files that a run writes by name: refused before it works, written whole after it.
#include "attractor/files/output_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "attractor/base/file.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public PageTest {
 protected:
  ParameterList list() {
    ParameterList l;
    l.add("points", points_, "read");
    l.add("labels-out", labels_, "written").written();
    l.add("modes-out", modes_, "written").written();
    l.add("title", title_, "a text that names no file");
    return l;
  }
  std::string refused() {
    return refusal([&] { require_outputs(list(), directory_.string()); });
  }
  std::string at(const std::string& name) const { return (directory_ / name).string(); }

  ArrayInput points_{};
  std::string labels_{}, modes_{}, title_{};
};

TEST_F(OutputFiles, ThatCanBeWrittenLeaveNothingBehind) {
  EXPECT_EQ(refused(), "");
  write_npy(at("points.npy"), {{1, 2}, {1, 2}});
  points_.name = "points.npy";
  labels_ = "labels.npy";
  modes_ = at("modes.npy");
  title_ = "labels.npy";
  EXPECT_EQ(refused(), "");
  EXPECT_FALSE(fs::exists(at("labels.npy")));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), {}), 1);
}

TEST_F(OutputFiles, ThatCannotBeWrittenAreRefused) {
  labels_ = ".";
  EXPECT_EQ(refused(), "labels-out = . is a directory; a file name is needed");
  labels_ = directory_.string();
  EXPECT_SAYS(refused(), "is a directory");
  labels_ = "no/where.npy";
  EXPECT_SAYS(refused(), "no/where.npy");
}

TEST_F(OutputFiles, TakeTheNameOfNoOtherFile) {
  write_npy(at("points.npy"), {{1, 2}, {1, 2}});
  points_.name = "points.npy";
  for (const std::string& name : {std::string("points.npy"), std::string("./points.npy"),
                                  at("points.npy"), at("x/../points.npy")}) {
    labels_ = name;
    EXPECT_EQ(refused(), "labels-out = " + name + " is also the name of another file of this run");
  }
  labels_ = modes_ = "a";
  EXPECT_EQ(refused(), "modes-out = a is also the name of another file of this run");
  EXPECT_FALSE(fs::exists(at("a")));
}

TEST_F(OutputFiles, TakeTheNameOfNoFileThatADatasetIsReadFrom) {
  write_file(at("points.h5"), "x");
  points_.name = "points.h5:/deep/x";
  labels_ = "points.h5";
  EXPECT_SAYS(refused(), "another file of this run");
}

TEST_F(OutputFiles, AreWrittenWhereTheyWereMeant) {
  Result result;
  result.outputs = {{"labels", "labels.npy", {{3}, {0, 1, 0}}},
                    {"centres", at("modes.npy"), {{1, 2}, {0.5, 2}}},
                    {"unnamed", "", {{1}, {7}}}};
  write_outputs(result, directory_.string());
  EXPECT_EQ(read_npy(at("labels.npy")).data, (std::vector<double>{0, 1, 0}));
  const Array modes = read_npy(at("modes.npy"));
  EXPECT_EQ(modes.shape, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(modes.data, (std::vector<double>{0.5, 2}));
  write_outputs({}, directory_.string());
}

}  // namespace
}  // namespace attractor::lab
