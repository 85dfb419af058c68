// A pool of threads with one operation: split [0, count) into blocks. Which thread runs a block
// never shows in a result: callers write disjoint outputs and reduce them in index order
// afterwards.
#pragma once

#include <cstddef>
#include <functional>

namespace attractor {

/// Threads used from now on; 0 means one for each core this process may use.
void set_threads(std::size_t count);
std::size_t threads();

/// Calls body(begin, end) for consecutive blocks of at most `grain` items. Blocks run concurrently;
/// returns when all are done. A call from inside a block runs serially. What a body throws, the
/// caller gets, when no block is running any more; the others may then be left out.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

/// Returns once met() is true, which a block on another thread brings about. A block may only wait
/// for blocks before it: those have been taken already.
void wait_until(const std::function<bool()>& met);

/// Sum of term(i) over [0, count): partial sums of fixed blocks, added in order.
double parallel_sum(std::size_t count, const std::function<double(std::size_t)>& term);

}  // namespace attractor
