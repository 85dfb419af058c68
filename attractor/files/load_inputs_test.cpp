// Files that parameters name: which they are, and what becomes of them.
#include "attractor/files/load_inputs.hpp"

#include <gtest/gtest.h>

#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "attractor/files/problem_file.hpp"
#include "attractor/training/examples.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

class LoadInputs : public PageTest {
 protected:
  ParameterList list() {
    ParameterList l;
    l.add("tokens-file", tokens_, "");
    l.add("query", query_, "");
    l.add("data", data_, "");
    l.add("run", run_, "");
    l.add("title", title_, "a text that names no file");
    return l;
  }
  void set(const char* name, const std::string& text) { find(list(), name).set(text); }
  std::string at(const std::string& name) const { return (directory_ / name).string(); }

  ArrayInput tokens_{};
  WeightInput query_{};
  ProblemInput data_{};
  RunInput run_{};
  std::string title_ = "x.npy";
};

TEST_F(LoadInputs, NamesEveryFileOnce) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(input_files(list()), Names{});
  set("tokens-file", "t.h5:/x");
  set("query", "q.npy");
  set("data", "problem.json");
  set("run", "runs/1");
  EXPECT_EQ(input_files(list()), (Names{"t.h5:/x", "q.npy", "problem.json", "runs/1"}));
  set("query", "goe");           // drawn
  set("data", "example:multi");  // made
  tokens_ = Array{{1}, {1}};     // given by a program
  EXPECT_EQ(input_files(list()), Names{"runs/1"});
}

TEST_F(LoadInputs, TakesRelativeNamesFromADirectory) {
  write_npy(at("q.npy"), {{2, 2}, {1, 2, 3, 4}});
  Hdf5Writer out;
  const std::vector<double> row = {5, 6};
  out.dataset("x", row, {1, 2});
  out.commit(at("t.h5"));
  set("query", "q.npy");
  set("tokens-file", "t.h5:/x");
  EXPECT_SAYS(refusal([&] { load_inputs(list(), ""); }), "no such file");
  load_inputs(list(), directory_.string());
  EXPECT_EQ(query_.given.get().data, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(tokens_.get().shape, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(tokens_.get().data, row);
  EXPECT_EQ(tokens_.name, "t.h5:/x");
}

TEST_F(LoadInputs, NamesThatNoFileCanHaveAreRefusedLikeOthers) {
  const std::string name(5000, 'x');
  ModelInput model;
  ArchitectureInput architecture;
  TextInput text;
  ParameterList own;
  own.add("model", model, "");
  own.add("architecture", architecture, "");
  own.add("text", text, "");
  for (const char* parameter : {"model", "architecture", "text"}) {
    find(own, parameter).set(name);
    EXPECT_SAYS(refusal([&] { load_inputs(own, ""); }), name.substr(0, 100));
    find(own, parameter).set("");
  }
  set("run", name);
  EXPECT_SAYS(refusal([&] { load_inputs(list(), ""); }), name.substr(0, 100));
}

TEST_F(LoadInputs, TakesAbsoluteNamesAsTheyAre) {
  write_npy(at("t.npy"), {{1, 2}, {7, 8}});
  for (const std::string directory : {"", "/no/where"}) {
    set("tokens-file", at("t.npy"));
    load_inputs(list(), directory);
    EXPECT_EQ(tokens_.get().data, (std::vector<double>{7, 8}));
  }
}

TEST_F(LoadInputs, LeavesWhatAProgramHasPutIn) {
  write_npy(at("t.npy"), {{1}, {1}});
  tokens_ = Array{{1}, {2}};
  tokens_.name = at("t.npy");
  query_ = WeightKind::goe;
  data_.name = "nothing.json";
  data_.problem = std::make_shared<const training::Problem>();
  load_inputs(list(), "");
  EXPECT_EQ(tokens_.get().data, std::vector<double>{2});
  EXPECT_EQ(query_.kind, WeightKind::goe);
  EXPECT_FALSE(query_.is_given());
}

TEST_F(LoadInputs, ReadsProblemsAndLeavesExamplesToTheirCommand) {
  const training::Problem problem = training::example({.name = "multi"});
  training::write_problem(problem, at("problem.json"));
  set("data", "problem.json");
  load_inputs(list(), directory_.string());
  EXPECT_EQ(data_.get().x, problem.x);
  set("data", "example:multi");
  load_inputs(list(), directory_.string());
  EXPECT_EQ(data_.problem, nullptr);
  set("data", "none.json");
  EXPECT_SAYS(refusal([&] { load_inputs(list(), directory_.string()); }), "none.json");
}

TEST_F(LoadInputs, ReadsTheSnapshotsOfARun) {
  Hdf5Writer out;
  const std::vector<double> positions = {1, 0, 0, 1}, times = {0};
  out.dataset("/snapshots/positions", positions, {1, 2, 2});
  out.dataset("/snapshots/log10_time", times, {1});
  make_directory(directory_ / "run");
  out.commit(directory_ / "run" / "result.h5");
  for (const char* name : {"run", "run/result.h5"}) {
    set("run", name);
    load_inputs(list(), directory_.string());
    ASSERT_TRUE(run_.has("/snapshots/positions")) << name;
    EXPECT_EQ(run_.arrays.at("/snapshots/positions").data, positions);
    EXPECT_FALSE(run_.has("/snapshots/norms"));
  }
  set("run", "none");
  EXPECT_SAYS(refusal([&] { load_inputs(list(), directory_.string()); }), "none");
}

}  // namespace
}  // namespace attractor::lab
