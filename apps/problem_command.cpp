#include "apps/problem_command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "apps/exit_status.hpp"
#include "apps/parameter_options.hpp"
#include "attractor/lab/select/example_parameters.hpp"
#include "attractor/files/problem_file.hpp"

namespace attractor::apps {
namespace {

using training::ExampleOptions;

struct Options {
  ExampleOptions example{.name = ""};
  std::optional<std::string> out{};
  bool list = false;
};

void print_list() {
  for (const training::ExampleInfo& info : training::examples())
    fmt::print("  {:<16} {:<44} {} x {} x {}\n", info.name, info.help, info.inputs, info.tokens,
               info.dim);
}

// What does not arrive on standard output is noticed once, at the end of the program.
void print_json(const training::Problem& problem) {
  const std::string text = training::to_json(problem);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int run(const Options& options) {
  if (options.list) {
    print_list();
    return kOk;
  }
  if (options.example.name.empty())
    throw Error("the name of an example is missing; see attractor problem --list");
  const training::Problem problem = training::example(options.example);
  if (options.out)
    training::write_problem(problem, *options.out);
  else
    print_json(problem);
  return kOk;
}

}  // namespace

std::function<int()> add_problem_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* problem = app.add_subcommand(
      "problem", "Write a training problem of the papers, for attractor select or your own tools");
  problem->add_option("name", options->example.name, "which one; --list shows them")
      ->type_name("NAME");
  for (const lab::Parameter& parameter : lab::list(options->example))
    add_parameter(*problem, parameter,
                  [parameter](const std::string& text) { parameter.set(text); });
  problem->add_flag("--list", options->list, "names, what they are, and inputs x tokens x dim")
      ->group("Run");
  problem
      ->add_option_function<std::string>(
          "--out", [options](const std::string& text) { options->out = value_of("out", text); },
          "write this file instead of JSON to standard output:\n"
          ".json, .h5, .hdf5, or a directory of .npy files if the name ends in /")
      ->type_name("FILE")
      ->group("Run");
  problem->footer(
      "Examples:\n"
      "  attractor problem --list\n"
      "  attractor problem multi --seed 3 --out multi.json && attractor select multi.json\n"
      "  attractor problem selectable --inputs 512 --tokens 128 --dim 128 --out large.h5\n"
      "Theory: docs/theory/selection.md.");
  return [options] { return run(*options); };
}

}  // namespace attractor::apps
