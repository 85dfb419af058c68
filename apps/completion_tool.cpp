// `completion`: what a shell needs to complete commands, options and their words.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "apps/completion.hpp"
#include "apps/exit_status.hpp"
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"

namespace attractor::apps {
namespace {

struct CompletionOptions {
  std::optional<Shell> shell{};
};

void add(CompletionOptions& o, lab::ParameterList& l) {
  l.add("shell", o.shell, "whose script is printed").otherwise("").first();
}

int run(const CompletionOptions& options) {
  if (!options.shell)
    throw Error("the name of a shell is missing: attractor completion bash, zsh or fish");
  fmt::print("{}", completion(*options.shell, tools()));
  return kOk;
}

}  // namespace

Tool completion_tool() {
  return {
      .name = "completion",
      .about = "Print the script by which bash, zsh or fish completes attractor",
      .examples =
          "  attractor completion bash > attractor.bash\n"
          "Source it, or put it where your shell looks: "
          "~/.local/share/bash-completion/completions/attractor for bash, a folder of $fpath as "
          "_attractor for zsh, ~/.config/fish/completions/attractor.fish for fish. An installed "
          "attractor has done so.",
      .make = [] { return std::make_unique<OptionsCall<CompletionOptions>>(); }};
}

}  // namespace attractor::apps
