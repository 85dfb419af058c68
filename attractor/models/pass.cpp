#include "attractor/models/pass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/models/blocks.hpp"
#include "attractor/models/trained_attention.hpp"

namespace attractor::models {

std::span<const std::string_view> names(MaskChange) {
  static constexpr std::array<std::string_view, 3> kAll = {"as-trained", "full", "causal"};
  return kAll;
}

/// What a step leaves for its view.
struct Pass::Work {
  std::optional<RotaryTables> rotary{};
  std::optional<TrainedAttention> attention{};
  Matrix before{}, seen{}, written{}, hidden{};
};

namespace {

void require_fit(const Model& model, std::span<const std::uint32_t> tokens, const Switches& s) {
  const Architecture& a = model.architecture;
  if (tokens.empty()) throw Error(fmt::format("{}: there are no tokens to pass", model.name));
  for (const std::uint32_t token : tokens)
    if (token >= a.vocabulary)
      throw Error(fmt::format("token {} is not in the vocabulary of {}, which ends at {}", token,
                              model.name, a.vocabulary - 1));
  if (!a.rotary() && tokens.size() > a.positions)
    throw Error(fmt::format("{} tokens are too many: {} knows {} positions", tokens.size(),
                            model.name, a.positions));
  if (s.only_layer && *s.only_layer >= a.layers)
    throw Error(fmt::format("layer {} cannot be iterated: {} has layers 0 to {}", *s.only_layer,
                            model.name, a.layers - 1));
}

}  // namespace

Pass::Pass(const Model& model, std::span<const std::uint32_t> tokens, const Switches& switches)
    : model_(model), switches_(switches), work_(std::make_unique<Work>()) {
  const Architecture& a = model.architecture;
  require_fit(model, tokens, switches);
  depth_ = switches.depth > 0 ? switches.depth : a.layers;
  causal_ =
      switches.mask == MaskChange::as_trained ? a.causal : switches.mask == MaskChange::causal;
  window_ = switches.mask == MaskChange::as_trained ? a.window : 0;
  if (a.rotary()) work_->rotary.emplace(a, tokens.size());
  state_ = embedded(tokens);
}

Pass::~Pass() = default;

Matrix Pass::embedded(std::span<const std::uint32_t> tokens) const {
  const Architecture& a = model_.architecture;
  const std::size_t width = a.embedding_width();
  Matrix x(tokens.size(), width);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    for (std::size_t c = 0; c < width; ++c) {
      float value = model_.words[tokens[i] * width + c];
      if (!model_.kind.empty()) value += model_.kind[c];
      if (!model_.places.empty()) value += model_.places[i * width + c];
      x.row(i)[c] = value;
    }
  if (!model_.embedding_norm.empty()) x = normed(model_.embedding_norm, a.norm, a.epsilon, x);
  return model_.embedding_map.empty() ? x : apply(model_.embedding_map, x);
}

void Pass::replace_state(Matrix x) {
  assert(x.rows == state_.rows && x.columns == state_.columns);
  state_ = std::move(x);
}

std::vector<kernels::KeyRange> Pass::seen_keys() const {
  const std::size_t n = tokens();
  std::vector<kernels::KeyRange> ranges;
  for (std::size_t i = 0; i < n; ++i)
    ranges.push_back(
        {window_ > 0 && i >= window_ ? i + 1 - window_ : 0, causal_       ? i + 1
                                                            : window_ > 0 ? std::min(n, i + window_)
                                                                          : n});
  return ranges;
}

const LayerView& Pass::step() {
  const Architecture& a = model_.architecture;
  const std::size_t k = switches_.only_layer.value_or(passed_ % a.layers);
  const Layer& layer = model_.layer(k);
  const bool post = a.place == NormPlace::post;
  Work& w = *work_;
  const double by_layer = a.by_layer ? static_cast<double>(k + 1) : 1;
  w.attention.emplace(AttentionSetting{
      .architecture = a,
      .layer = layer,
      .scale = switches_.beta_scale / (std::sqrt(static_cast<double>(a.head_dim)) * by_layer),
      .rotary = w.rotary ? &*w.rotary : nullptr,
      .seen = seen_keys(),
      .identity_values = switches_.identity_values});
  const auto norm = [&](const Norm& n, const Matrix& x) { return normed(n, a.norm, a.epsilon, x); };
  const auto norm_tangent = [&](const Norm& n, const Matrix& x, const Matrix& dx) {
    return normed_tangent(n, a.norm, a.epsilon, x, dx);
  };

  // Attention.
  w.before = std::move(state_);
  w.seen = post ? w.before : norm(layer.attention_norm, w.before);
  w.written = w.attention->write(w.seen);
  if (!switches_.attention) w.written = Matrix(w.seen.rows, w.seen.columns);
  Matrix sum = w.before;
  add(sum, w.written);
  for (Matrix& t : tangents_) {
    Matrix moved = post ? t : norm_tangent(layer.attention_norm, w.before, t);
    if (switches_.attention) add(t, w.attention->tangent(w.seen, moved));
    if (post) t = norm_tangent(layer.attention_norm, sum, t);
  }
  Matrix middle = post ? norm(layer.attention_norm, sum) : std::move(sum);

  // Feed-forward; without it the whole block is gone, and under post-norm its norm too.
  w.hidden = Matrix(middle.rows, middle.columns);
  if (switches_.feed_forward) {
    HiddenBlock block{.layer = layer, .activation = a.activation, .up = {}, .gate = {}};
    w.hidden = feed_forward(block, post ? middle : norm(layer.hidden_norm, middle));
    Matrix end = middle;
    add(end, w.hidden);
    for (Matrix& t : tangents_) {
      const Matrix moved = post ? t : norm_tangent(layer.hidden_norm, middle, t);
      add(t, feed_forward_tangent(block, moved));
      if (post) t = norm_tangent(layer.hidden_norm, end, t);
    }
    middle = post ? norm(layer.hidden_norm, end) : std::move(end);
  }
  state_ = std::move(middle);
  view_ = {.index = passed_,
           .weights = &layer,
           .before = &w.before,
           .seen = &w.seen,
           .attention = &w.written,
           .hidden = &w.hidden,
           .after = &state_,
           .keys = &w.attention->met_keys(),
           .logits = w.attention->logits(),
           .chances = w.attention->chances()};
  ++passed_;
  return view_;
}

Matrix Pass::final_state() const {
  const Architecture& a = model_.architecture;
  return model_.final_norm.empty() ? state_ : normed(model_.final_norm, a.norm, a.epsilon, state_);
}

std::vector<float> Pass::next_token() const {
  const Architecture& a = model_.architecture;
  const std::vector<float>& head = a.tied ? model_.words : model_.head;
  if (head.empty() || a.embedding_width() != a.width)
    throw Error(fmt::format("{}: has no head that writes tokens", model_.name));
  const Matrix x = final_state();
  const float* last = x.row(x.rows - 1);
  std::vector<float> logits(a.vocabulary);
  for (std::size_t t = 0; t < a.vocabulary; ++t) {
    double sum = 0;
    for (std::size_t c = 0; c < a.width; ++c)
      sum += static_cast<double>(head[t * a.width + c]) * static_cast<double>(last[c]);
    logits[t] = static_cast<float>(sum);
  }
  return logits;
}

}  // namespace attractor::models
