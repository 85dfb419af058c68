#include "attractor/lab/inspect/inspect_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <tuple>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/lab/pieces.hpp"
#include "attractor/models/model.hpp"
#include "attractor/models/tokenizer.hpp"
#include "attractor/observe/observation_fields.hpp"

namespace attractor::lab {
namespace {

using models::Band;
using models::Encoded;
using models::Model;
using models::ReadingOptions;
using models::TextReading;

// ---- Texts.

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

/// "101 7592 102"
Encoded numbered(const std::string& line) {
  Encoded tokens;
  const char* at = line.data();
  const char* end = at + line.size();
  while (at < end) {
    if (*at == ' ' || *at == ',' || *at == '\t') {
      ++at;
      continue;
    }
    std::uint32_t id = 0;
    const auto [stop, error] = std::from_chars(at, end, id);
    if (error != std::errc())
      throw Error(fmt::format("text: '{:.20}' is no number of a token",
                              std::string_view(at, static_cast<std::size_t>(end - at))));
    tokens.ids.push_back(id);
    tokens.pieces.push_back(fmt::format("{}", id));
    tokens.special.push_back(false);
    at = stop;
  }
  return tokens;
}

class Encoder {
 public:
  explicit Encoder(const InspectSetup& p) : p_(p) {}

  /// At most `length` tokens; those at the end that the tokenizer added stay.
  Encoded operator()(const std::string& line) {
    if (!p_.ids && p_.model.tokenizer == nullptr)
      throw Error(fmt::format(
          "{} has no tokenizer beside it; give texts as numbers of tokens (ids)", p_.model.name));
    Encoded all = p_.ids ? numbered(line) : p_.model.tokenizer->encode(line);
    if (all.ids.size() <= p_.length) return all;
    ++cut;
    std::size_t tail = 0;
    while (tail < all.ids.size() && all.special[all.ids.size() - 1 - tail]) ++tail;
    const std::size_t head = p_.length > tail ? p_.length - tail : 0;
    Encoded part;
    for (std::size_t k = 0; k < all.ids.size(); ++k)
      if (k < head || k >= all.ids.size() - tail) {
        part.ids.push_back(all.ids[k]);
        part.pieces.push_back(all.pieces[k]);
        part.special.push_back(all.special[k]);
      }
    return part;
  }
  std::size_t cut = 0;

 private:
  const InspectSetup& p_;
};

bool measurable(const Encoded& text, bool special) {
  const auto kept = std::count(text.special.begin(), text.special.end(), false);
  return (special ? text.ids.size() : static_cast<std::size_t>(kept)) >= 2;
}

ReadingOptions options_of(const InspectSetup& p, const Context& context) {
  ReadingOptions o;
  o.switches = {.feed_forward = !p.no_feed_forward,
                .attention = !p.no_attention,
                .identity_values = p.identity_values,
                .only_layer = p.iterate ? std::optional<std::size_t>(*p.iterate) : std::nullopt,
                .depth = p.depth,
                .beta_scale = p.beta_scale,
                .mask = p.mask};
  o.keep_special = p.special;
  o.cluster_cosine = o.pair_threshold = p.cluster_cosine;
  o.exponents = p.exponents;
  o.seed = p.seed;
  o.directions = true;
  o.stop = context.stop;
  return o;
}

// ---- Over texts.

/// The mean of a field of every state or layer, over texts.
template <class Value>
Bands over_texts(const InspectRecord& record, std::size_t count, double level, std::uint64_t seed,
                 const Value& value) {
  Bands bands;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> values;
    for (const TextReading& text : record.texts) values.push_back(value(text, k));
    bands.push_back(mean_band(values, level, seed));
  }
  return bands;
}

void add_means(const InspectSetup& p, InspectRecord& record) {
  const std::size_t layers = record.layers(), states = layers + 1;
  const auto state = [&](const auto& value) {
    return over_texts(record, states, p.level, p.seed, value);
  };
  const auto layer = [&](const auto& value) {
    return over_texts(record, layers, p.level, p.seed, value);
  };
  record.cosine = state([](const TextReading& t, std::size_t k) { return t.cosine(k); });
  record.rank =
      state([](const TextReading& t, std::size_t k) { return t.states[k].seen.effective_rank; });
  record.clusters =
      state([](const TextReading& t, std::size_t k) { return t.states[k].seen.clusters; });
  record.beta = layer([](const TextReading& t, std::size_t k) { return t.layers[k].beta; });
  record.joint_beta =
      layer([](const TextReading& t, std::size_t k) { return t.layers[k].joint_beta; });
  record.r2 = layer([](const TextReading& t, std::size_t k) { return t.layers[k].r2; });
  record.entropy =
      layer([](const TextReading& t, std::size_t k) { return t.layers[k].entropy_ratio; });
  record.time = layer([](const TextReading& t, std::size_t k) { return t.layers[k].time; });
  record.step = layer([](const TextReading& t, std::size_t k) { return t.layers[k].step; });
}

// ---- Baseline.

using SentenceSums = std::vector<models::SentenceCosines>;  // by state

/// A text as it is kept: its directions, which are large, only as their sums.
struct KeptText {
  TextReading reading{};
  std::vector<models::SentenceSum> sums{};  // by state
};
inline auto fields(KeptText& value) {
  auto& [reading, sums] = value;
  return std::tie(reading, sums);
}

KeptText kept_text(TextReading reading, bool with_directions) {
  KeptText text{.reading = std::move(reading)};
  for (const std::vector<double>& directions : text.reading.directions)
    text.sums.push_back(models::sentence_sum(directions, text.reading.dim));
  if (!with_directions) text.reading.directions = {};
  return text;
}

void add_to(SentenceSums& sums, const KeptText& text) {
  if (sums.empty()) sums.assign(text.sums.size(), models::SentenceCosines(text.reading.dim));
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k].add(text.sums[k]);
}

/// Of sentences drawn from the baseline.
SentenceSums baseline_sums(const InspectSetup& p, Pieces& pieces, const Context& context,
                           Encoder& encoder) {
  const std::vector<std::string> lines = lines_of(p.baseline.get());
  if (lines.size() < 2)
    throw Error(fmt::format("baseline has {} sentence; at least 2 are needed", lines.size()));
  std::vector<std::size_t> order(lines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Stream stream(p.seed, "baseline sentences");
  for (std::size_t k = order.size(); k > 1; --k)
    std::swap(order[k - 1], order[stream.below(k, 0, k)]);
  ReadingOptions brief = options_of(p, context);
  brief.brief = true;
  brief.exponents = 0;
  SentenceSums sums;
  const auto wanted = static_cast<double>(p.baseline_sentences);
  double read = 0;
  for (const std::size_t k : order) {
    if (read >= wanted || context.stopped()) break;
    const Encoded sentence = encoder(lines[k]);
    if (!measurable(sentence, p.special)) continue;
    context.tell(0.5 + 0.2 * read / wanted, "baseline");
    const KeptText text = pieces.get(fmt::format("baseline {}", k), [&] {
      return kept_text(models::read_text(p.model.get(), sentence, brief), false);
    });
    if (context.stopped()) break;  // it may end at any layer
    add_to(sums, text);
    read += 1;
  }
  return sums;
}

void add_sentences(const InspectSetup& p, const SentenceSums& own, const SentenceSums& drawn,
                   InspectRecord& record) {
  const SentenceSums& other = p.baseline.given() ? drawn : own;
  if (other.empty()) return;  // stopped
  record.baseline_sentences = other.front().sentences();
  for (std::size_t k = 0; k < own.size(); ++k) {
    record.within.push_back(own[k].within(p.level, p.seed));
    record.across.push_back(other[k].across(p.level, p.seed));
    if (!p.baseline.given()) {
      record.excess.push_back(own[k].excess(p.level, p.seed));
      continue;
    }
    // Two independent samples: their bands add as squares.
    const Band &w = record.within.back(), &a = record.across.back();
    const double excess = w.mean - a.mean;
    record.excess.push_back({excess, excess - std::hypot(w.mean - w.low, a.high - a.mean),
                             excess + std::hypot(w.high - w.mean, a.mean - a.low)});
  }
}

// ---- Nulls.

std::vector<double> means(const std::vector<std::vector<double>>& rows) {
  std::vector<double> mean(rows.front().size(), 0.0);
  for (std::size_t k = 0; k < mean.size(); ++k) {
    double sum = 0, count = 0;
    for (const auto& row : rows)
      if (!std::isnan(row[k])) sum += row[k], count += 1;
    mean[k] = count > 0 ? sum / count : kNan;
  }
  return mean;
}

/// One draw of weights: means over texts.
struct NullDraw {
  std::vector<double> cosine{}, beta{}, time{}, slope{}, r2{};
};
inline auto fields(NullDraw& value) {
  auto& [cosine, beta, time, slope, r2] = value;
  return std::tie(cosine, beta, time, slope, r2);
}

NullDraw null_draw(const Model& null, std::span<const Encoded> texts, const ReadingOptions& brief) {
  std::vector<std::vector<double>> cosine, beta, time, slope, r2;
  for (const Encoded& text : texts) {
    const TextReading r = models::read_text(null, text, brief);
    if (brief.stop && brief.stop()) return {};  // it may end at any layer
    std::vector<double>& c = cosine.emplace_back();
    for (std::size_t s = 0; s < r.states.size(); ++s) c.push_back(r.cosine(s));
    std::vector<double>&b = beta.emplace_back(), &at = time.emplace_back();
    std::vector<double>&of_heads = slope.emplace_back(), &explained = r2.emplace_back();
    double sum = 0;
    for (const models::LayerReading& layer : r.layers) {
      b.push_back(layer.joint_beta);
      at.push_back(sum += layer.time);
      of_heads.push_back(layer.beta);
      explained.push_back(layer.r2);
    }
  }
  return {means(cosine), means(beta), means(time), means(slope), means(r2)};
}

void add_nulls(const InspectSetup& p, Pieces& pieces, const Context& context,
               const std::vector<Encoded>& texts, InspectRecord& record) {
  if (p.nulls == 0) return;
  ReadingOptions brief = options_of(p, context);
  brief.brief = true;
  brief.directions = false;
  brief.exponents = 0;
  record.null_texts = std::min<std::size_t>(p.null_texts, texts.size());
  for (const models::Null kind : every<models::Null>()) {
    NullReading reading{.kind = kind};
    for (std::uint64_t draw = 0; draw < p.nulls && !context.stopped(); ++draw) {
      context.tell(0.7 + 0.15 * (static_cast<double>(kind) +
                                 static_cast<double>(draw) / static_cast<double>(p.nulls)),
                   fmt::format("{} weights", name(kind)));
      NullDraw one = pieces.get(fmt::format("{} {}", name(kind), draw), [&] {
        return null_draw(models::null_model(p.model.get(), kind, p.seed + draw),
                         std::span(texts).first(record.null_texts), brief);
      });
      reading.cosine.push_back(std::move(one.cosine));
      reading.beta.push_back(std::move(one.beta));
      reading.time.push_back(std::move(one.time));
      reading.slope.push_back(std::move(one.slope));
      reading.r2.push_back(std::move(one.r2));
    }
    record.nulls.push_back(std::move(reading));
  }
}

// ---- Predictions.

/// Least squares of next cosines against cosines, a text left out (or none).
std::pair<double, double> line_without(const InspectRecord& record, std::size_t left_out) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t t = 0; t < record.texts.size(); ++t) {
    if (t == left_out && record.texts.size() > 1) continue;
    const TextReading& text = record.texts[t];
    for (std::size_t k = 0; k < text.layers.size(); ++k) {
      const double a = text.cosine(k), b = text.cosine(k + 1);
      n += 1, x += a, y += b, xx += a * a, xy += a * b;
    }
  }
  const double spread = n * xx - x * x;
  const double slope = spread > 0 ? (n * xy - x * y) / spread : 0;
  return {slope, (y - slope * x) / n};
}

void add_errors(const InspectSetup& p, InspectRecord& record) {
  std::vector<double> theory, same, line;  // of each text
  for (std::size_t t = 0; t < record.texts.size(); ++t) {
    const TextReading& text = record.texts[t];
    const auto [slope, intercept] = line_without(record, t);
    double e = 0, s = 0, l = 0, count = 0;
    for (std::size_t k = 0; k < text.layers.size(); ++k) {
      if (std::isnan(text.layers[k].predicted)) continue;
      const double now = text.cosine(k), next = text.cosine(k + 1);
      e += std::abs(text.layers[k].predicted - next);
      s += std::abs(now - next);
      l += std::abs(slope * now + intercept - next);
      count += 1;
    }
    record.errors.pairs += static_cast<std::size_t>(count);
    if (count == 0) continue;
    theory.push_back(e / count), same.push_back(s / count), line.push_back(l / count);
  }
  record.errors.equiangular = mean_band(theory, p.level, p.seed);
  record.errors.persistence = mean_band(same, p.level, p.seed);
  record.errors.linear = mean_band(line, p.level, p.seed);
  std::tie(record.errors.slope, record.errors.intercept) =
      line_without(record, record.texts.size());
}

// ---- Arrays of the first text.

void add_keys(const models::Matrix& met, const models::Architecture& a, std::vector<double>& all) {
  for (std::size_t h = 0; h < a.key_heads; ++h)
    for (std::size_t i = 0; i < met.rows; ++i) {
      const float* key = met.row(i) + h * a.head_dim;
      all.insert(all.end(), key, key + a.head_dim);
    }
}

void add_arrays(const InspectSetup& p, const Encoded& text, InspectRecord& record) {
  if (p.states_out.empty() && p.attention_out.empty() && p.keys_out.empty()) return;
  const models::Architecture& a = p.model.get().architecture;
  models::Pass pass(p.model.get(), text.ids, options_of(p, {}).switches);
  const std::size_t n = pass.tokens(), heads = a.heads;
  const auto add_state = [&] {
    const models::Matrix& x = pass.state();
    record.states.data.insert(record.states.data.end(), x.data.begin(), x.data.end());
  };
  record.states.shape = {pass.depth() + 1, n, pass.state().columns};
  record.attention.shape = {pass.depth(), heads, n, n};
  record.keys.shape = {pass.depth(), a.key_heads, n, a.head_dim};
  add_state();
  while (!pass.done()) {
    const models::LayerView& view = pass.step();
    add_state();
    add_keys(*view.keys, a, record.keys.data);
    for (std::size_t k = 0; k < view.logits.size(); ++k) {
      const std::size_t i = k / n % n, j = k % n;
      record.attention.data.push_back(pass.sees(i, j) ? static_cast<double>(view.logits[k])
                                                      : -kInfinity);
    }
  }
}

/// The likeliest token, again and again. The whole text is passed anew for each: n^2 layers, and no
/// second way of passing tokens.
void add_written(const InspectSetup& p, const Context& context, const Encoded& text,
                 InspectRecord& record) {
  if (p.write == 0) return;
  std::vector<std::uint32_t> ids = text.ids;
  const models::Switches switches = options_of(p, {}).switches;
  for (std::uint64_t k = 0; k < p.write && !context.stopped(); ++k) {
    models::Pass pass(p.model.get(), ids, switches);
    while (!pass.done()) pass.step();
    const std::vector<float> logits = pass.next_token();
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    ids.push_back(static_cast<std::uint32_t>(best));
  }
  std::size_t head = 0;  // what the tokenizer put before the text
  while (head < text.special.size() && text.special[head]) ++head;
  record.written = p.model.tokenizer ? p.model.tokenizer->decode(std::span(ids).subspan(head))
                                     : fmt::format("{}", fmt::join(ids, " "));
}

std::vector<std::vector<models::HeadSpectra>> spectra_of(const Model& model) {
  std::vector<std::vector<models::HeadSpectra>> all;
  for (const models::Layer& layer : model.layers) {
    std::vector<models::HeadSpectra>& heads = all.emplace_back();
    for (std::size_t h = 0; h < model.architecture.heads; ++h)
      heads.push_back(models::spectra(model.architecture, layer, h));
  }
  return all;
}

InspectRecord of_states(const InspectSetup& p, const Context& context) {
  InspectRecord record{.of_model = false, .model = p.states.what()};
  record.texts.push_back(models::read_states(
      p.states.get(), p.attention.given() ? p.attention.get() : Array{}, options_of(p, context)));
  record.lines.emplace_back(p.states.what());
  add_means(p, record);
  record.within = record.cosine;
  record.across = record.excess = Bands(record.cosine.size(), {kNan, kNan, kNan});
  add_errors(p, record);
  return record;
}

}  // namespace

models::Band mean_band(const std::vector<double>& values, double level, std::uint64_t seed) {
  constexpr std::size_t kDraws = 2000;
  std::vector<double> known;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known),
               [](double x) { return !std::isnan(x); });
  if (known.empty()) return {kNan, kNan, kNan};
  const auto count = static_cast<double>(known.size());
  const double mean = std::accumulate(known.begin(), known.end(), 0.0) / count;
  if (known.size() == 1) return {mean, kNan, kNan};
  const Stream stream(seed, "texts drawn again");
  std::vector<double> draws;
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    double sum = 0;
    for (std::size_t k = 0; k < known.size(); ++k)
      sum += known[stream.below(known.size(), draw, k)];
    draws.push_back(sum / count);
  }
  return models::band_of(mean, std::move(draws), level);
}

InspectRecord run_inspect(const InspectSetup& p, const Context& context) {
  check(p);
  if (p.states.given()) return of_states(p, context);
  const Model& model = p.model.get();
  InspectRecord record{.architecture = model.architecture, .model = model.name};
  Encoder encoder(p);
  std::vector<std::string> lines = lines_of(p.text.get());
  if (p.texts > 0 && lines.size() > p.texts) lines.resize(p.texts);
  if (lines.empty()) throw Error("text is empty; a text stands on each line");
  Pieces pieces(context, setup_words(p));
  std::vector<Encoded> texts;
  SentenceSums sums;
  const ReadingOptions options = options_of(p, context);
  for (std::size_t k = 0; k < lines.size() && !context.stopped(); ++k) {
    texts.push_back(encoder(lines[k]));
    context.tell(0.5 * static_cast<double>(k) / static_cast<double>(lines.size()),
                 fmt::format("text {}", k + 1));
    KeptText text = pieces.get(fmt::format("text {}", k), [&] {
      return kept_text(models::read_text(model, texts.back(), options), k == 0);
    });
    if (context.stopped()) break;  // it may end at any layer
    add_to(sums, text);
    record.texts.push_back(std::move(text.reading));
    record.lines.push_back(lines[k]);
  }
  record.cut = encoder.cut;
  const auto stopped = [&] {  // then what is left would be measured on half of the draws
    record.stopped = context.stopped();
    if (record.stopped) pieces.save();
    return record.stopped;
  };
  if (stopped()) return record;
  record.spectra = pieces.get("spectra", [&] { return spectra_of(model); });
  add_means(p, record);
  const SentenceSums baseline =
      p.baseline.given() ? baseline_sums(p, pieces, context, encoder) : SentenceSums{};
  if (stopped()) return record;
  add_sentences(p, sums, baseline, record);
  add_nulls(p, pieces, context, texts, record);
  if (stopped()) return record;
  add_errors(p, record);
  add_arrays(p, texts.front(), record);
  add_written(p, context, texts.front(), record);
  stopped();
  return record;
}

}  // namespace attractor::lab
