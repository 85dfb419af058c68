#include "attractor/base/apart.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "attractor/base/error.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

TEST(Apart, AnswersQuestions) {
  Apart child("it", {}, [](Channel& parent) {
    for (;;) {
      const std::string name = parent.text();
      const std::uint64_t count = parent.number();
      std::vector<double> squares(count);
      for (std::size_t k = 0; k < count; ++k) squares[k] = static_cast<double>(k * k);
      parent.put(name + "!");
      parent.put(std::span<const double>(squares));
      parent.put(0.5);
    }
  });
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{300'000}}) {
    std::string name;
    std::vector<double> squares(count, -1.0);
    double last = 0;
    child.ask([&](Channel& c) {
      c.put(std::string_view("squares"));
      c.put(count);
      name = c.text();
      c.reals(squares, 1);
      last = c.real();
    });
    EXPECT_EQ(name, "squares!");
    EXPECT_EQ(last, 0.5);
    for (std::size_t k = 0; k < count; ++k) ASSERT_EQ(squares[k], static_cast<double>(k * k));
  }
}

TEST(Apart, ACrashIsAnError) {
  Apart child("it", {}, [](Channel& parent) {
    parent.number();
    ::raise(SIGSEGV);
  });
  const auto question = [&] {
    child.ask([](Channel& c) {
      c.put(std::uint64_t{1});
      c.number();
    });
  };
  EXPECT_SAYS(refusal(question), "it: the library that reads it crashes (Segmentation fault)");
  EXPECT_SAYS(refusal(question), "it: the library that reads it crashes");  // and stays one
}

TEST(Apart, WhatNeverEndsIsAnError) {
  Apart child("it", {.seconds = 0.2}, [](Channel&) {
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  });
  EXPECT_SAYS(refusal([&] { child.ask([](Channel& c) { c.number(); }); }),
              "it: reading it takes longer than 0.2 s");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they take all addresses
TEST(Apart, HungerForMemoryIsSeenByTheChild) {
  Apart child("it", {.bytes = std::size_t{64} << 20}, [](Channel& parent) {
    std::uint64_t outcome = 0;
    try {
      const std::vector<char> much(std::size_t{1} << 30, 'x');
      outcome = static_cast<std::uint64_t>(much.back());
    } catch (const std::bad_alloc&) {
      outcome = 1;
    }
    parent.put(outcome);
  });
  std::uint64_t outcome = 0;
  child.ask([&](Channel& c) { outcome = c.number(); });
  EXPECT_EQ(outcome, 1U);
}
#endif

TEST(Apart, NobodyIsLeftBehind) {
  for (int k = 0; k < 50; ++k) Apart("it", {}, [](Channel& parent) { parent.number(); });
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child, not even a dead one
}

}  // namespace
}  // namespace attractor
