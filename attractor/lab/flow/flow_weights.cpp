#include "attractor/lab/flow/flow_weights.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "attractor/attention/weights.hpp"
#include "attractor/base/error.hpp"
#include "attractor/tokens/given_arrays.hpp"

namespace attractor::lab {
namespace {

std::optional<Array> checked(const ArrayInput& given, const std::vector<std::size_t>& shape,
                             const char* axes) {
  if (!given.given()) return std::nullopt;
  return weights_of(given.get(), given.what(), shape, axes);
}

std::size_t rank_of(const FlowSetup& p, std::size_t dim) { return p.rank > 0 ? p.rank : dim; }

std::vector<double> matrix_of(const Array& heads, std::uint64_t head) {
  const std::size_t size = heads.shape[1] * heads.shape[2];
  const auto own = std::span(heads.data).subspan(head * size, size);
  return {own.begin(), own.end()};
}

}  // namespace

std::vector<double> channel_factors(const ArrayInput& given, const char* axis, std::size_t size) {
  if (!given.given()) return {};
  const Array& array = given.get();
  if (array.data.size() != size)
    throw Error(fmt::format("{} has {} numbers; {} = {} are needed", given.what(),
                            array.data.size(), axis, size));
  for (const double g : array.data)
    if (!std::isfinite(g))
      throw Error(fmt::format("{} holds {}; finite numbers are needed", given.what(), g));
  return array.data;
}

std::size_t FlowWeights::numbers() const {
  std::size_t count = query_gain.size() + key_gain.size() + output.size() + gain.size() +
                      block.in.size() + block.bias.size() + block.out.size();
  for (const Head& head : heads) count += head.query.size() + head.key.size() + head.value.size();
  return count;
}

void FlowWeights::add_to(Checksum& sum) const {
  const auto add = [&](const std::vector<double>& m) { sum.add_all(std::span<const double>(m)); };
  for (const Head& head : heads) add(head.query), add(head.key), add(head.value);
  add(output), add(block.in), add(block.bias), add(block.out), add(gain);
  if (!query_gain.empty()) add(query_gain);
  if (!key_gain.empty()) add(key_gain);
}

WeightSource::WeightSource(const FlowSetup& p, std::size_t dim)
    : p_(p),
      dim_(dim),
      gain_(channel_factors(p.gain, "dim", dim)),
      query_gain_(channel_factors(p.query_gain, "rank", rank_of(p, dim))),
      key_gain_(channel_factors(p.key_gain, "rank", rank_of(p, dim))) {
  const std::size_t rank = rank_of(p, dim);
  query_ = checked(p.query.given, {p.heads, rank, dim}, "(heads, rank, dim)");
  key_ = checked(p.key.given, {p.heads, rank, dim}, "(heads, rank, dim)");
  value_ = checked(p.value.given, {p.heads, dim, dim}, "(heads, dim, dim)");
  output_ = checked(p.output.given, {dim, dim}, "(dim, dim)");
  if (p.feed_forward == depth::Activation::none) return;
  // The first file that has a width decides it, where it was not given.
  width_ = p.width;
  in_ = checked(p.feed_forward_in, {width_, dim}, "(width, dim)");
  if (in_) width_ = in_->shape[0];
  out_ = checked(p.feed_forward_out, {dim, width_}, "(dim, width)");
  if (out_) width_ = out_->shape[1];
  bias_ = checked(p.feed_forward_bias, {width_}, "(width)");
  if (bias_) width_ = bias_->shape[0];
  if (width_ == 0) width_ = 4 * dim;
}

std::vector<Head> WeightSource::heads(std::uint64_t period) const {
  const std::size_t rank = p_.rank > 0 ? p_.rank : dim_;
  const bool product = p_.value.kind == WeightKind::qk || p_.value.kind == WeightKind::minus_qk;
  std::vector<Head> all;
  for (std::uint64_t h = 0; h < p_.heads; ++h) {
    const auto matrix = [&](const std::optional<Array>& given, const WeightInput& input,
                            std::size_t rows, const char* name) {
      return given ? matrix_of(*given, h)
                   : draw_weights(input.drawn(), rows, dim_, {p_.seed, name, period, h});
    };
    Head head{.query = matrix(query_, p_.query, rank, "query"),
              .key = matrix(key_, p_.key, rank, "key"),
              .value = {}};
    head.value = product ? query_key_product(head.query, head.key, dim_,
                                             p_.value.kind == WeightKind::qk ? 1 : -1)
                         : matrix(value_, p_.value, dim_, "value");
    all.push_back(std::move(head));
  }
  return all;
}

std::vector<double> WeightSource::output(std::uint64_t period) const {
  if (output_) return output_->data;
  return draw_weights(p_.output.drawn(), dim_, dim_,
                      {.seed = p_.seed, .matrix = "output", .period = period});
}

depth::FeedForward WeightSource::block(std::uint64_t period) const {
  depth::FeedForward block =
      depth::draw_feed_forward(p_.feed_forward, dim_, width_, p_.strength, p_.seed, period);
  if (in_) block.in = in_->data;
  if (bias_) block.bias = bias_->data;
  if (out_) block.out = out_->data;
  return block;
}

std::size_t weight_numbers(const FlowSetup& p, std::size_t dim) {
  const auto present = [](const WeightInput& w) -> std::size_t { return w.identity() ? 0 : 1; };
  const std::size_t rank = p.rank > 0 ? p.rank : dim, width = p.width > 0 ? p.width : 4 * dim;
  return p.heads * dim * (rank * (present(p.query) + present(p.key)) + dim * present(p.value)) +
         present(p.output) * dim * dim +
         (p.feed_forward == depth::Activation::none ? 0 : width * (2 * dim + 1));
}

FlowWeights WeightSource::at(std::uint64_t period) const {
  return {.heads = heads(period),
          .output = output(period),
          .block = block(period),
          .gain = gain_,
          .query_gain = query_gain_,
          .key_gain = key_gain_};
}

}  // namespace attractor::lab
