#include "attractor/lab/select/example_parameters.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "attractor/base/error.hpp"
#include "attractor/training/problem_file.hpp"

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
  const std::string size = "Size (0: the example's own)", content = "Content";
  const auto most = static_cast<double>(training::kMostExampleNumbers);
  return {
      {.name = "inputs", .group = size, .help = "n", .target = &o.inputs, .most = most},
      {.name = "tokens", .group = size, .help = "T", .target = &o.tokens, .most = most},
      {.name = "dim",
       .group = size,
       .help = "d",
       .target = &o.dim,
       .most = training::kMostExampleDim},
      {.name = "seed", .group = content, .help = "of all random numbers", .target = &o.seed},
      {.name = "noise",
       .group = content,
       .help = "multi: of each coordinate; contextual: root-mean-square length",
       .target = &o.noise,
       .least = 0,
       .most = 1e6},
      {.name = "score",
       .group = content,
       .help = "losses: score of the second token of the first input (the authors' C)",
       .target = &o.score,
       .least = -1e6,
       .most = 1e6},
      {.name = "relevant",
       .group = content,
       .help = "contextual, multi-token: fraction of relevant tokens (at least one, not all)",
       .target = &o.relevant,
       .least = 0,
       .most = 1},
      {.name = "delta",
       .group = content,
       .help = "contextual: irrelevant tokens are -delta q* + noise",
       .target = &o.delta,
       .least = -1e6,
       .most = 1e6},
      {.name = "margin",
       .group = content,
       .help = "selectable: how far best tokens stand out",
       .target = &o.margin,
       .least = 1e-6,
       .most = 1e6},
      {.name = "queries",
       .group = content,
       .help = "random: none (a prompt asks) or unit random queries",
       .target = &o.queries,
       .choices = {"none", "unit"}},
  };
}

std::vector<std::string> problem_files(const std::string& data) {
  if (data.starts_with(kPrefix)) return {};
  return {data};
}

training::Problem load_problem(const std::string& data, const std::string& directory,
                               std::uint64_t seed) {
  if (data.starts_with(kPrefix))
    return training::example(parse(std::string_view(data).substr(kPrefix.size()), seed));
  return training::read_problem(
      directory.empty() ? data : (std::filesystem::path(directory) / data).string());
}

}  // namespace attractor::lab
