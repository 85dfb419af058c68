#include "attractor/models/readings/text_reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/models/readings/depth_growth.hpp"
#include "attractor/models/readings/layer_map.hpp"
#include "attractor/observe/energy.hpp"
#include "attractor/observe/observables.hpp"
#include "attractor/tokens/components.hpp"

namespace attractor::models {
namespace {

using Sees = std::function<bool(std::size_t, std::size_t)>;

double mean_of(const std::vector<double>& values) {
  double sum = 0, count = 0;
  for (const double x : values)
    if (!std::isnan(x)) sum += x, count += 1;
  return count > 0 ? sum / count : kNan;
}

/// Some rows of a stream in double precision, and their directions.
struct Points {
  std::size_t n = 0, dim = 0;
  std::vector<double> at{}, direction{}, length{};
};

Points points_of(std::vector<double> rows, std::size_t dim) {
  Points p{
      .n = rows.size() / dim, .dim = dim, .at = std::move(rows), .direction = {}, .length = {}};
  p.direction = p.at;
  for (std::size_t i = 0; i < p.n; ++i) {
    double squares = 0;
    for (std::size_t a = 0; a < dim; ++a) squares += p.at[i * dim + a] * p.at[i * dim + a];
    p.length.push_back(std::sqrt(squares));
    for (std::size_t a = 0; a < dim && squares > 0; ++a) p.direction[i * dim + a] /= p.length[i];
  }
  return p;
}

Points points_of(const Matrix& x, std::span<const std::size_t> rows) {
  std::vector<double> all;
  for (const std::size_t r : rows) all.insert(all.end(), x.row(r), x.row(r) + x.columns);
  return points_of(std::move(all), x.columns);
}

std::vector<double> cosines_of(const Points& p) {
  std::vector<double> all(p.n * p.n);
  parallel_for(p.n, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::size_t a = 0; a < p.dim; ++a)
          sum += p.direction[i * p.dim + a] * p.direction[j * p.dim + a];
        all[i * p.n + j] = sum;
      }
  });
  return all;
}

double angle_between(std::span<const double> x, std::span<const double> y) {
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t a = 0; a < x.size(); ++a) {
    xy += x[a] * y[a];
    xx += x[a] * x[a];
    yy += y[a] * y[a];
  }
  return xx > 0 && yy > 0 ? std::acos(std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0)) : 0;
}

/// Gathers what is measured, state by state and layer by layer.
class Reader {
 public:
  explicit Reader(const ReadingOptions& options) : options_(options) {}

  void state(const Points& p) {
    const std::vector<double> masses(p.n, 1.0);
    StateReading s;
    s.length = mean_of(p.length);
    double spread = 0;
    for (const double l : p.length) spread += (l - s.length) * (l - s.length);
    s.length_spread = std::sqrt(spread / static_cast<double>(p.n));
    if (options_.directions) result.directions.push_back(p.direction);
    if (options_.brief) {
      const observe::MeanCosine mean = observe::mean_cosine(p.direction, p.dim, masses);
      s.seen.mean_cosine = mean.mean_cosine;
      s.seen.one_minus_mean_cosine = mean.one_minus_mean_cosine;
      result.states.push_back(s);
      return;
    }
    const double radius = std::sqrt(2 * (1 - options_.cluster_cosine));
    const Attention plain{.beta = 1, .dim = p.dim, .query = {}, .key = {}, .value = {}};
    s.seen = observe::observe(plain, 1, p.direction, masses,
                              flow::Time(static_cast<double>(result.states.size())),
                              {.pair_threshold = options_.pair_threshold, .cluster_radius = radius},
                              /*thorough=*/true);
    for (const observe::Observable& o : observe::observables())
      if (o.name == "participation_ratio")
        s.participation_ratio = o.value({p.direction, p.dim, masses});
    s.histogram =
        observe::pair_statistics(p.direction, p.dim, masses, options_.pair_threshold, 0).histogram;
    for (std::size_t k = 0; k < kEnergyBetas.size(); ++k)
      s.energy_ratio[k] = energy_ratio(p, masses, kEnergyBetas[k]);
    result.states.push_back(s);
    result.tree.add(components(p.direction, p.dim, radius).label);
  }

  /// Heads of a layer: logits and (or empty) chances, heads x n x n of the tokens that count.
  void heads(LayerReading& layer, std::size_t count, std::size_t n,
             const std::vector<double>& logits, const std::vector<double>& chances,
             const std::vector<double>& cosines, const Sees& sees) const {
    layer.heads.resize(count);
    layer.uses.resize(count);
    parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t h = begin; h < end; ++h) {
        const auto part = [&](const std::vector<double>& all) {
          return std::span(all).subspan(h * n * n, n * n);
        };
        layer.heads[h] = fit_head(part(logits), cosines, n, sees);
        layer.uses[h] = use_of_head(part(chances), n, sees);
      }
    });
    const auto over = [&](const auto& list, auto field) {
      std::vector<double> values;
      for (const auto& item : list) values.push_back(item.*field);
      return mean_of(values);
    };
    layer.beta = over(layer.heads, &HeadFit::beta);
    layer.r2 = over(layer.heads, &HeadFit::r2);
    layer.entropy = over(layer.uses, &HeadUse::entropy);
    layer.entropy_ratio = over(layer.uses, &HeadUse::entropy_ratio);
    layer.sink = over(layer.uses, &HeadUse::sink);
    double squares = 0;
    for (const HeadFit& fit : layer.heads)
      if (!std::isnan(fit.beta)) squares += (fit.beta - layer.beta) * (fit.beta - layer.beta);
    const auto heads = static_cast<double>(count);
    layer.beta_error = count > 1 ? std::sqrt(squares / (heads - 1) / heads) : layer.heads[0].error;
  }

  /// The theory's place of a layer, once the state after it is known.
  void compare(std::size_t n, double length, LayerReading& layer) const {
    const std::size_t after = result.states.size() - 1;
    LayerPlace place{
        .tokens = static_cast<double>(n), .cosine = result.cosine(after - 1), .beta = kNan};
    std::vector<double> betas;
    for (const HeadFit& head : layer.heads) betas.push_back(head.beta);
    layer.joint_beta = place.beta = joint_beta(betas, place.tokens, place.cosine);
    const double unit = written_length(place);
    layer.step = layer.written / (length * unit);
    place.step = layer.step;
    layer.predicted =
        std::isnan(layer.step) || std::isnan(place.beta) ? kNan : predicted_cosine(place);
    layer.time = std::isnan(place.beta) ? kNan : effective_time(place, result.cosine(after));
  }

  /// Energies at the temperature that each layer has.
  void close() {
    if (options_.brief) return;
    for (std::size_t k = 0; k + 1 < result.states.size(); ++k)
      measured(k, result.layers[k].joint_beta);
    if (!result.layers.empty()) measured(result.states.size() - 1, result.layers.back().joint_beta);
  }

  void keep(const Points& p) { kept_.push_back(p.direction); }

  TextReading result{};

 private:
  double energy_ratio(const Points& p, const std::vector<double>& masses, double beta) const {
    const Attention attention{.beta = beta, .dim = p.dim, .query = {}, .key = {}, .value = {}};
    const observe::Energy e = observe::energy(attention, p.direction, masses, 0);
    return std::exp(e.log_energy - beta + std::log(2 * beta));
  }
  void measured(std::size_t state, double beta) {
    if (!(beta > 0) || state >= kept_.size()) {
      result.states[state].measured_energy_ratio = kNan;
      return;
    }
    const Points p{.n = kept_[state].size() / result.dim,
                   .dim = result.dim,
                   .at = {},
                   .direction = kept_[state],
                   .length = {}};
    result.states[state].measured_energy_ratio =
        energy_ratio(p, std::vector<double>(p.n, 1.0), beta);
  }

  const ReadingOptions& options_;
  std::vector<std::vector<double>> kept_{};
};

/// heads x n x n of the tokens that count.
std::vector<double> of_rows(std::span<const float> all, std::size_t heads, std::size_t tokens,
                            std::span<const std::size_t> rows) {
  std::vector<double> part;
  part.reserve(heads * rows.size() * rows.size());
  for (std::size_t h = 0; h < heads; ++h)
    for (const std::size_t i : rows)
      for (const std::size_t j : rows)
        part.push_back(static_cast<double>(all[(h * tokens + i) * tokens + j]));
  return part;
}

/// What a block wrote: how long, and by how much it turned its token.
void writes(const Points& stream, const Matrix& written, std::span<const std::size_t> rows,
            double& length, double& turn, std::vector<double>* regulation) {
  std::vector<double> lengths, turns;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto x = std::span(stream.at).subspan(k * stream.dim, stream.dim);
    std::vector<double> moved(x.begin(), x.end());
    double squares = 0;
    for (std::size_t a = 0; a < stream.dim; ++a) {
      const double w = static_cast<double>(written.row(rows[k])[a]);
      squares += w * w;
      moved[a] += w;
    }
    lengths.push_back(std::sqrt(squares));
    turns.push_back(angle_between(x, moved));
    if (regulation != nullptr) regulation->push_back(stream.length[k] / std::sqrt(squares));
  }
  length = mean_of(lengths);
  turn = mean_of(turns);
}

std::vector<std::size_t> measured_rows(const Encoded& text, const ReadingOptions& options) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < text.ids.size(); ++i)
    if (options.keep_special || !text.special[i]) rows.push_back(i);
  if (rows.size() < 2)
    throw Error(fmt::format("a text has {} token{} to measure; at least 2 are needed", rows.size(),
                            rows.size() == 1 ? "" : "s"));
  return rows;
}

LayerReading read_layer(const LayerView& view, const Pass& pass, std::span<const std::size_t> rows,
                        const Reader& reader) {
  LayerReading layer;
  layer.own = static_cast<std::size_t>(view.weights - pass.model().layers.data());
  const std::size_t n = rows.size(), heads = pass.model().architecture.heads;
  const Points stream = points_of(*view.before, rows);
  writes(stream, *view.attention, rows, layer.written, layer.turn, &layer.regulation);
  Matrix middle = *view.before;
  for (std::size_t k = 0; k < middle.data.size(); ++k) middle.data[k] += view.attention->data[k];
  writes(points_of(middle, rows), *view.hidden, rows, layer.hidden_written, layer.hidden_turn,
         nullptr);
  const Points seen = points_of(*view.seen, rows);
  reader.heads(layer, heads, n, of_rows(view.logits, heads, pass.tokens(), rows),
               of_rows(view.chances, heads, pass.tokens(), rows), cosines_of(seen),
               [&](std::size_t i, std::size_t j) { return pass.sees(rows[i], rows[j]); });
  return layer;
}

}  // namespace

TextReading read_text(const Model& model, const Encoded& text, const ReadingOptions& options) {
  const std::vector<std::size_t> rows = measured_rows(text, options);
  Pass pass(model, text.ids, options.switches);
  Reader reader(options);
  TextReading& result = reader.result;
  for (const std::size_t r : rows) result.pieces.push_back(text.pieces[r]);
  result.tokens = text.ids.size();
  result.dim = pass.state().columns;
  std::optional<DepthGrowth> growth;
  if (options.exponents > 0) growth.emplace(pass, options.exponents, options.seed);
  Points now = points_of(pass.state(), rows);
  reader.state(now);
  reader.keep(now);
  while (!pass.done() && !(options.stop && options.stop())) {
    const double length = mean_of(now.length);
    const LayerView& view = pass.step();
    LayerReading layer = read_layer(view, pass, rows, reader);
    now = points_of(pass.state(), rows);
    reader.state(now);
    reader.keep(now);
    reader.compare(rows.size(), length, layer);
    if (growth) {
      growth->measure();
      layer.growth = growth->growth().back();
    }
    result.layers.push_back(std::move(layer));
  }
  if (growth) result.exponents = growth->exponents();
  reader.close();
  return std::move(reader.result);
}

namespace {

void require_states(const Array& states, const Array& logits) {
  const auto shape = [](const Array& a) { return fmt::format("({})", fmt::join(a.shape, ", ")); };
  if (states.shape.size() != 3 || states.shape[0] < 1 || states.shape[1] < 2 || states.shape[2] < 1)
    throw Error(fmt::format(
        "states has the shape {}; allowed: layers x tokens x dimension, at least 2 tokens",
        shape(states)));
  const std::size_t n = states.shape[1];
  const bool fits = logits.shape.empty() ||
                    (logits.shape.size() == 4 && logits.shape[1] >= 1 && logits.shape[2] == n &&
                     logits.shape[3] == n && logits.shape[0] + 1 == states.shape[0]);
  if (!fits)
    throw Error(
        fmt::format("attention has the shape {}; states of shape {} need layers x heads x {} x {}, "
                    "one layer fewer than states",
                    shape(logits), shape(states), n, n));
  const std::size_t dim = states.shape[2];
  for (std::size_t row = 0; row < states.shape[0] * n; ++row) {
    bool zero = true;
    for (const double x : std::span(states.data).subspan(row * dim, dim)) {
      zero = zero && x == 0;
      if (!std::isfinite(x))
        throw Error(fmt::format(
            "states holds a number that is not finite: {}, state {}, token {} (counted from 0)", x,
            row / n, row % n));
    }
    if (zero)
      throw Error(fmt::format(
          "states: token {} of state {} (counted from 0) is zero in all coordinates and has no "
          "direction; leave out tokens that only fill up",
          row % n, row / n));
  }
  for (const double x : logits.data)
    if (std::isnan(x) || x == kInfinity)
      throw Error("attention holds a number that is neither finite nor -infinity");
}

/// Logits of one layer as somebody saved them: which pairs are seen, and the softmax of those.
struct SavedLogits {
  std::vector<double> logits, chances;  // heads x n x n; logits 0 where nothing is seen
  std::vector<bool> masked;             // n x n

  SavedLogits(std::span<const double> given, std::size_t heads, std::size_t n)
      : logits(given.begin(), given.end()), chances(given.size(), 0.0), masked(n * n) {
    for (std::size_t p = 0; p < n * n; ++p) masked[p] = logits[p] <= -1e4;
    for (std::size_t row = 0; row < heads * n; ++row) {
      const auto hidden = [&](std::size_t j) { return masked[row % n * n + j]; };
      double peak = -kInfinity, sum = 0;
      for (std::size_t j = 0; j < n; ++j)
        if (!hidden(j)) peak = std::max(peak, logits[row * n + j]);
      for (std::size_t j = 0; j < n; ++j)
        if (!hidden(j)) sum += chances[row * n + j] = std::exp(logits[row * n + j] - peak);
      for (std::size_t j = 0; j < n; ++j) {
        if (sum > 0) chances[row * n + j] /= sum;
        if (hidden(j)) logits[row * n + j] = 0;
      }
    }
  }
};

}  // namespace

TextReading read_states(const Array& states, const Array& logits, const ReadingOptions& options) {
  require_states(states, logits);
  const std::size_t count = states.shape[0], n = states.shape[1], dim = states.shape[2];
  Reader reader(options);
  TextReading& result = reader.result;
  result.tokens = n;
  result.dim = dim;
  for (std::size_t i = 0; i < n; ++i) result.pieces.push_back(fmt::format("{}", i));
  Points now;
  for (std::size_t layer = 0; layer < count; ++layer) {
    const auto rows = std::span(states.data).subspan(layer * n * dim, n * dim);
    const Points next = points_of(std::vector<double>(rows.begin(), rows.end()), dim);
    reader.state(next);
    reader.keep(next);
    if (layer > 0) {
      LayerReading reading;
      reading.own = layer - 1;
      reading.beta = reading.beta_error = reading.r2 = reading.entropy = kNan;
      reading.entropy_ratio = reading.sink = reading.written = reading.hidden_written = kNan;
      reading.turn = reading.hidden_turn = kNan;
      if (!logits.shape.empty()) {
        const std::size_t heads = logits.shape[1], size = heads * n * n;
        const SavedLogits saved(std::span(logits.data).subspan((layer - 1) * size, size), heads, n);
        reader.heads(reading, heads, n, saved.logits, saved.chances, cosines_of(now),
                     [&](std::size_t i, std::size_t j) { return !saved.masked[i * n + j]; });
      }
      reader.compare(n, mean_of(now.length), reading);
      result.layers.push_back(std::move(reading));
    }
    now = next;
  }
  reader.close();
  return std::move(reader.result);
}

}  // namespace attractor::models
