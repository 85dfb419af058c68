#include "attractor/training/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

using Json = nlohmann::json;

// Appends the numbers of nested lists; every list of one depth must have the length in `shape` (0:
// not known yet).
void flatten(const Json& node, std::vector<std::size_t>& shape, std::size_t depth,
             const std::string& name, std::vector<double>& out) {
  if (depth == shape.size()) {
    if (!node.is_number())
      throw Error(
          fmt::format("{}: expected a number where {} is", name, node.dump().substr(0, 40)));
    out.push_back(node.get<double>());
    return;
  }
  if (!node.is_array() || node.empty())
    throw Error(
        fmt::format("{} must be a list of {} levels, none of them empty", name, shape.size()));
  if (shape[depth] == 0) shape[depth] = node.size();
  if (node.size() != shape[depth])
    throw Error(fmt::format("{}: a list has {} entries where others have {}", name, node.size(),
                            shape[depth]));
  for (const Json& child : node) flatten(child, shape, depth + 1, name, out);
}

std::vector<double> numbers(const Json& json, const std::string& file, const char* key,
                            std::vector<std::size_t>& shape) {
  std::vector<double> out;
  flatten(json.at(key), shape, 0, fmt::format("{}: {}", file, key), out);
  return out;
}

void require_length(const std::vector<double>& values, std::size_t expected, const char* what) {
  if (values.size() != expected)
    throw Error(fmt::format("{} has {} numbers; {} are needed", what, values.size(), expected));
}

void require_finite(const std::vector<double>& values, const char* what) {
  for (std::size_t k = 0; k < values.size(); ++k)
    if (!std::isfinite(values[k]))
      throw Error(
          fmt::format("{}: number {} (from 0) is {}; all must be finite", what, k, values[k]));
}

}  // namespace

void check(const Problem& p) {
  if (p.inputs < 1) throw Error("a problem needs at least one input");
  if (p.tokens < 2)
    throw Error(fmt::format("inputs have {} token; at least 2 are needed to select one", p.tokens));
  if (p.dim < 1) throw Error("tokens need at least one dimension");
  require_length(p.x, p.inputs * p.tokens * p.dim, "X");
  require_length(p.labels, p.inputs, "Y");
  require_length(p.head, p.dim, "v");
  require_length(p.start, p.dim, "p0");
  if (!p.weights.empty()) require_length(p.weights, p.dim * p.dim, "W");
  require_finite(p.x, "X");
  require_finite(p.labels, "Y");
  require_finite(p.head, "v");
  require_finite(p.start, "p0");
  require_finite(p.weights, "W");
  for (std::size_t i = 0; i < p.inputs; ++i)
    if (p.labels[i] == 0) throw Error(fmt::format("Y: the label of input {} is 0", i));
  const auto in_range = [](const std::vector<double>& derived) {
    return std::all_of(derived.begin(), derived.end(),
                       [](double x) { return std::abs(x) < 1e150; });
  };
  if (!in_range(keys(p)) || !in_range(scores(p)))
    throw Error("a key W^T x or a score Y <x, v> exceeds 1e150; scale X, W or v down");
}

Problem parse_problem(const std::string& text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    throw Error(fmt::format("{} is not a JSON object", name));
  for (const char* key : {"X", "Y", "v"})
    if (!json.contains(key)) throw Error(fmt::format("{} has no \"{}\"", name, key));
  Problem p;
  std::vector<std::size_t> shape(3, 0);
  p.x = numbers(json, name, "X", shape);
  p.inputs = shape[0], p.tokens = shape[1], p.dim = shape[2];
  std::vector<std::size_t> per_input{p.inputs}, vector{p.dim}, matrix{p.dim, p.dim};
  p.labels = numbers(json, name, "Y", per_input);
  p.head = numbers(json, name, "v", vector);
  p.start.assign(p.dim, 0.0);
  if (json.contains("W")) p.weights = numbers(json, name, "W", matrix);
  if (json.contains("p0")) p.start = numbers(json, name, "p0", vector);
  check(p);
  return p;
}

Problem read_problem(const std::string& file) {
  return parse_problem(read_file(file, std::size_t{1} << 32), file);
}

std::vector<double> keys(const Problem& p) {
  if (p.weights.empty()) return p.x;
  std::vector<double> k(p.x.size(), 0.0);
  for (std::size_t row = 0; row < p.inputs * p.tokens; ++row)
    for (std::size_t a = 0; a < p.dim; ++a)
      for (std::size_t b = 0; b < p.dim; ++b)
        k[row * p.dim + b] += p.x[row * p.dim + a] * p.weights[a * p.dim + b];
  return k;
}

std::vector<double> scores(const Problem& p) {
  std::vector<double> gamma(p.inputs * p.tokens);
  for (std::size_t row = 0; row < gamma.size(); ++row)
    gamma[row] = p.labels[row / p.tokens] * dot(std::span(p.x).subspan(row * p.dim, p.dim), p.head);
  return gamma;
}

void require_distinct_keys(const Problem& p, std::span<const double> keys) {
  // Equal keys are neighbours when the tokens of an input are sorted.
  for (std::size_t i = 0; i < p.inputs; ++i) {
    std::vector<std::size_t> order(p.tokens);
    for (std::size_t t = 0; t < p.tokens; ++t) order[t] = t;
    const auto key = [&](std::size_t t) { return keys.subspan((i * p.tokens + t) * p.dim, p.dim); };
    std::sort(order.begin(), order.end(), [&](std::size_t s, std::size_t t) {
      return std::lexicographical_compare(key(s).begin(), key(s).end(), key(t).begin(),
                                          key(t).end());
    });
    for (std::size_t r = 1; r < p.tokens; ++r)
      if (std::equal(key(order[r]).begin(), key(order[r]).end(), key(order[r - 1]).begin()))
        throw Error(fmt::format(
            "input {}: tokens {} and {} have the same key W^T x, so no p separates them", i,
            std::min(order[r], order[r - 1]), std::max(order[r], order[r - 1])));
  }
}

}  // namespace attractor::training
