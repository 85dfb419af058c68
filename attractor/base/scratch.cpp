#include "attractor/base/scratch.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace attractor {
namespace {

constexpr std::size_t kMostIdle = std::size_t{256} << 20;  // bytes
constexpr std::size_t kHeader = 64;                        // before the memory handed out
constexpr std::size_t kStagger = 256, kPlaces = 16;        // arrays begin in different cache sets

struct ScratchBlock {
  void* start;        // as allocated
  std::size_t bytes;  // that can be handed out
};

class ScratchPool {
 public:
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    auto best = idle_.end();
    for (auto b = idle_.begin(); b != idle_.end(); ++b)
      if (b->bytes >= bytes && b->bytes / 2 <= bytes &&
          (best == idle_.end() || b->bytes < best->bytes))
        best = b;
    if (best == idle_.end()) return fresh(bytes);
    const ScratchBlock block = *best;
    idle_.erase(best);
    idle_bytes_ -= block.bytes;
    return handed_out(block);
  }

  void give_back(void* memory) {
    const ScratchBlock block = *block_of(memory);
    const std::lock_guard lock(mutex_);
    idle_.push_back(block);
    idle_bytes_ += block.bytes;
    while (idle_bytes_ > kMostIdle) {  // the oldest first
      idle_bytes_ -= idle_.front().bytes;
      std::free(idle_.front().start);
      idle_.erase(idle_.begin());
    }
  }

  // A process may be forked while another thread is in here.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static ScratchBlock* block_of(void* memory) {
    return reinterpret_cast<ScratchBlock*>(static_cast<char*>(memory) - kHeader);
  }
  static void* handed_out(const ScratchBlock& block) {
    return static_cast<char*>(block.start) + kHeader + *static_cast<std::size_t*>(block.start);
  }

  // The block begins with its stagger; what is handed out follows a header that says what it is of.
  void* fresh(std::size_t bytes) {
    const std::size_t stagger = kHeader + (count_++ % kPlaces) * kStagger;
    const std::size_t rounded = (bytes + 63) / 64 * 64;
    void* start = std::aligned_alloc(64, stagger + kHeader + rounded);
    if (!start) throw std::bad_alloc();
    *static_cast<std::size_t*>(start) = stagger;
    const ScratchBlock block{start, rounded};
    void* memory = handed_out(block);
    *block_of(memory) = block;
    return memory;
  }

  std::mutex mutex_;
  std::vector<ScratchBlock> idle_;
  std::size_t idle_bytes_ = 0, count_ = 0;
};

// Never destroyed: threads may end after it.
ScratchPool& scratch_pool() {
  static ScratchPool* const one = [] {
    pthread_atfork([] { scratch_pool().lock(); }, [] { scratch_pool().unlock(); },
                   [] { scratch_pool().unlock(); });
    return new ScratchPool;
  }();
  return *one;
}

}  // namespace

void* take_scratch(std::size_t bytes) {
  return scratch_pool().take(std::max<std::size_t>(bytes, 64));
}

void give_back_scratch(void* memory) { scratch_pool().give_back(memory); }

}  // namespace attractor
