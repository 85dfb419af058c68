#include "attractor/base/threads.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/memory_limit.hpp"

namespace attractor {
namespace {

constexpr std::size_t kThreadCounts[] = {1, 2, 3, 8};

// The number of threads is global: every test puts it back.
class Threads : public ::testing::Test {
 protected:
  ~Threads() override { set_threads(before_); }
  const std::size_t before_ = threads();
};

// Memory may end in any thread: the caller hears of it, no block is left running, and the next loop
// runs as if nothing had been.
TEST_F(Threads, WhatABlockThrowsReachesTheCaller) {
  for (const std::size_t count : kThreadCounts) {
    set_threads(count);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> running = 0, calls = 0;
      EXPECT_THROW(parallel_for(200, 1,
                                [&](std::size_t begin, std::size_t) {
                                  ++running, ++calls;
                                  const bool bad = begin % 50 == 37;
                                  --running;
                                  if (bad) throw std::bad_alloc();
                                }),
                   std::bad_alloc);
      EXPECT_EQ(running, 0);
      EXPECT_LE(calls, 200);
      std::atomic<std::size_t> sum = 0;
      parallel_for(200, 1, [&](std::size_t begin, std::size_t) {
        parallel_for(2, 1, [&](std::size_t k, std::size_t) { sum += begin * k; });
      });
      EXPECT_EQ(sum, 199U * 200 / 2);
    }
  }
}

TEST_F(Threads, EveryIndexRunsExactlyOnceInBlocksOfTheGrain) {
  for (const std::size_t count : kThreadCounts) {
    set_threads(count);
    for (const std::size_t items : {0, 1, 2, 3, 7, 64, 101, 1009})
      for (const std::size_t grain : {1, 2, 3, 13, 64, 1000, 5000}) {
        std::vector<std::atomic<int>> visits(items);
        std::atomic<int> crooked = 0;
        parallel_for(items, grain, [&](std::size_t begin, std::size_t end) {
          const bool full = end - begin == grain, last = end == items;
          if (begin % grain != 0 || begin >= end || end > items || !(full || last)) ++crooked;
          for (std::size_t i = begin; i < std::min(end, items); ++i) ++visits[i];
        });
        EXPECT_EQ(crooked, 0) << count << " threads, " << items << " by " << grain;
        for (std::size_t i = 0; i < items; ++i)
          ASSERT_EQ(visits[i], 1) << count << " threads, " << items << " by " << grain;
      }
  }
}

TEST_F(Threads, AGrainOfZeroIsOne) {
  set_threads(3);
  std::vector<std::atomic<int>> visits(11);
  std::atomic<int> crooked = 0;
  parallel_for(visits.size(), 0, [&](std::size_t begin, std::size_t end) {
    if (end != begin + 1) ++crooked;
    ++visits[begin];
  });
  EXPECT_EQ(crooked, 0);
  for (const auto& v : visits) EXPECT_EQ(v, 1);
}

TEST_F(Threads, WritesOfTheBlocksAreSeenAfterwards) {
  set_threads(8);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> plain(257, -1);  // not atomic: the call itself must order them
    parallel_for(plain.size(), 3, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) plain[i] = static_cast<int>(i) + round;
    });
    for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(plain[i], static_cast<int>(i) + round);
  }
}

TEST_F(Threads, BlocksRunAtTheSameTimeOnAsManyThreads) {
  // Every block waits for all the others: only one thread for each of them lets them meet. The
  // limit is a safety net against waiting for ever.
  for (const std::size_t count : {2, 3, 8}) {
    set_threads(count);
    std::mutex mutex;
    std::condition_variable all_here;
    std::size_t here = 0, met = 0;
    std::set<std::thread::id> ids;
    parallel_for(count, 1, [&](std::size_t, std::size_t) {
      std::unique_lock lock(mutex);
      ids.insert(std::this_thread::get_id());
      if (++here == count) all_here.notify_all();
      if (all_here.wait_for(lock, std::chrono::seconds(60), [&] { return here == count; })) ++met;
    });
    EXPECT_EQ(met, count);
    EXPECT_EQ(ids.size(), count);
  }
}

TEST_F(Threads, ACallFromInsideABlockRunsSeriallyOnThatThread) {
  for (const std::size_t count : kThreadCounts) {
    set_threads(count);
    constexpr std::size_t kOuter = 23, kInner = 17;
    std::vector<std::atomic<int>> visits(kOuter * kInner);
    std::atomic<int> elsewhere = 0, out_of_order = 0;
    parallel_for(kOuter, 2, [&](std::size_t begin, std::size_t end) {
      const auto me = std::this_thread::get_id();
      for (std::size_t i = begin; i < end; ++i) {
        std::size_t next = 0;
        parallel_for(kInner, 3, [&](std::size_t inner_begin, std::size_t inner_end) {
          if (std::this_thread::get_id() != me) ++elsewhere;
          if (inner_begin != next) ++out_of_order;
          next = inner_end;
          for (std::size_t j = inner_begin; j < inner_end; ++j) ++visits[i * kInner + j];
        });
      }
    });
    EXPECT_EQ(elsewhere, 0);
    EXPECT_EQ(out_of_order, 0);
    for (const auto& v : visits) ASSERT_EQ(v, 1) << count << " threads";
    // And the pool still works afterwards, on more than the calling thread's blocks.
    std::atomic<std::size_t> sum = 0;
    parallel_for(100, 1, [&](std::size_t begin, std::size_t) { sum += begin; });
    EXPECT_EQ(sum, 4950U);
  }
}

// Terms of 1e-8 to 1e8 with both signs: another order of additions gives other bits.
double term(std::size_t i) {
  return std::sin(static_cast<double>(i) * 1.7) *
         std::pow(10.0, static_cast<double>(i * 7 % 17) - 8);
}

TEST_F(Threads, ASumHasTheSameBitsForEveryNumberOfThreads) {
  for (const std::size_t items : {0, 1, 2, 1023, 1024, 1025, 4096, 100003}) {
    set_threads(1);
    const double serial = parallel_sum(items, term);
    for (const std::size_t count : kThreadCounts) {
      set_threads(count);
      for (int round = 0; round < 3; ++round) EXPECT_EQ(parallel_sum(items, term), serial);
    }
    long double exact = 0, size = 0;
    for (std::size_t i = 0; i < items; ++i) {
      exact += term(i);
      size += std::abs(term(i));
    }
    EXPECT_NEAR(serial, static_cast<double>(exact), 1e-15 * static_cast<double>(size)) << items;
  }
}

TEST_F(Threads, TheTermsOfTheSumTestDoDependOnTheOrder) {
  double forward = 0, backward = 0;
  for (std::size_t i = 0; i < 100003; ++i) forward += term(i);
  for (std::size_t i = 100003; i-- > 0;) backward += term(i);
  EXPECT_NE(forward, backward);
}

TEST_F(Threads, ASumInsideABlockHasTheSameBits) {
  set_threads(1);
  const double alone = parallel_sum(5000, term);
  set_threads(4);
  std::vector<double> inside(9);
  parallel_for(inside.size(), 1,
               [&](std::size_t begin, std::size_t) { inside[begin] = parallel_sum(5000, term); });
  for (const double sum : inside) EXPECT_EQ(sum, alone);
}

TEST_F(Threads, TheNumberCanBeChangedAgainAndAgain) {
  for (int round = 0; round < 40; ++round)
    for (const std::size_t count : {1, 5, 2, 8, 8, 3}) {
      set_threads(count);
      ASSERT_EQ(threads(), count);
      std::atomic<std::size_t> sum = 0;
      parallel_for(31, 2, [&](std::size_t begin, std::size_t end) { sum += end - begin; });
      ASSERT_EQ(sum, 31U);
    }
}

TEST_F(Threads, TheNumberCanBeChangedWhileOthersWork) {
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> others;
  for (int k = 0; k < 2; ++k)
    others.emplace_back([&] {
      while (!done) {
        std::atomic<std::size_t> sum = 0;
        parallel_for(101, 2, [&](std::size_t begin, std::size_t end) { sum += end - begin; });
        if (sum != 101U) ++wrong;
      }
    });
  for (int round = 0; round < 200; ++round) set_threads(1 + static_cast<std::size_t>(round % 4));
  done = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(wrong, 0);
}

// A forked process has none of the threads, and must neither wait for them nor join them.
TEST_F(Threads, AForkedProcessHasItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer allows no threads after a fork";
#else
  set_threads(3);
  parallel_for(100, 1, [](std::size_t, std::size_t) {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<std::size_t> sum = 0;
    const bool same = threads() == 3;
    parallel_for(100, 1, [&](std::size_t begin, std::size_t) { sum += begin; });
    set_threads(2);
    parallel_for(100, 1, [&](std::size_t begin, std::size_t) { sum += begin; });
    _exit(same && sum == 2 * 4950U ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  std::atomic<std::size_t> sum = 0;
  parallel_for(100, 1, [&](std::size_t begin, std::size_t) { sum += begin; });
  EXPECT_EQ(sum, 4950U);
#endif
}

TEST_F(Threads, ABlockMayWaitForTheOnesBeforeIt) {
  for (const std::size_t count : kThreadCounts) {
    set_threads(count);
    for (int round = 0; round < 50; ++round) {
      std::atomic<std::size_t> done = 0;
      std::vector<std::size_t> order;  // not atomic: waiting must order the writes
      parallel_for(40, 1, [&](std::size_t begin, std::size_t) {
        wait_until([&] { return done == begin; });
        order.push_back(begin);
        ++done;
      });
      ASSERT_EQ(order.size(), 40U);
      for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they take all addresses
// 4096 stacks of 8 MB would leave nothing of 2 GB for the files of a run.
TEST_F(Threads, StacksLeaveHalfOfALimitedAddressSpace) {
  rlimit stack{}, space{};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &stack), 0);
  if (stack.rlim_cur == RLIM_INFINITY) stack.rlim_cur = 8 << 20;
  const MemoryLimit limit(std::size_t{2} << 30);
  ASSERT_EQ(getrlimit(RLIMIT_AS, &space), 0);
  set_threads(4096);
  EXPECT_EQ(threads(), space.rlim_cur / 2 / stack.rlim_cur);
}
#endif

TEST_F(Threads, ZeroMeansOneForEachCoreThisProcessMayUse) {
  set_threads(3);
  set_threads(0);
  EXPECT_EQ(threads(), std::thread::hardware_concurrency());
}

}  // namespace
}  // namespace attractor
