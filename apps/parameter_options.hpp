// Parameters (lab/parameter.hpp) as command-line options.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/lab/parameter.hpp"

namespace attractor::apps {

// A flag followed by another flag has lost its value.
inline std::string value_of(const std::string& name, const std::string& text) {
  if (text.starts_with("--"))
    throw Error(fmt::format("--{} needs a value, but {} follows", name, text));
  return text;
}

inline void add_parameter(CLI::App& app, const lab::Parameter& parameter,
                          const std::function<void(const std::string&)>& take) {
  const std::string usual = parameter.text();
  if (parameter.is_flag()) {
    app.add_flag_function(
           "--" + parameter.name, [take](std::int64_t) { take("true"); }, parameter.help)
        ->group(parameter.group);
    return;
  }
  app.add_option_function<std::string>(
         "--" + parameter.name,
         [name = parameter.name, take](const std::string& text) { take(value_of(name, text)); },
         fmt::format("{}\n[{}]{}", parameter.help, parameter.allowed(),
                     usual.empty() ? "" : " default " + usual))
      ->type_name("")
      ->group(parameter.group);
}

// A file or directory given by a flag.
inline void add_path(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                     const std::string& kind, const std::string& help) {
  app.add_option_function<std::string>(
         "--" + name,
         [name, &target](const std::string& text) {
           target = value_of(name, text);
           if (target->empty()) throw Error(fmt::format("--{} is empty; it needs a name", name));
         },
         help)
      ->type_name(kind)
      ->group("Run");
}

// Options of every run that do not change its result.
struct RunOptions {
  std::uint64_t threads = 0;
  double checkpoint_seconds = 10;
  bool json = false, quiet = false, no_figures = false;
};

inline lab::Parameter threads_parameter(std::uint64_t& threads) {
  return {.name = "threads",
          .group = "Run",
          .help = "threads, 0: all cores; never changes a result",
          .target = &threads,
          .most = 4096};
}

inline void add_bound(CLI::App& app, const lab::Parameter& parameter) {
  add_parameter(app, parameter, [parameter](const std::string& text) { parameter.set(text); });
}

inline void add_output_flags(CLI::App& app, bool& json, bool& quiet) {
  app.add_flag("--json", json, "print one JSON value, nothing else")->group("Run");
  app.add_flag("--quiet", quiet, "no progress bar")->group("Run");
}

inline void add_run_options(CLI::App& app, RunOptions& options, bool resumes) {
  add_bound(app, threads_parameter(options.threads));
  if (resumes)
    add_bound(app, {.name = "checkpoint-seconds",
                    .group = "Run",
                    .help = "time between checkpoints",
                    .target = &options.checkpoint_seconds,
                    .least = 0,
                    .most = 1e9});
  add_output_flags(app, options.json, options.quiet);
  app.add_flag("--no-figures", options.no_figures,
               "write result.h5 and summary.json only: no page, nothing is drawn")
      ->group("Run");
}

}  // namespace attractor::apps
