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
  EXPECT_SAYS(refusal([&] { bounded_json(many, "f", 1 << 20); }), "f: is no JSON");
  EXPECT_SAYS(refusal([&] { bounded_json(std::string(100000, '['), "f"); }),
              "f: is nested deeper than 64 levels");
  EXPECT_SAYS(refusal([&] { bounded_json("{\"a\": \xff}", "f"); }), "f: is no JSON");
}

}  // namespace
}  // namespace attractor
