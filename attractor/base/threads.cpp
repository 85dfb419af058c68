#include "attractor/base/threads.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace attractor {
namespace {

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

using Body = std::function<void(std::size_t, std::size_t)>;

struct Job {
  const Body* body = nullptr;
  std::size_t count = 0, grain = 1;
};

thread_local bool inside_block = false;

/// Loops within a block stay on their thread.
struct InsideBlock {
  const bool outermost = !std::exchange(inside_block, true);
  ~InsideBlock() {
    if (outermost) inside_block = false;
  }
};

// Waking a sleeping thread takes longer than many a loop: look for a while before going to sleep.
template <class Condition>
bool soon(const Condition& met) {
  for (int k = 0; k < 2000; ++k) {
    if (met()) return true;
    pause_briefly();
  }
  return met();
}

class Pool {
 public:
  /// With as many as the system gives: limits of a container or of memory may allow fewer.
  explicit Pool(std::size_t size) {
    try {
      for (std::size_t k = 1; k < size; ++k) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }

  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      ++generation_;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  std::size_t size() const { return workers_.size() + 1; }

  void run(const Job& job) {
    const std::lock_guard one_caller(callers_);
    {
      const std::lock_guard lock(mutex_);
      job_ = job;
      next_ = 0;
      open_ = true;
      ++generation_;
    }
    wake_.notify_all();
    take_blocks();
    {
      const std::lock_guard lock(mutex_);
      open_ = false;  // who is still asleep need not come
    }
    const auto all_left = [this] { return busy_ == 0; };
    if (!soon(all_left)) {
      std::unique_lock lock(mutex_);
      done_.wait(lock, all_left);
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void work() {
    std::size_t seen = 0;
    const auto called = [&] { return generation_ != seen; };
    for (;;) {
      soon(called);
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, called);
        if (stopping_) return;
        seen = generation_;
        if (!open_) continue;
        ++busy_;
      }
      take_blocks();
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  void take_blocks() {
    const InsideBlock inside;
    const Job job = job_;  // cannot change while this thread is busy
    try {
      for (;;) {
        const std::size_t begin = next_.fetch_add(job.grain);
        if (begin >= job.count) break;
        (*job.body)(begin, std::min(job.count, begin + job.grain));
      }
    } catch (...) {       // of memory that is not there: the caller hears of it when all have left,
      next_ = job.count;  // and nobody begins another block
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  std::vector<std::thread> workers_;
  std::mutex callers_;  // jobs of several threads wait for each other
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job job_;
  std::exception_ptr failure_;  // the first of a job
  std::atomic<std::size_t> next_ = 0, busy_ = 0, generation_ = 0;
  bool open_ = false, stopping_ = false;
};

std::size_t available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
}

// Threads whose stacks leave half of a limited address space to everything else.
std::size_t stacks_that_fit() {
  rlimit space{}, stack{};
  if (getrlimit(RLIMIT_AS, &space) != 0 || getrlimit(RLIMIT_STACK, &stack) != 0 ||
      space.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::size_t>::max();
  constexpr rlim_t kUsual = 8 << 20;  // where a stack may grow without end
  const rlim_t each =
      stack.rlim_cur == RLIM_INFINITY ? kUsual : std::max<rlim_t>(stack.rlim_cur, 1);
  return static_cast<std::size_t>(std::max<rlim_t>(1, space.rlim_cur / 2 / each));
}

// Who runs a job holds the pool: another thread may set another number meanwhile. A forked process
// has none of the workers, so it begins with a pool of its own, and leaves the old one alone.
class PoolPlace {
 public:
  static PoolPlace& get() {
    static PoolPlace* const one = new PoolPlace;  // never destroyed: threads may end after it
    return *one;
  }

  std::shared_ptr<Pool> pool() {
    const std::lock_guard lock(mutex_);
    if (!pool_) pool_ = std::make_shared<Pool>(count_ > 0 ? count_ : available_cores());
    return pool_;
  }

  void set(std::size_t count) {
    std::shared_ptr<Pool> old;  // ends without the lock, when its last job is done
    const std::lock_guard lock(mutex_);
    if (pool_ && pool_->size() == count) return;
    old = std::exchange(pool_, std::make_shared<Pool>(count));
    count_ = count;
  }

 private:
  PoolPlace() {
    pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); },
                   [] {
                     PoolPlace& place = get();
                     // Its threads do not exist here: what would join them must not run.
                     if (place.pool_) place.left_ = new std::shared_ptr<Pool>(place.pool_);
                     place.pool_.reset();
                     place.mutex_.unlock();
                   });
  }

  std::mutex mutex_;
  std::shared_ptr<Pool> pool_;
  std::shared_ptr<Pool>* left_ = nullptr;  // of the process that this one was forked from
  std::size_t count_ = 0;
};

std::shared_ptr<Pool> pool() { return PoolPlace::get().pool(); }

}  // namespace

void wait_until(const std::function<bool()>& met) {
  while (!soon(met)) std::this_thread::yield();
}

void set_threads(std::size_t count) {
  PoolPlace::get().set(std::min(count == 0 ? available_cores() : count, stacks_that_fit()));
}

std::size_t threads() { return pool()->size(); }

void parallel_for(std::size_t count, std::size_t grain, const Body& body) {
  grain = std::max<std::size_t>(grain, 1);
  const std::shared_ptr<Pool> pool = inside_block || count <= grain ? nullptr : attractor::pool();
  if (!pool || pool->size() == 1) {
    const InsideBlock inside;
    for (std::size_t begin = 0; begin < count; begin += grain)
      body(begin, std::min(count, begin + grain));
    return;
  }
  pool->run({&body, count, grain});
}

double parallel_sum(std::size_t count, const std::function<double(std::size_t)>& term) {
  constexpr std::size_t kBlock = 1024;
  std::vector<double> partial((count + kBlock - 1) / kBlock, 0.0);
  parallel_for(count, kBlock, [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += term(i);
    partial[begin / kBlock] = sum;
  });
  double sum = 0;
  for (double p : partial) sum += p;
  return sum;
}

}  // namespace attractor
