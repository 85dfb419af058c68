#include "attractor/lab/select/example_parameters.hpp"

#include <fmt/format.h>

#include <string_view>

#include "attractor/base/error.hpp"

namespace attractor::lab {
namespace {

constexpr std::string_view kPrefix = "example:";

training::ExampleOptions parse(std::string_view text, std::uint64_t seed) {
  training::ExampleOptions options{.seed = seed};
  const ParameterList parameters = list(options);
  const std::string whole(text);
  std::size_t comma = text.find(',');
  options.name = text.substr(0, comma);
  while (comma != text.npos) {
    text.remove_prefix(comma + 1);
    comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == item.npos)
      throw Error(fmt::format("example '{}': '{}' is no name=value", whole, item));
    find(parameters, item.substr(0, equals)).set(item.substr(equals + 1));
  }
  return options;
}

}  // namespace

// 0: the example's own. What all three sizes are together is limited where the problem is made.
ParameterList list(training::ExampleOptions& o) {
  const auto most = static_cast<double>(training::kMostExampleNumbers);
  ParameterList l;
  l.group("Size (0: the example's own)");
  l.add("inputs", o.inputs, "n").within(0, most);
  l.add("tokens", o.tokens, "T").within(0, most);
  l.add("dim", o.dim, "d").within(0, training::kMostExampleDim);
  l.group("Content");
  l.add("seed", o.seed, "of all random numbers");
  l.add("noise", o.noise, "multi: of each coordinate; contextual: root-mean-square length")
      .within(0, 1e6);
  l.add("score", o.score, "losses: score of the second token of the first input (the authors' C)")
      .within(-1e6, 1e6);
  l.add("relevant", o.relevant,
        "contextual, multi-token: fraction of relevant tokens (at least one, not all)")
      .within(0, 1);
  l.add("delta", o.delta, "contextual: irrelevant tokens are -delta q* + noise").within(-1e6, 1e6);
  l.add("margin", o.margin, "selectable: how far best tokens stand out").within(1e-6, 1e6);
  l.add("queries", o.queries, "random: none (a prompt asks) or unit random queries")
      .among({"none", "unit"});
  return l;
}

Json described_examples() {
  Json all = Json::array();
  for (const training::ExampleInfo& e : training::examples())
    all.push_back({{"name", e.name},
                   {"about", e.help},
                   {"inputs", e.inputs},
                   {"tokens", e.tokens},
                   {"dim", e.dim}});
  return all;
}

bool is_example(const std::string& name) { return name.starts_with(kPrefix); }

training::Problem problem_of(const ProblemInput& data, std::uint64_t seed) {
  if (data.problem || !is_example(data.name)) return data.get();
  return training::example(parse(std::string_view(data.name).substr(kPrefix.size()), seed));
}

}  // namespace attractor::lab
