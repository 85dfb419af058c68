// The command `bridge`.
#include <optional>
#include <utility>

#include "attractor/commands/bridge/bridge_result.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/lab/select/bridge_experiment.hpp"

namespace attractor::lab {
namespace {

class BridgeRequest final : public Request {
 public:
  ParameterList parameters() override { return list(p_); }
  void prepare(const std::vector<std::string>& /*given*/) override { run_.emplace(p_); }

  Result run(const Context& context) override {
    return bridge_result(std::move(*run_).run(context));
  }

 private:
  BridgeSetup p_{};
  std::optional<BridgeRun> run_{};
};

}  // namespace

Command bridge_command() {
  return {
      .name = "bridge",
      .about = "Train attention, and let what it has learnt so far move tokens through depth",
      .examples =
          "  attractor problem authors-like --out data.json\n"
          "  attractor bridge data.json --out bridge\n"
          "  attractor bridge data.json --log10-time 100 --dim 2 --tokens 200 --time 30 --json\n"
          "  attractor problem self-attention --out self.json && attractor bridge self.json "
          "--train "
          "W\n"
          "Theory: docs/theory/bridge.md.",
      .make = [] { return std::make_unique<BridgeRequest>(); }};
}

}  // namespace attractor::lab
