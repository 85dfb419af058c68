// The weights of a flow: given, drawn from the seed, or both. Given ones are checked
// when the source is made; a period of redrawing draws the rest anew. Empty arrays are the identity
// (gain: 1).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/base/checksum.hpp"
#include "attractor/depth/feed_forward.hpp"
#include "attractor/lab/flow/flow_setup.hpp"

namespace attractor::lab {

struct FlowWeights {
  std::vector<Head> heads{};
  std::vector<double> output{};  // dim x dim
  depth::FeedForward block{};
  std::vector<double> gain{};                    // dim
  std::vector<double> query_gain{}, key_gain{};  // rank

  /// How many numbers they are.
  std::size_t numbers() const;
  void add_to(Checksum& sum) const;
};

/// Given factors, one for each channel; none: empty. Throws Error if they are more or fewer than
/// `size`, which is called `axis`.
std::vector<double> channel_factors(const ArrayInput& given, const char* axis, std::size_t size);

class WeightSource {
 public:
  /// Throws Error on a given array that has another shape than the parameters say.
  WeightSource(const FlowSetup& p, std::size_t dim);

  FlowWeights at(std::uint64_t period) const;

 private:
  std::vector<Head> heads(std::uint64_t period) const;
  std::vector<double> output(std::uint64_t period) const;
  depth::FeedForward block(std::uint64_t period) const;

  FlowSetup p_;
  std::size_t dim_;
  std::optional<Array> query_, key_, value_, output_;  // heads x rank x dim, heads x dim x dim
  std::optional<Array> in_, bias_, out_;               // of the feed-forward block
  std::vector<double> gain_, query_gain_, key_gain_;
  std::size_t width_ = 0;
};

/// How many numbers they will be, before they are made (the width of a file is not known then).
std::size_t weight_numbers(const FlowSetup& p, std::size_t dim);

}  // namespace attractor::lab
