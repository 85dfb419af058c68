#include "attractor/commands/command.hpp"
#include "attractor/commands/inspect/inspect_result.hpp"
#include "attractor/lab/inspect/inspect_run.hpp"

namespace attractor::lab {
namespace {

class InspectRequest final : public Request {
 public:
  ParameterList parameters() override { return list(setup_); }
  void prepare(const std::vector<std::string>& /*given*/) override { check(setup_); }
  Result run(const Context& context) override {
    return inspect_result(setup_,
                          std::make_shared<const InspectRecord>(run_inspect(setup_, context)));
  }

 private:
  InspectSetup setup_{};
};

}  // namespace

Command inspect_command() {
  return {.name = "inspect",
          .about = "A trained model on the theory's map: cosines, clusters, beta, effective times",
          .examples =
              "  attractor inspect model.bin --text texts.txt --out report\n"
              "  attractor inspect model.bin --text texts.txt --no-feed-forward --depth 24\n"
              "  attractor inspect --states states.npy --attention logits.npy\n"
              "How to save states of your own model: docs/howto/inspect.md.",
          .make = [] { return std::make_unique<InspectRequest>(); }};
}

}  // namespace attractor::lab
