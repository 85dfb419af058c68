// What a test says about a refusal: EXPECT_SAYS(refusal([&] { call(); }), "part of the sentence").
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "attractor/base/error.hpp"

namespace attractor {

/// The message of the Error that `action` throws; empty if it throws none.
template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace attractor

#define EXPECT_SAYS(message, part) EXPECT_NE((message).find(part), std::string::npos) << (message)
