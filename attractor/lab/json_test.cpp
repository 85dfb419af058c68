#include "attractor/lab/json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace attractor::lab {
namespace {

TEST(JsonValues, AreReadToADepthOf64) {
  const std::string most = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(Json::parse(most).dump(), most);
  for (const std::string& deeper :
       {"[" + most + "]", std::string(100000, '['),
        std::string(100000, '[') + std::string(100000, ']'), "{\"a\": [" + most + "]}"}) {
    EXPECT_THROW(Json::parse(deeper), JsonError);
    EXPECT_TRUE(Json::parse_or_null(deeper).is_null());
  }
}

}  // namespace
}  // namespace attractor::lab
