// `problem`: training problems of the papers, to look at and to train on.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "apps/exit_status.hpp"
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"
#include "attractor/files/problem_file.hpp"
#include "attractor/lab/select/example_parameters.hpp"

namespace attractor::apps {
namespace {

using training::ExampleOptions;

struct ProblemOptions {
  ExampleOptions example{.name = ""};
  std::string out{};
  bool list = false;
};

void add(ProblemOptions& o, lab::ParameterList& l) {
  std::vector<std::string> all;
  for (const training::ExampleInfo& info : training::examples()) all.emplace_back(info.name);
  l.add("name", o.example.name, "which one; --list shows them")
      .allow("a name")
      .suggest(all)
      .first();
  l.append(lab::list(o.example));
  l.group("Run");
  l.add("list", o.list, "names, what they are, and inputs x tokens x dim");
  l.add("out", o.out,
        "write this file instead of JSON to standard output: .json, .h5, .hdf5, or a directory of "
        ".npy files if the name ends in /")
      .allow("a file")
      .not_empty();
}

void print_list() {
  for (const training::ExampleInfo& info : training::examples())
    fmt::print("  {:<16} {:<44} {} x {} x {}\n", info.name, info.help, info.inputs, info.tokens,
               info.dim);
}

int run(const ProblemOptions& options) {
  if (options.list) {
    print_list();
    return kOk;
  }
  if (options.example.name.empty())
    throw Error("the name of an example is missing; see attractor problem --list");
  const training::Problem problem = training::example(options.example);
  if (!options.out.empty())
    training::write_problem(problem, options.out);
  else
    fmt::print("{}", training::to_json(problem));
  return kOk;
}

}  // namespace

Tool problem_tool() {
  return {.name = "problem",
          .about = "Write a training problem of the papers, for attractor select or your own tools",
          .examples =
              "  attractor problem --list\n"
              "  attractor problem multi --seed 3 --out multi.json && attractor select multi.json\n"
              "  attractor problem selectable --inputs 512 --tokens 128 --dim 128 --out large.h5\n"
              "Theory: docs/theory/selection.md.",
          .make = [] { return std::make_unique<OptionsCall<ProblemOptions>>(); }};
}

}  // namespace attractor::apps
