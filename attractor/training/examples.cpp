#include "attractor/training/examples.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

constexpr std::size_t kBlock = 1 << 13;  // doubles a thread fills together

/// Tokens and v zero, labels 1.
Problem blank(const ExampleOptions& o) {
  Problem p{.inputs = o.inputs, .tokens = o.tokens, .dim = o.dim};
  p.x.assign(p.inputs * p.tokens * p.dim, 0.0);
  p.labels.assign(p.inputs, 1.0);
  p.head.v.assign(p.dim, 0.0);
  p.prompt.assign(p.dim, 0.0);
  return p;
}

/// The same for keys with a score as last coordinate.
Problem keyed(const ExampleOptions& o) {
  Problem p = blank(o);
  p.head.v.back() = 1;
  p.weights.assign(p.dim * p.dim, 0.0);
  for (std::size_t a = 0; a + 1 < p.dim; ++a) p.weights[a * p.dim + a] = 1;
  return p;
}

/// `make(i, t, x)` fills token t of input i; several at once.
template <class Make>
void each_token(Problem& p, const Make& make) {
  parallel_for(p.inputs * p.tokens, std::max<std::size_t>(1, kBlock / p.dim),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t row = begin; row < end; ++row)
                   make(row / p.tokens, row % p.tokens, std::span(p.x).subspan(row * p.dim, p.dim));
               });
}

/// Likewise for tokens that are a key and a score.
template <class Make>
void each_key(Problem& p, const Make& make) {
  each_token(p, [&](std::size_t i, std::size_t t, std::span<double> x) {
    x.back() = p.labels[i] * make(i, t, x.first(x.size() - 1));
  });
}

void normalise(std::span<double> x) {
  const double length = norm(x);
  for (double& c : x) c /= length;
}

void add(double factor, std::span<const double> y, std::span<double> x) {
  for (std::size_t a = 0; a < x.size(); ++a) x[a] += factor * y[a];
}

void draw_unit(const Stream& stream, std::uint64_t item, std::span<double> x) {
  stream.normals(item, x);
  normalise(x);
}

Stream token_stream(const ExampleOptions& o) { return {o.seed, "problem tokens"}; }
Stream direction_stream(const ExampleOptions& o) { return {o.seed, "problem directions"}; }

void draw_labels(const ExampleOptions& o, Problem& p) {
  const Stream stream(o.seed, "problem labels");
  for (std::size_t i = 0; i < p.inputs; ++i) p.labels[i] = stream.below(2, i, 0) == 0 ? 1 : -1;
}

/// n x T: 1 at `count` places of each input, 0 elsewhere.
std::vector<char> draw_places(const ExampleOptions& o, std::size_t count) {
  const Stream stream(o.seed, "problem places");
  std::vector<char> marked(o.inputs * o.tokens, 0);
  std::vector<std::size_t> order(o.tokens);
  for (std::size_t i = 0; i < o.inputs; ++i) {
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t k = 0; k < count; ++k) {
      std::swap(order[k], order[k + stream.below(o.tokens - k, i, k)]);
      marked[i * o.tokens + order[k]] = 1;
    }
  }
  return marked;
}

std::size_t relevant_tokens(const ExampleOptions& o) {
  const double count = std::round(o.relevant * static_cast<double>(o.tokens));
  return std::clamp<std::size_t>(static_cast<std::size_t>(count), 1, o.tokens - 1);
}

Problem single_input(const ExampleOptions& o, double last_score) {
  Problem p = keyed(o);
  p.x = {-0.1, 1, 1, 1, 0, 0.9, 0, 0, last_score};
  return p;
}

Problem single_equal(const ExampleOptions& o) { return single_input(o, 0.9); }
Problem single_local(const ExampleOptions& o) { return single_input(o, 0); }

/// Where the authors put token t of each input, and its score.
double add_centre(std::size_t t, std::span<double> key) {
  key[0] += t == 0 ? 1 : t < 4 ? -1 : -0.5;
  key[1] += t == 0 ? 0 : t < 4 ? 1 : -0.5;
  return t == 0 ? 1 : 0.5;
}

Problem multi(const ExampleOptions& o) {
  Problem p = keyed(o);
  const Stream stream = token_stream(o);
  each_key(p, [&](std::size_t i, std::size_t t, std::span<double> key) {
    stream.normals(i * o.tokens + t, key);
    for (double& c : key) c *= o.noise;
    return add_centre(t, key);
  });
  return p;
}

/// bdata of the theory reference.
double sine(std::size_t i, std::size_t t, std::size_t a, std::size_t salt) {
  return std::sin(
      static_cast<double>(1 + 2 * i + 5 * t + 3 * a + i * t + t * a + 7 * salt + i * a * a));
}

Problem authors_like(const ExampleOptions& o) {
  Problem p = keyed(o);
  each_key(p, [&](std::size_t i, std::size_t t, std::span<double> key) {
    for (std::size_t a = 0; a < key.size(); ++a) key[a] = 0.2 * sine(i, t, a, 2);
    return add_centre(t, key);
  });
  return p;
}

Problem counterexample(const ExampleOptions& o) {
  Problem p = keyed(o);
  each_key(p, [&](std::size_t i, std::size_t t, std::span<double> key) {
    for (std::size_t a = 0; a < key.size(); ++a) key[a] = sine(i, t, a, 0);
    return t == 0 ? 1 : 0.5;
  });
  return p;
}

Problem joint(const ExampleOptions& o, double height) {
  Problem p = blank(o);
  p.x = {0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, height};
  p.labels = {1, -1, 1};
  p.head.v = {-1, 0};
  p.prompt = {0, -1};
  return p;
}

Problem joint_tight(const ExampleOptions& o) { return joint(o, 1); }
Problem joint_relaxed(const ExampleOptions& o) { return joint(o, 1.5); }

Problem losses(const ExampleOptions& o) {
  Problem p = keyed(o);
  p.x = {0, 0, 0, 1, 1, o.score, 0, 0, 0, 1, -1, 1};
  return p;
}

Problem random_tokens(const ExampleOptions& o) {
  Problem p = blank(o);
  const Stream stream = token_stream(o);
  each_token(p, [&](std::size_t i, std::size_t t, std::span<double> x) {
    draw_unit(stream, i * o.tokens + t, x);
  });
  draw_labels(o, p);
  draw_unit(direction_stream(o), 0, p.head.v);
  return p;
}

Problem random_problem(const ExampleOptions& o) {
  Problem p = random_tokens(o);
  if (o.queries == "none") return p;
  const Stream stream(o.seed, "problem queries");
  p.queries.resize(p.inputs * p.dim);
  for (std::size_t i = 0; i < p.inputs; ++i)
    draw_unit(stream, i, std::span(p.queries).subspan(i * p.dim, p.dim));
  return p;
}

Problem self_attention(const ExampleOptions& o) {
  Problem p = random_tokens(o);
  for (std::size_t i = 0; i < p.inputs; ++i)
    p.queries.insert(p.queries.end(), p.token(i, 0).begin(), p.token(i, 0).end());
  return p;
}

Problem contextual(const ExampleOptions& o) {
  Problem p = blank(o);
  draw_labels(o, p);
  std::vector<double> context(p.dim);  // q*; v is w*
  draw_unit(direction_stream(o), 0, context);
  draw_unit(direction_stream(o), 1, p.head.v);
  add(-dot(context, p.head.v), context, p.head.v);
  normalise(p.head.v);
  const std::vector<char> relevant = draw_places(o, relevant_tokens(o));
  const Stream stream = token_stream(o);
  const double spread = o.noise / std::sqrt(static_cast<double>(p.dim));
  each_token(p, [&](std::size_t i, std::size_t t, std::span<double> x) {
    const std::size_t row = i * o.tokens + t;
    stream.normals(row, x);
    for (double& c : x) c *= spread;
    add(relevant[row] ? 1 : -o.delta, context, x);
    if (relevant[row]) add(p.labels[i], p.head.v, x);
  });
  return p;
}

Problem multi_token(const ExampleOptions& o) {
  Problem p = keyed(o);
  draw_labels(o, p);
  const std::vector<char> relevant = draw_places(o, relevant_tokens(o));
  const Stream stream = token_stream(o);
  each_key(p, [&](std::size_t i, std::size_t t, std::span<double> key) {
    const std::size_t row = i * o.tokens + t;
    draw_unit(stream, row, key);
    return relevant[row] ? 1.0 : 0.0;
  });
  return p;
}

Problem selectable(const ExampleOptions& o) {
  Problem p = keyed(o);
  draw_labels(o, p);
  std::vector<double> planted(p.dim - 1);
  draw_unit(direction_stream(o), 0, planted);
  const std::vector<char> best = draw_places(o, 1);
  const Stream stream = token_stream(o), scores(o.seed, "problem scores");
  each_key(p, [&](std::size_t i, std::size_t t, std::span<double> key) {
    const std::size_t row = i * o.tokens + t;
    draw_unit(stream, row, key);
    add(-dot(planted, key), planted, key);
    normalise(key);
    if (best[row]) add(o.margin, planted, key);
    return best[row] ? 1.0 : 0.9 * scores.uniform(row, 0);
  });
  return p;
}

struct Entry {
  ExampleInfo info;
  Problem (*make)(const ExampleOptions& options);  // sizes are set
};

const std::vector<Entry>& catalogue() {
  static const std::vector<Entry> all{
      {{"single-equal", "one input, equal scores of the other tokens", 1, 3, 3}, single_equal},
      {{"single-local", "one input with a second, local limit", 1, 3, 3}, single_local},
      {{"multi", "three inputs around common centres, random", 3, 7, 3, true}, multi},
      {{"authors-like", "the same without chance, |p^mm| known", 3, 7, 3}, authors_like},
      {{"counterexample", "descent from 0 misses the best tokens", 3, 4, 7}, counterexample},
      {{"joint-tight", "v and p together, all support vectors", 3, 2, 2}, joint_tight},
      {{"joint-relaxed", "v and p together, the relaxed limit", 3, 2, 2}, joint_relaxed},
      {{"losses", "where losses differ on the way", 2, 2, 3}, losses},
      {{"random", "unit tokens, v and queries at random", 6, 8, 10, true, true}, random_problem},
      {{"self-attention", "random, the first token asks", 6, 8, 10, true, true}, self_attention},
      {{"contextual", "relevant tokens among irrelevant ones", 20, 10, 20, true, true}, contextual},
      {{"multi-token", "several best tokens in each input", 6, 8, 10, true, true}, multi_token},
      {{"selectable", "best tokens with a planted margin", 20, 10, 20, true, true}, selectable},
  };
  return all;
}

const Entry& find(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Entry& entry : catalogue()) {
    if (entry.info.name == name) return entry;
    names.push_back(entry.info.name);
  }
  throw Error(fmt::format("'{}' is no example; allowed: {}", name, fmt::join(names, ", ")));
}

void set_size(std::uint64_t& size, std::size_t own, bool is_free, std::uint64_t least,
              const char* what, const std::string& name) {
  if (size == 0) size = own;
  if (!is_free && size != own)
    throw Error(fmt::format("{}: {} = {} is not allowed; {} has {}", name, what, size, name, own));
  if (is_free && size < least)
    throw Error(
        fmt::format("{}: {} = {} is not allowed; at least {} are needed", name, what, size, least));
}

void set_sizes(const ExampleInfo& info, ExampleOptions& o) {
  set_size(o.inputs, info.inputs, info.free_inputs, 1, "inputs", o.name);
  set_size(o.tokens, info.tokens, info.free_shape, 2, "tokens", o.name);
  set_size(o.dim, info.dim, info.free_shape, 3, "dim", o.name);
  const double numbers =
      static_cast<double>(o.inputs) * static_cast<double>(o.tokens) * static_cast<double>(o.dim);
  if (o.dim > kMostExampleDim || numbers > static_cast<double>(kMostExampleNumbers))
    throw Error(fmt::format(
        "{} inputs of {} tokens in dimension {}: at most {} numbers and dimension {} are allowed",
        o.inputs, o.tokens, o.dim, kMostExampleNumbers, kMostExampleDim));
}

void require_in(double value, double least, double most, const char* what) {
  if (!(value >= least && value <= most))
    throw Error(fmt::format("{} = {} is not allowed; allowed: {} to {}", what, value, least, most));
}

void check_options(const ExampleOptions& o) {
  require_in(o.noise, 0, 1e6, "noise");
  require_in(o.score, -1e6, 1e6, "score");
  require_in(o.relevant, 0, 1, "relevant");
  require_in(o.delta, -1e6, 1e6, "delta");
  require_in(o.margin, 1e-6, 1e6, "margin");
  if (o.queries != "none" && o.queries != "unit")
    throw Error(fmt::format("queries = '{}' is not allowed; allowed: none, unit", o.queries));
}

}  // namespace

std::vector<ExampleInfo> examples() {
  std::vector<ExampleInfo> all;
  for (const Entry& entry : catalogue()) all.push_back(entry.info);
  return all;
}

Problem example(const ExampleOptions& options) {
  ExampleOptions o = options;
  const Entry& entry = find(o.name);
  set_sizes(entry.info, o);
  check_options(o);
  return entry.make(o);
}

}  // namespace attractor::training
