#include "attractor/kernels/batch/system_batch.hpp"

#include <algorithm>
#include <cassert>
#include <numbers>

#include "attractor/base/threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/batch/system_batch.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/batch/system_batch-inl.hpp"
#include "hwy/aligned_allocator.h"
#include "hwy/highway.h"

// One job for every target: systems [begin, end). Without steps: the velocity, into `tokens`.
#ifndef ATTRACTOR_KERNELS_BATCH_JOB
#define ATTRACTOR_KERNELS_BATCH_JOB
namespace attractor::kernels {
struct BatchJob {
  const SystemBatch* batch;
  const BatchSteps* steps;
  double *tokens, *close;
};
}  // namespace attractor::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {
namespace {

void normalise(const Block& b, double* x) {
  const D d;
  for (std::size_t i = 0; i < b.n; ++i) {
    V square = hn::Zero(d);
    for (std::size_t k = i * b.dim; k < (i + 1) * b.dim; ++k)
      square = hn::MulAdd(load(x, k), load(x, k), square);
    const V factor = hn::Div(hn::Set(d, 1.0), hn::Sqrt(square));
    for (std::size_t k = i * b.dim; k < (i + 1) * b.dim; ++k)
      store(hn::Mul(load(x, k), factor), x, k);
  }
}

// x_i + h A_i = x_i + (h / Z_i) s_i, times Z_i for softmax: its length is divided out anyway.
V layer_step(const Block& b, const V* gap2) {
  const D d;
  const V close = gather(b, b.x, gap2), h = load(b.step, 0), one = hn::Set(d, 1.0);
  const V of_all = hn::Div(h, hn::Set(d, static_cast<double>(b.n)));
  for (std::size_t i = 0; i < b.n; ++i) {
    const V share = b.softmax ? h : of_all;
    store(share, b.share, i);
    store(hn::Add(b.softmax ? load(b.total, i) : one, share), b.own, i);
  }
  combine(b, b.x, b.x);
  normalise(b, b.x);
  return close;
}

V drift(const Block& b, const double* x, const V* gap2, double* out) {
  const D d;
  const V close = gather(b, x, gap2), n = hn::Set(d, static_cast<double>(b.n));
  for (std::size_t i = 0; i < b.n; ++i) {
    store(hn::Zero(d), b.own, i);
    store(hn::Div(hn::Set(d, 1.0), b.softmax ? load(b.total, i) : n), b.share, i);
  }
  combine(b, x, out);
  for (std::size_t i = 0; i < b.n; ++i) {
    V radial = hn::Zero(d);
    for (std::size_t k = i * b.dim; k < (i + 1) * b.dim; ++k)
      radial = hn::MulAdd(load(x, k), load(out, k), radial);
    for (std::size_t k = i * b.dim; k < (i + 1) * b.dim; ++k)
      store(hn::NegMulAdd(radial, load(x, k), load(out, k)), out, k);
  }
  return close;
}

// out = normalise(x + factor h slope)
void move(const Block& b, const double* slope, double factor, double* out) {
  const V h = hn::Mul(hn::Set(D(), factor), load(b.step, 0));
  for (std::size_t k = 0; k < b.n * b.dim; ++k)
    store(hn::MulAdd(h, load(slope, k), load(b.x, k)), out, k);
  normalise(b, out);
}

V euler_step(const Block& b, const V* gap2) {
  const V close = drift(b, b.x, gap2, b.slope);
  move(b, b.slope, 1, b.x);
  return close;
}

// Kutta's method: change = k_1 + 2 k_2 + 2 k_3 + k_4.
V rk4_step(const Block& b, const V* gap2) {
  constexpr double kTo[] = {0.5, 0.5, 1.0}, kWeight[] = {1, 2, 2, 1};
  V close = hn::Zero(D());
  for (std::size_t s = 0; s < 4; ++s) {
    if (s == 0)
      close = drift(b, b.x, gap2, b.slope);
    else
      drift(b, b.stage, nullptr, b.slope);
    const V weight = hn::Set(D(), kWeight[s]);
    for (std::size_t k = 0; k < b.n * b.dim; ++k) {
      const V before = s == 0 ? hn::Zero(D()) : load(b.change, k);
      store(hn::MulAdd(weight, load(b.slope, k), before), b.change, k);
    }
    if (s < 3) move(b, b.slope, kTo[s], b.stage);
  }
  move(b, b.change, 1.0 / 6, b.x);
  return close;
}

V step(const Block& b, BatchMethod method, const V* gap2) {
  switch (method) {
    case BatchMethod::layers:
      return layer_step(b, gap2);
    case BatchMethod::euler:
      return euler_step(b, gap2);
    default:
      return rk4_step(b, gap2);
  }
}

// Tokens that fill up the last tile: far from all others, hence never close.
void place_padding(const Block& b) {
  for (std::size_t i = b.n; i < b.padded; ++i)
    store(hn::Set(D(), 1e3 * static_cast<double>(i)), b.x, i * b.dim);
}

// Lane by lane from or to systems begin, begin + 1, ..., the last one repeated if there are fewer.
void load_block(const BatchJob& job, std::size_t begin, std::size_t count, const Block& b) {
  const std::size_t lanes = hn::Lanes(D()), size = b.n * b.dim;
  const auto system_of = [&](std::size_t lane) { return begin + std::min(lane, count - 1); };
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t system = system_of(lane);
    b.factor[lane] = -0.5 * std::numbers::log2e * job.batch->betas[system];
    b.step[lane] = job.steps ? job.steps->sizes[system] : 0;
  }
  for (std::size_t first = 0; first < size; first += 8)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double* from = job.tokens + system_of(lane) * size;
      for (std::size_t k = first; k < std::min(first + 8, size); ++k)
        b.x[k * lanes + lane] = from[k];
    }
}

void store_block(const BatchJob& job, std::size_t begin, std::size_t count, const Block& b,
                 const double* x) {
  const std::size_t lanes = hn::Lanes(D()), size = b.n * b.dim;
  for (std::size_t first = 0; first < size; first += 8)
    for (std::size_t lane = 0; lane < count; ++lane)
      for (std::size_t k = first; k < std::min(first + 8, size); ++k)
        job.tokens[(begin + lane) * size + k] = x[k * lanes + lane];
}

void advance_block(const BatchJob& job, std::size_t begin, std::size_t count, const Block& b) {
  const D d;
  const BatchSteps& steps = *job.steps;
  const double pairs = 0.5 * static_cast<double>(b.n) * static_cast<double>(b.n - 1);
  const V gap2 = hn::Set(d, 2 * (1 - steps.threshold));
  std::size_t next = 0;  // of steps.counted
  for (std::uint64_t k = 0; k <= steps.count; ++k) {
    const bool counts = next < steps.counted.size() && steps.counted[next] == k;
    if (k == steps.count && !counts) break;
    const V* asked = counts ? &gap2 : nullptr;
    const V close = k < steps.count ? step(b, steps.method, asked) : gather(b, b.x, asked);
    if (!counts) continue;
    HWY_ALIGN double buffer[hn::MaxLanes(D())];
    hn::Store(close, d, buffer);
    for (std::size_t lane = 0; lane < count; ++lane)
      job.close[(begin + lane) * steps.counted.size() + next] =
          b.n < 2 ? 1.0 : buffer[lane] / pairs;
    ++next;
  }
}

Block block_in(const BatchJob& job, hwy::AlignedFreeUniquePtr<double[]>& scratch) {
  const SystemBatch& batch = *job.batch;
  Block b{};
  b.n = batch.tokens;
  b.padded = (b.n + kRows - 1) / kRows * kRows;
  b.dim = batch.dim;
  b.softmax = batch.softmax;
  const bool layers = job.steps && job.steps->method == BatchMethod::layers;
  const bool stages = job.steps && job.steps->method == BatchMethod::rk4;
  const std::size_t state = b.padded * b.dim;
  const std::size_t weights = is_small(b.dim) ? 0 : b.padded * b.padded;
  const struct {
    double** at;
    std::size_t size;
  } parts[] = {{&b.factor, 1},
               {&b.step, 1},
               {&b.x, state},
               {&b.weight, weights},
               {&b.sum, is_small(b.dim) ? state : 0},
               {&b.total, b.padded},
               {&b.own, b.padded},
               {&b.share, b.padded},
               {&b.slab, b.padded * kWidth},
               {&b.stage, stages ? state : 0},
               {&b.slope, layers ? 0 : state},
               {&b.change, stages ? state : 0}};
  std::size_t size = 0;
  for (const auto& part : parts) size += part.size * hn::Lanes(D());
  scratch = hwy::AllocateAligned<double>(size);
  std::fill_n(scratch.get(), size, 0.0);
  double* at = scratch.get();
  for (const auto& part : parts) {
    *part.at = at;
    at += part.size * hn::Lanes(D());
  }
  return b;
}

}  // namespace

void batch_job(const BatchJob& job, std::size_t begin, std::size_t end) {
  const std::size_t lanes = hn::Lanes(D());
  hwy::AlignedFreeUniquePtr<double[]> scratch;
  const Block b = block_in(job, scratch);
  place_padding(b);
  for (; begin < end; begin += lanes) {
    const std::size_t count = std::min(lanes, end - begin);
    load_block(job, begin, count, b);
    if (job.steps)
      advance_block(job, begin, count, b);
    else
      drift(b, b.x, nullptr, b.slope);
    store_block(job, begin, count, b, job.steps ? b.x : b.slope);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(batch_job);

namespace {

// Systems a thread takes at once: whole blocks, few enough to share out, many to one scratch.
std::size_t grain(std::size_t systems) {
  constexpr std::size_t kWhole = 16, kShares = 8;
  return kWhole * std::max<std::size_t>(1, systems / (kWhole * kShares * threads()));
}

void run(const BatchJob& job) {
  const std::size_t systems = job.batch->systems();
  parallel_for(systems, grain(systems), [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(batch_job)(job, begin, end);
  });
}

}  // namespace

void batch_velocity(const SystemBatch& batch, std::span<const double> tokens,
                    std::span<double> velocity) {
  assert(tokens.size() == batch.systems() * batch.system_size());
  assert(velocity.size() == tokens.size());
  if (velocity.data() != tokens.data()) std::copy(tokens.begin(), tokens.end(), velocity.begin());
  run({&batch, nullptr, velocity.data(), nullptr});
}

void batch_advance(const SystemBatch& batch, const BatchSteps& steps, std::span<double> tokens,
                   std::span<double> close) {
  assert(tokens.size() == batch.systems() * batch.system_size());
  assert(steps.sizes.size() == batch.systems());
  assert(close.size() == batch.systems() * steps.counted.size());
  assert(steps.counted.empty() || steps.counted.back() <= steps.count);
  run({&batch, &steps, tokens.data(), close.data()});
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
