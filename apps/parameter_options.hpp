// Parameters (experiment/parameter.hpp) as command-line options.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/experiment/parameter.hpp"

namespace attractor::apps {

// A flag followed by another flag has lost its value.
inline std::string value_of(const std::string& name, const std::string& text) {
  if (text.starts_with("--"))
    throw Error(fmt::format("--{} needs a value, but {} follows", name, text));
  return text;
}

inline void add_parameter(CLI::App& app, const experiment::Parameter& parameter,
                          const std::function<void(const std::string&)>& take) {
  const std::string usual = parameter.text();
  app.add_option_function<std::string>(
         "--" + parameter.name,
         [name = parameter.name, take](const std::string& text) { take(value_of(name, text)); },
         fmt::format("{}\n[{}]{}", parameter.help, parameter.allowed(),
                     usual.empty() ? "" : " default " + usual))
      ->type_name("")
      ->group(parameter.group);
}

}  // namespace attractor::apps
