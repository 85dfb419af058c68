// Run directories and the input files they remember.
#include "attractor/files/run_directory.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include "attractor/base/file.hpp"
#include "attractor/files/parameter_file.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest()
      : root_(fs::path(testing::TempDir()) /
              fmt::format("run_{}_{}", ::getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~RunDirectoryTest() override { fs::remove_all(root_); }

  std::string file(const std::string& name, const std::string& content) const {
    fs::create_directories((root_ / name).parent_path());
    write_file(root_ / name, content);
    return name;
  }

  RunOrigin origin(const std::string& name, const std::vector<std::string>& files = {}) const {
    return {.name = name,
            .command = "attractor " + name,
            .started_in = root_.string(),
            .inputs = InputFiles(files, root_.string())};
  }

  std::string refused(const std::string& name) {
    return refusal([&] { RunDirectory::resume(root_ / "run", list_, name); });
  }

  const fs::path root_;
  double beta_ = 1;
  const ParameterList list_{{.name = "beta", .target = &beta_, .least = 0}};
};

TEST_F(RunDirectoryTest, IsNotMadeWhereItsFileCannotNameThePlace) {
  RunOrigin from = origin("flow");
  from.started_in = "/caf\xe9";
  EXPECT_SAYS(refusal([&] { RunDirectory::create(root_ / "run", list_, from); }),
              "the directory /caf? has a name that is not UTF-8");
  EXPECT_FALSE(fs::exists(root_ / "run"));
}

TEST_F(RunDirectoryTest, IsResumedByItsOwnCommandOnly) {
  const std::vector<std::string> names = {"flow", "select", "sweep", "bridge", "reduce pair"};
  for (const std::string& own : names) {
    fs::remove_all(root_ / "run");
    beta_ = 7;
    { RunDirectory::create(root_ / "run", list_, origin(own)); }
    for (const std::string& other : names) {
      beta_ = 1;
      if (other == own) {
        EXPECT_EQ(refused(other), "");
        EXPECT_EQ(beta_, 7);
        continue;
      }
      EXPECT_EQ(refused(other),
                fmt::format("the run in {} belongs to attractor {}, not to attractor {}",
                            (root_ / "run").string(), own, other));
      EXPECT_EQ(beta_, 1) << "nothing may be read from another command's parameters";
    }
  }
}

TEST_F(RunDirectoryTest, OfAVersionThatNamedNoCommandIsRefused) {
  file("run/run.toml", "# attractor flow --beta 3\nbeta = 3.0\nstarted-in = \"/\"\n");
  for (const char* name : {"flow", "select", "sweep"})
    EXPECT_SAYS(refused(name), "does not name its command: an older version wrote it");
  EXPECT_EQ(beta_, 1);
}

TEST_F(RunDirectoryTest, SaysWhoseUnfinishedRunItHolds) {
  const auto message = [&](const std::string& name) {
    fs::remove_all(root_ / "run");
    { RunDirectory::create(root_ / "run", list_, origin(name)); }
    return refusal([&] { RunDirectory::create(root_ / "run", list_, origin("flow")); });
  };
  EXPECT_EQ(message("select"),
            (root_ / "run").string() + " holds an unfinished run of attractor select");
  EXPECT_EQ(message("bridge"),
            (root_ / "run").string() + " holds an unfinished run of attractor bridge");
}

DirectoryError::Holds held(const std::function<void()>& action, std::string& command) {
  try {
    action();
  } catch (const DirectoryError& error) {
    command = error.command;
    return error.holds;
  }
  throw std::logic_error("nothing was refused");
}

// What to do about it depends on who asks: the library names no flag.
TEST_F(RunDirectoryTest, SaysWhatItHolds) {
  using Holds = DirectoryError::Holds;
  std::string command;
  const auto create = [&] { RunDirectory::create(root_ / "run", list_, origin("flow")); };
  create();
  EXPECT_EQ(held(create, command), Holds::unfinished_run);
  EXPECT_EQ(command, "flow");
  file("run/summary.json", "{}");
  EXPECT_EQ(held(create, command), Holds::finished_run);
  EXPECT_EQ(refusal(create), (root_ / "run").string() + " holds a finished run");
  fs::remove_all(root_ / "run");
  file("run/thesis.tex", "mine");
  EXPECT_EQ(held(create, command), Holds::other_files);
  fs::remove_all(root_ / "run");
  file("run", "a file");
  EXPECT_EQ(held(create, command), Holds::no_directory);
}

TEST_F(RunDirectoryTest, IsReplacedWhereThatIsAskedFor) {
  const auto replace = [&] {
    RunDirectory::create(root_ / "run", list_, origin("flow"), Existing::replaced);
  };
  replace();  // nothing to replace
  for (const char* name : {"summary.json", "result.h5", "index.html", "figures/energy.svg",
                           "units/process.jsonl", "study.toml", "checkpoint.bin", "notes.txt"})
    file(std::string("run/") + name, "old");
  beta_ = 9;
  replace();
  EXPECT_TRUE(fs::exists(root_ / "run/run.toml"));
  EXPECT_EQ(read_file(root_ / "run/notes.txt", 10), "old") << "what no run wrote stays";
  for (const char* name : {"summary.json", "result.h5", "index.html", "figures", "units",
                           "study.toml", "checkpoint.bin"})
    EXPECT_FALSE(fs::exists(root_ / "run" / name)) << name;
  beta_ = 1;
  EXPECT_EQ(refused("flow"), "");
  EXPECT_EQ(beta_, 9);
  fs::remove(root_ / "run/run.toml");  // now it is nobody's run
  EXPECT_SAYS(refusal(replace), "exists and is not empty");
  EXPECT_EQ(read_file(root_ / "run/notes.txt", 10), "old");
}

TEST_F(RunDirectoryTest, ItsFileIsAConfigOfItsOwnCommand) {
  beta_ = 5;
  { RunDirectory::create(root_ / "run", list_, origin("flow", {file("a b.npy", "1")})); }
  beta_ = 1;
  const fs::path toml = root_ / "run" / "run.toml";
  EXPECT_EQ(set_from_toml(list_, toml.string()), root_.string());
  EXPECT_EQ(beta_, 5);
  EXPECT_EQ(refusal([&] { require_command(toml, "flow"); }), "");
  EXPECT_SAYS(refusal([&] { require_command(toml, "select"); }),
              "run.toml belongs to attractor flow, not to attractor select");
  file("own.toml", "beta = 2");
  EXPECT_EQ(refusal([&] { require_command(root_ / "own.toml", "flow"); }), "");
}

TEST_F(RunDirectoryTest, RefusesInputFilesThatHaveChanged) {
  const std::vector<std::string> names = {file("x.npy", "0123456789"),
                                          file("zwölf \"12\".npy", "b"), file("data/X.npy", "c"),
                                          file("data/head.txt", "relu")};
  {
    RunDirectory::create(root_ / "run", list_,
                         origin("flow", {names[0], names[1], "data", names[0]}));
  }
  EXPECT_EQ(refused("flow"), "");
  for (const std::string& name : names) {
    const std::string before = read_file(root_ / name, 100);
    for (const std::string& other :
         {before + "x", before.substr(1), std::string(before.size(), 'z')}) {
      file(name, other);
      EXPECT_SAYS(refused("flow"), "has changed since the run began");
      EXPECT_SAYS(refused("flow"), (root_ / name.substr(0, name.find('/'))).string());
    }
    fs::remove(root_ / name);
    EXPECT_NE(refused("flow"), "") << name;
    file(name, before);
    EXPECT_EQ(refused("flow"), "") << name;
  }
  file("data/more.npy", "");
  EXPECT_SAYS(refused("flow"), "data has changed");
  fs::remove(root_ / "data/more.npy");
  file("data/run/result.h5", "not an array of the problem");
  EXPECT_EQ(refused("flow"), "");
}

TEST_F(RunDirectoryTest, AMissingInputFileIsRefusedBeforeAnythingIsWritten) {
  EXPECT_SAYS(
      refusal([&] { RunDirectory::create(root_ / "run", list_, origin("flow", {"none.npy"})); }),
      "none.npy: no such file");
  EXPECT_FALSE(fs::exists(root_ / "run"));
}

// A file of the same size and time is not read again; one that was touched is, and may be the same.
TEST_F(RunDirectoryTest, InputFilesAreReadAgainWhenTheyWereTouched) {
  file("x.npy", "before");
  InputFiles inputs({"x.npy"}, root_.string());
  const auto time = fs::last_write_time(root_ / "x.npy");
  inputs.require_unchanged();
  fs::last_write_time(root_ / "x.npy", time + std::chrono::seconds(5));
  EXPECT_EQ(refusal([&] { inputs.require_unchanged(); }), "");
  file("x.npy", "beforE");
  EXPECT_SAYS(refusal([&] { inputs.require_unchanged(); }), "x.npy has changed");
}

TEST_F(RunDirectoryTest, OneDatasetStandsForItsFile) {
  file("x.h5", "content");
  InputFiles inputs({"x.h5:/a/b", "x.h5:/c"}, root_.string());
  ASSERT_EQ(inputs.files().size(), 2U);
  EXPECT_EQ(inputs.files()[0].fingerprint, inputs.files()[1].fingerprint);
  file("x.h5", "another");
  EXPECT_SAYS(refusal([&] { inputs.require_unchanged(); }), "x.h5:/a/b has changed");
}

}  // namespace
}  // namespace attractor::lab
