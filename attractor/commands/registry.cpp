#include "attractor/commands/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attractor/base/error.hpp"
#include "attractor/lab/parameter_facts.hpp"

namespace attractor::lab {

// Each is defined beside its parameters.
Command flow_command();
Command select_command();
Command bridge_command();
Command equiangular_command();
Command pair_command();
Command regular_command();
Command stability_command();
Command context_command();
Command forecast_command();
Command meanfield_command();
Command stationary_command();
Command phase_command();
Command cluster_command();
Command compare_command();
Command measure_command();
Command inspect_command();
Command architect_command();

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      flow_command(),      select_command(),    bridge_command(),     equiangular_command(),
      pair_command(),      regular_command(),   stability_command(),  context_command(),
      forecast_command(),  meanfield_command(), stationary_command(), phase_command(),
      cluster_command(),   compare_command(),   measure_command(),    inspect_command(),
      architect_command(),
  };
  return all;
}

const Command& command_named(const std::string& name) {
  const std::vector<Command>& all = commands();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Command& c) { return c.name == name; });
  if (at != all.end()) return *at;
  std::vector<std::string> names;
  for (const Command& c : all) names.push_back(c.name);
  throw Error(
      fmt::format("command '{}' cannot be swept; allowed: {}", name, fmt::join(names, ", ")));
}

Json described_commands() {
  Json all = Json::array();
  for (const Command& c : commands())
    all.push_back({{"name", c.name},
                   {"about", c.about},
                   {"examples", c.examples},
                   {"parameters", described(c.make()->parameters())}});
  return all;
}

}  // namespace attractor::lab
