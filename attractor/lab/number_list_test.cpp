#include "attractor/lab/number_list.hpp"

#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

using List = std::vector<double>;

TEST(NumberList, TakesWhatAParameterTakes) {
  EXPECT_EQ(number_list("levels", "0.5,0.9,1e-3", 0, 1), (List{0.5, 0.9, 1e-3}));
  EXPECT_EQ(number_list("levels", " 3 , -2,+1 ", -5, 5), (List{3, -2, 1}));
  EXPECT_EQ(number_list("levels", "7", 7, 7), List{7});
  EXPECT_EQ(number_list("levels", "", 0, 1), List{});
  EXPECT_EQ(number_list("levels", "  ", 0, 1), List{});
  EXPECT_EQ(number_list("levels", "0:1:5", 0, 1), (List{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(number_list("levels", "3,2:1:2", 0, 5), (List{3, 2, 1}));
}

TEST(NumberList, RefusesWithNameItemAndRange) {
  for (const char* text : {"0.5,,1", "0.5,", ",", "a", "0.5;0.6", "nan", "0.5,2", "-1", "1 2",
                           "0x1", "0:1:1", "0:1:2.5", "0:2:3", "0:1", "0:1:2:3", "0:1:1e9"})
    EXPECT_SAYS(refusal([&] { number_list("levels", text, 0, 1); }), "levels holds '") << text;
  EXPECT_EQ(refusal([] { number_list("levels", "0.5,2,0.7", 0, 1); }),
            "levels holds '2', which is not allowed; allowed: comma-separated numbers from 0 to 1, "
            "or from:to:count");
}

}  // namespace
}  // namespace attractor::lab
