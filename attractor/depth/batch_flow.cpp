#include "attractor/depth/batch_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <span>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

constexpr double kMostSteps = 1e9;

void require(const char* what, double value, bool good, const char* allowed) {
  if (!good) throw Error(fmt::format("{} = {} is not allowed; allowed: {}", what, value, allowed));
}

double step_of(const BatchPlan& plan, std::size_t beta) {
  return plan.steps[plan.steps.size() == 1 ? 0 : beta];
}

// In the kernel's unit of time: e^{-beta} for the unnormalised rule.
double kernel_step(const BatchPlan& plan, std::size_t beta) {
  const double h = step_of(plan, beta);
  return plan.rule == Rule::softmax ? h : std::exp(std::log(h) + plan.betas[beta]);
}

void validate_sizes(const BatchPlan& plan) {
  const auto whole = [](std::size_t value) { return static_cast<double>(value); };
  require("replicates", whole(plan.replicates), plan.replicates >= 1, "at least 1");
  require("tokens", whole(plan.tokens), plan.tokens >= 1 && plan.tokens <= 512, "1 to 512");
  require("dim", whole(plan.dim), plan.dim >= 2 && plan.dim <= 1000000, "2 to 1000000");
  require("number of betas", whole(plan.betas.size()), !plan.betas.empty(), "at least 1");
  require("number of steps", whole(plan.steps.size()),
          plan.steps.size() == 1 || plan.steps.size() == plan.betas.size(),
          "1, or the number of betas");
  require("number of outputs", whole(plan.outputs.size()), !plan.outputs.empty(), "at least 1");
  require("threshold", plan.threshold, plan.threshold >= -1 && plan.threshold <= 1, "-1 to 1");
}

void validate(const BatchPlan& plan) {
  validate_sizes(plan);
  double before = 0;
  for (const double t : plan.outputs) {
    require("output time", t, t >= before && std::isfinite(t), "rising finite times from 0");
    before = t;
  }
  const bool layers = plan.method == BatchMethod::layers;
  for (std::size_t k = 0; k < plan.betas.size(); ++k) {
    const double beta = plan.betas[k], h = step_of(plan, k), natural = kernel_step(plan, k);
    require("beta", beta, beta >= 0 && std::isfinite(beta), "finite numbers from 0");
    require("step", h, h > 0 && plan.outputs.back() / h <= kMostSteps,
            "positive, with at most 1e9 steps to the last output");
    require(plan.rule == Rule::softmax ? "step" : "step e^beta", natural,
            natural <= (layers ? 1.0 : 1e6),
            layers ? "at most 1 in layers, where x + h A might vanish beyond" : "at most 1e6");
  }
}

// The first step that reaches each output; a time missed by rounding counts as reached.
std::vector<std::uint64_t> output_steps(const BatchPlan& plan, double h) {
  std::vector<std::uint64_t> steps;
  for (const double t : plan.outputs)
    steps.push_back(static_cast<std::uint64_t>(std::ceil(t / h * (1 - 1e-12))));
  return steps;
}

// Chi with `freedom` degrees of freedom from one uniform, by its quantile.
double chi(double freedom, double uniform) {
  using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
  return std::sqrt(2 * boost::math::gamma_p_inv(0.5 * freedom, uniform, Policy()));
}

void draw_start(const BatchPlan& plan, std::uint64_t system, std::span<double> tokens) {
  const Stream stream(plan.seed, "batch tokens"), lengths(plan.seed, "batch lengths");
  const std::size_t dim = std::min(plan.tokens, plan.dim);
  for (std::size_t i = 0; i < plan.tokens; ++i) {
    const std::span<double> x = tokens.subspan(i * dim, dim);
    const std::uint64_t item = system * plan.tokens + i;
    if (plan.dim <= plan.tokens) {
      stream.normals(item, x);
    } else {
      std::fill(x.begin(), x.end(), 0.0);
      stream.normals(item, x.first(i));
      x[i] = chi(static_cast<double>(plan.dim - i), lengths.uniform(item, 0));
    }
    const double length = norm(x);
    for (double& c : x) c /= length;
  }
}

// Systems for about an eighth of a second of one core, since who waits may stop between batches
// only, and at most 64 MB of tokens.
double step_seconds(const BatchPlan& plan) {
  const auto n = static_cast<double>(plan.tokens);
  return 0.05e-9 * n * n * (6 + 2 * std::min(n, static_cast<double>(plan.dim)));
}

std::size_t batch_size(const BatchPlan& plan, std::uint64_t steps) {
  const auto n = static_cast<double>(plan.tokens);
  const double dim = std::min(n, static_cast<double>(plan.dim));
  const double seconds = step_seconds(plan) * static_cast<double>(steps + 1);
  const double most = std::min(0.125 / seconds, 64e6 / (8 * n * dim));
  return 64 * static_cast<std::size_t>(std::clamp(most / 64, 1.0, 1024.0));
}

// Betas [begin, end) share a step, so that their systems may lie side by side.
struct SameStep {
  std::size_t begin, end;
};

std::vector<SameStep> groups_of(const BatchPlan& plan) {
  std::vector<SameStep> groups;
  for (std::size_t k = 0; k < plan.betas.size(); ++k) {
    if (k > 0 && step_of(plan, k) == step_of(plan, k - 1))
      groups.back().end = k + 1;
    else
      groups.push_back({k, k + 1});
  }
  return groups;
}

// Steps between two questions whether to stop: long runs of few systems are one batch.
std::uint64_t steps_at_once(const BatchPlan& plan, std::size_t systems) {
  constexpr std::size_t kLanes = 16;  // a block of lanes takes as long for one system
  const double most = 0.25 / (step_seconds(plan) * static_cast<double>(std::max(systems, kLanes)));
  return static_cast<std::uint64_t>(std::clamp(most, 1.0, 1e15));
}

// Systems [first, first + count) of the plan; `close` gets count x counted.size() fractions. False
// if stopped.
bool run_systems(const BatchPlan& plan, std::size_t first, std::size_t count,
                 std::span<const std::uint64_t> counted, std::vector<double>& close) {
  const std::size_t size = plan.tokens * std::min(plan.tokens, plan.dim);
  std::vector<double> tokens(count * size), betas(count), steps(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t beta = (first + k) / plan.replicates;
    betas[k] = plan.betas[beta];
    steps[k] = kernel_step(plan, beta);
  }
  parallel_for(count, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      draw_start(plan, plan.first_system + first + k, std::span(tokens).subspan(k * size, size));
  });
  close.resize(count * counted.size());
  const kernels::SystemBatch batch{plan.tokens, size / plan.tokens, plan.rule == Rule::softmax,
                                   betas};
  // A piece counts before each of its steps, the last one also behind them: the same bits.
  const std::uint64_t most = steps_at_once(plan, count);
  auto next = counted.begin();
  for (std::uint64_t done = 0;; done += most) {
    const bool last = counted.back() - done <= most;
    const std::uint64_t piece = last ? counted.back() - done : most;
    std::vector<std::uint64_t> within;
    const auto before = static_cast<std::size_t>(next - counted.begin());
    for (; next != counted.end() && (last || *next < done + piece); ++next)
      within.push_back(*next - done);
    std::vector<double> part(count * within.size());
    kernels::batch_advance(batch, {plan.method, steps, piece, within, plan.threshold}, tokens,
                           part);
    for (std::size_t k = 0; k < count; ++k)
      std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(k * within.size()), within.size(),
                  close.begin() + static_cast<std::ptrdiff_t>(k * counted.size() + before));
    if (last) return true;
    if (plan.stop && plan.stop()) return false;
  }
}

// False if stopped.
bool run_group(const BatchPlan& plan, const SameStep& group, BatchProgress& progress) {
  const std::vector<std::uint64_t> at = output_steps(plan, step_of(plan, group.begin));
  std::vector<std::uint64_t> counted = at;  // several outputs may fall on one step
  counted.erase(std::unique(counted.begin(), counted.end()), counted.end());
  const std::size_t batch = batch_size(plan, at.back()), end = group.end * plan.replicates;
  const auto all = static_cast<double>(plan.betas.size() * plan.replicates);
  std::vector<double> close;
  while (progress.next < end) {
    if (plan.stop && plan.stop()) return false;
    const std::size_t first = progress.next, count = std::min(batch, end - first);
    if (!run_systems(plan, first, count, counted, close)) return false;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t beta = (first + k) / plan.replicates;
      for (std::size_t t = 0, c = 0; t < at.size(); ++t) {
        while (counted[c] != at[t]) ++c;
        progress.moments[beta * at.size() + t].add(close[k * counted.size() + c]);
      }
    }
    progress.next = first + count;
    if (plan.progress) plan.progress(static_cast<double>(first + count) / all);
    if (plan.safe_point) plan.safe_point(progress);
  }
  return true;
}

}  // namespace

void FractionMoments::add(double value) {
  count += 1;
  const double before = value - mean;
  mean += before / count;
  squares += before * (value - mean);
}

double FractionMoments::error() const {
  if (squares > 0) return std::sqrt(squares / (count * (count - 1)));
  return std::max(mean, 1 - mean) / std::max(1.0, count);
}

BatchResult run_batch(const BatchPlan& plan) { return run_batch(plan, {}); }

BatchResult run_batch(const BatchPlan& plan, BatchProgress from) {
  validate(plan);
  from.moments.resize(plan.betas.size() * plan.outputs.size());
  BatchResult result{.outputs = plan.outputs.size()};
  for (const SameStep& group : groups_of(plan)) {
    result.stopped = !run_group(plan, group, from);
    if (result.stopped) break;
  }
  for (const FractionMoments& m : from.moments) {
    result.mean.push_back(m.count > 0 ? m.mean : kNan);
    result.error.push_back(m.count > 0 ? m.error() : kNan);
  }
  for (std::size_t k = 0; k < from.moments.size(); k += result.outputs)
    result.replicates.push_back(static_cast<std::size_t>(from.moments[k].count));
  return result;
}

std::vector<double> batch_start(const BatchPlan& plan, std::uint64_t system) {
  validate_sizes(plan);
  std::vector<double> tokens(plan.tokens * std::min(plan.tokens, plan.dim));
  draw_start(plan, system, tokens);
  return tokens;
}

double unnormalised_step(double h, double beta) {
  return h * std::min(1.0, std::exp(0.5 - beta) / std::sqrt(beta));
}

}  // namespace attractor::depth
