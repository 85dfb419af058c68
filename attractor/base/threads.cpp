#include "attractor/base/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace attractor {
namespace {

using Body = std::function<void(std::size_t, std::size_t)>;

struct Job {
  const Body* body = nullptr;
  std::size_t count = 0, grain = 1;
};

thread_local bool inside_block = false;

class Pool {
 public:
  explicit Pool(std::size_t size) {
    for (std::size_t k = 1; k < size; ++k) workers_.emplace_back([this] { work(); });
  }

  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
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
      busy_ = workers_.size();
      ++generation_;
    }
    wake_.notify_all();
    take_blocks();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void work() {
    std::size_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
        if (stopping_) return;
        seen = generation_;
      }
      take_blocks();
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  void take_blocks() {
    inside_block = true;
    for (;;) {
      std::size_t begin, end;
      const Body* body;
      {
        const std::lock_guard lock(mutex_);
        begin = next_;
        if (begin >= job_.count) break;
        end = std::min(job_.count, begin + job_.grain);
        next_ = end;
        body = job_.body;
      }
      (*body)(begin, end);
    }
    inside_block = false;
  }

  std::vector<std::thread> workers_;
  std::mutex callers_;  // jobs of several threads wait for each other
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job job_;
  std::size_t next_ = 0, busy_ = 0, generation_ = 0;
  bool stopping_ = false;
};

std::size_t available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
}

std::unique_ptr<Pool>& pool() {
  static std::unique_ptr<Pool> instance = std::make_unique<Pool>(available_cores());
  return instance;
}

}  // namespace

void set_threads(std::size_t count) {
  if (count == 0) count = available_cores();
  if (pool()->size() != count) pool() = std::make_unique<Pool>(count);
}

std::size_t threads() { return pool()->size(); }

void parallel_for(std::size_t count, std::size_t grain, const Body& body) {
  grain = std::max<std::size_t>(grain, 1);
  if (inside_block || count <= grain || pool()->size() == 1) {
    const bool outermost = !std::exchange(inside_block, true);
    for (std::size_t begin = 0; begin < count; begin += grain)
      body(begin, std::min(count, begin + grain));
    if (outermost) inside_block = false;
    return;
  }
  pool()->run({&body, count, grain});
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
