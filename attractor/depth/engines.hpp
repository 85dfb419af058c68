// Which engine moves tokens fastest. Under sa or usa with identity weights on the sphere rows of
// all pairs (attention_flow.hpp) compete with sums in O(n): on the circle, on S^2, by power
// moments on spheres up to d = 8, and over clumps of tokens in any dimension. What each can do and
// what it costs stands here; docs/decisions/engines.md has the measurements.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "attractor/attention/attention.hpp"

namespace attractor::depth {

using attractor::name;

enum class Engine { dense, circle, sphere, moments, clumps };
std::span<const std::string_view> names(Engine);

inline constexpr std::size_t kManyTokens = 20'000;  // from here on engines in O(n) are looked at
inline constexpr double kFinestCircle = 1e-12, kFinestSphere = 1e-11;  // accuracy within reach
inline constexpr double kMostFieldBeta = 1e4;                          // circle and sphere

/// Velocities of tokens.
struct EngineTask {
  Rule rule = Rule::softmax;
  double beta = 1, accuracy = 1e-11;
  std::size_t tokens = 1, dim = 3;
  bool plain = true;   // make_token_flow.hpp; else only layers do it
  bool fields = true;  // identity weights on the sphere, and steps are no layers
  bool ends = true;    // without an end only coalescing tokens come to it: dense and clumps
  bool worthy = true;  // of a field: nothing was asked that only dense rows can do, not too long
  bool exact = true;   // double precision: clumps
};

/// The engine in O(n) of this dimension.
Engine linear_engine(std::size_t dim);
/// Dimension, accuracy and beta are within reach.
bool can(Engine engine, const EngineTask& task);
/// Time of a velocity by moments over that by dense rows; infinity where moments cannot do it.
double moments_over_dense(const EngineTask& task);
/// For very many tokens: linear_engine() where it can, and saves half the time; else dense rows.
/// Clumps have to be asked for, until the model of their cost is fitted (clump_partition.hpp).
Engine fastest(const EngineTask& task);
/// The engine asked for where it can do the task, dense rows where it cannot; nothing asked: the
/// fastest for many tokens, dense for few. None: layers.
std::optional<Engine> choose(const EngineTask& task, std::optional<Engine> asked);

}  // namespace attractor::depth
