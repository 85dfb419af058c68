// |value - truth| <= tolerance |truth|.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#define EXPECT_RELATIVE(value, truth, tolerance) \
  EXPECT_NEAR(value, truth, (tolerance)*std::abs(truth))
