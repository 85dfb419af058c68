#include "attractor/lab/words.hpp"

#include <gtest/gtest.h>

namespace attractor::lab {
namespace {

TEST(PowersOfTen, NumbersInWords) {
  for (const auto& [number, words] : {std::pair{"1.8e-15 and 2e+06", "1.8·10^{−15} and 2·10^{6}"},
                                      {"1e+30", "10^{30}"},
                                      {"0.0e+00", "0"},
                                      {"3e+00", "3"},
                                      {"-4.5e-09", "-4.5·10^{−9}"}})
    EXPECT_EQ(with_powers_of_ten(number), words);
}

TEST(PowersOfTen, OtherTextStays) {
  for (const char* text :
       {"", "tokens.npy", "12.5", "1.", "2e", "7e+", "1e5", "a1b2", "0.999", "β ≥ 3"})
    EXPECT_EQ(with_powers_of_ten(text), text);
}

}  // namespace
}  // namespace attractor::lab
