#include "attractor/study/run_settings.hpp"

#include <gtest/gtest.h>

#include "attractor/files/arrays/npy.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

TEST(RunSettings, RunFromWords) {
  const Outcome pair =
      run_settings(command_named("reduce pair"), {{"beta", "30"}, {"degrees", "80"}}, "", {});
  EXPECT_EQ(pair.failure, "");
  EXPECT_TRUE(pair.summary.contains("parameters"));
  const Outcome flow = run_settings(command_named("flow"),
                                    {{"tokens", "5"}, {"time", "1"}, {"outputs", "4"}}, "", {});
  EXPECT_EQ(flow.summary["series"]["participation_ratio"].size(), 5U);
  EXPECT_TRUE(
      run_settings(command_named("flow"), {{"time", "1"}}, "", {.stop = [] { return true; }})
          .interrupted);
}

TEST(RunSettings, RefuseWhatHasNoEffect) {
  EXPECT_EQ(refusal([] {
              run_settings(command_named("flow"), {{"rho", "0.5"}}, "", {});
            }),
            "rho is used by init equiangular only, not by init uniform");
}

TEST(RunSettings, ThatOnlyTestARunAreNotPartOfIt) {
  const Outcome outcome = run_settings(
      command_named("flow"), {{"verify", "true"}, {"tokens", "9"}, {"time", "1"}}, "", {});
  EXPECT_FALSE(outcome.summary["parameters"].contains("verify"));
  EXPECT_LT(outcome.summary["verified_error"].get<double>(), 1e-6);
}

class RunSettingsFiles : public PageTest {};

TEST_F(RunSettingsFiles, AreMeantFromADirectory) {
  write_npy(directory_ / "two.npy", {{2, 3}, {1, 0, 0, 0, 1, 0}});
  const Settings settings = {{"init", "file"}, {"tokens-file", "two.npy"}, {"time", "1"}};
  const Outcome outcome = run_settings(command_named("flow"), settings, directory_.string(), {});
  EXPECT_EQ(outcome.summary["tokens"], 2);
  EXPECT_EQ(outcome.summary["parameters"]["tokens-file"], "two.npy");
  EXPECT_SAYS(refusal([&] { run_settings(command_named("flow"), settings, "", {}); }),
              "two.npy: no such file");
}

}  // namespace
}  // namespace attractor::lab
