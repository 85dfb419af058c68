// Times training of the prompt p on a problem from a file and prints one JSON object:
//
//   training_timing PROBLEM [gd|ngd|sign|adam [LOSS [STEPS [STEP [THREADS [double|single]]]]]]
//
// PROBLEM is what read_problem takes; 1000 steps of 0.1 unless said otherwise; THREADS 0 means all
// cores; double or single is how X is stored for the steps. seconds is the time of one step in the
// best of three runs, reading not counted: flow::run with Euler on the DescentFlow, as `attractor
// select` trains. A step has to read X once at least, so the time of a plain sum over X, measured
// in the same run on the same threads, is its limit; bandwidth_fraction is that limit over our time
// (memory only if X is larger than the caches); with single, X is half as many bytes, and so is the
// limit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/files/problem_file.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/training/descent_flow.hpp"
#include "bench/timing.hpp"

namespace attractor {
namespace {

constexpr std::size_t kRepeats = 3, kShown = 16;

template <class Number>
Number number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0))
    throw Error(fmt::format("\"{}\" is not a number of steps or threads, nor a step", text));
  return value;
}

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Independent partial sums, so that reading is what takes the time, not adding.
double sum(std::span<const double> x) {
  std::array<double, 16> partial{};
  for (std::size_t k = 0; k + partial.size() <= x.size(); k += partial.size())
    for (std::size_t j = 0; j < partial.size(); ++j) partial[j] += x[k + j];
  double total = 0;
  for (const double part : partial) total += part;
  return total;
}

// Seconds of the best sum over x, and where it went, so that no compiler leaves it out.
std::pair<double, double> time_of_reading(std::span<const double> x) {
  constexpr std::size_t kBlock = 8192;
  const std::size_t count = std::max<std::size_t>(3, 100'000 / x.size());
  std::vector<double> sums(x.size() / kBlock + 1);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < count; ++k)
    best = std::min(best, seconds_of([&] {
                      parallel_for(x.size(), kBlock, [&](std::size_t begin, std::size_t end) {
                        sums[begin / kBlock] = sum(x.subspan(begin, end - begin));
                      });
                    }));
  return {best, sum(sums)};
}

void run(std::span<const std::string> arguments) {
  const auto argument = [&](std::size_t k, const char* otherwise) {
    return k < arguments.size() ? arguments[k] : std::string(otherwise);
  };
  const std::string rule = argument(1, "ngd");
  const std::map<std::string, training::Update> rules{{"gd", training::Update::gradient},
                                                      {"ngd", training::Update::normalised},
                                                      {"sign", training::Update::sign},
                                                      {"adam", training::Update::adam}};
  if (arguments.empty() || arguments.size() > 7 || !rules.contains(rule))
    throw Error(
        "usage: training_timing PROBLEM [gd|ngd|sign|adam [LOSS [STEPS [STEP [THREADS "
        "[double|single]]]]]]");
  const training::Loss loss = named<training::Loss>("loss", argument(2, "logistic"));
  const auto steps = number<std::uint64_t>(argument(3, "1000"));
  const auto step = number<double>(argument(4, "0.1"));
  set_threads(number<std::size_t>(argument(5, "1")));

  const training::Problem problem = training::read_problem(arguments[0]);
  const auto stored = named<kernels::Precision>("precision", argument(6, "double"));
  const training::Objective objective(problem, loss, training::Train::p, stored);
  training::DescentFlow flow(objective, {.rule = rules.at(rule), .step = step});
  const flow::Plan plan{.end = flow::Time(step * static_cast<double>(steps)), .step = step};
  flow::Progress progress;
  flow::Status status{};
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < kRepeats; ++k) {
    progress = {.state = flow.state(objective.start())};
    best = std::min(
        best, seconds_of([&] { status = flow::run(flow, flow::euler(), plan, progress, {}); }));
  }
  const std::vector<double> p = flow.weights(progress.state);
  training::Evaluation end;
  objective.evaluate(p, end);
  const auto [reading, total] = time_of_reading(problem.x);
  const double share = stored == kernels::Precision::f32 ? 0.5 : 1;
  const double per_step = best / static_cast<double>(std::max<std::uint64_t>(1, progress.steps));
  const auto bytes = static_cast<double>(problem.x.size() * sizeof(double));
  const nlohmann::ordered_json json{
      {"inputs", problem.inputs},
      {"tokens", problem.tokens},
      {"dim", problem.dim},
      {"threads", threads()},
      {"status", flow::name(status)},
      {"steps", progress.steps},
      {"seconds", per_step},
      {"loss", objective.loss(end)},
      {"p_norm", norm(p)},
      {"p",
       std::vector<double>(p.begin(), p.begin() + std::min<std::ptrdiff_t>(kShown, std::ssize(p)))},
      {"x_sum", total},
      {"sum_seconds", reading},
      {"sum_gigabytes_per_second", bytes / reading / 1e9},
      {"bandwidth_fraction", share * reading / per_step},
      {"data_bytes", problem.x.size() * sizeof(double)},
      {"peak_bytes", peak_bytes()}};
  fmt::print("{}\n", json.dump());
}

}  // namespace
}  // namespace attractor

int main(int count, char** values) {
  return attractor::timing_program("training_timing", count, values, attractor::run);
}
