// The command `select`.
#include <optional>
#include <utility>

#include "attractor/commands/command.hpp"
#include "attractor/commands/select/select_result.hpp"
#include "attractor/lab/select/select_experiment.hpp"

namespace attractor::lab {
namespace {

class SelectRequest final : public Request {
 public:
  ParameterList parameters() override { return list(p_); }
  void prepare(const std::vector<std::string>& /*given*/) override { problem_ = prepared(p_); }

  Result run(const Context& context) override {
    return select_result(run_select(p_, std::move(*problem_), context));
  }

 private:
  SelectSetup p_{};
  std::optional<training::Problem> problem_{};
};

}  // namespace

Command select_command() {
  return {
      .name = "select",
      .about = "Train attention: which tokens does it select, with which max-margin certificate",
      .examples =
          "  attractor problem single-local --out data.json\n"
          "  attractor select data.json --optimizer ngd --step 0.1 --steps 1000 --json\n"
          "  attractor select data.json --optimizer flow --log10-time 100 --local\n"
          "  attractor select data.json --choice 1 --exact\n"
          "Theory: docs/theory/selection.md.",
      .make = [] { return std::make_unique<SelectRequest>(); }};
}

}  // namespace attractor::lab
