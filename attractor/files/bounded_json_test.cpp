#include "attractor/files/bounded_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

TEST(BoundedJson, ReadsWhatIsSmallEnough) {
  EXPECT_EQ(bounded_json(R"({"a": [1, 2, "x"]})", "f").at("a").at(2), "x");
}

TEST(BoundedJson, EndsBeforeMemoryIsTaken) {
  const std::string many = "[" + std::string(400000, '1');
  std::string wide = "[";
  for (int k = 0; k < 20000; ++k) wide += "[],";
  wide += "1]";
  EXPECT_SAYS(refusal([&] { bounded_json(wide, "f", 1 << 19); }), "f: takes more than 0 MB");
  EXPECT_SAYS(refusal([&] { bounded_json(many, "f", 1 << 20); }), "f: has a number beyond");
  EXPECT_SAYS(refusal([&] { bounded_json(std::string(100000, '['), "f"); }),
              "f: is nested deeper than 64 levels");
}

TEST(BoundedJson, SaysWhereInItsOwnWords) {
  const auto said = [](const char* text) { return refusal([&] { bounded_json(text, "f"); }); };
  EXPECT_EQ(said("{\"a\": \xff}"), "f: is no JSON at its byte 7");
  EXPECT_EQ(said("{\"a\": 1"), "f: is no JSON at its byte 8");
  EXPECT_EQ(said("{\"a\": 1e999}"), "f: has a number beyond 1.8e308");
}

}  // namespace
}  // namespace attractor
