// The command `flow`.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/commands/flow/flow_numbers.hpp"
#include "attractor/commands/flow/flow_result.hpp"
#include "attractor/lab/flow/flow_experiment.hpp"
#include "attractor/lab/flow/flow_verify.hpp"
#include "attractor/ranks/ranks.hpp"

namespace attractor::lab {
namespace {

// Given tokens have a number and a dimension of their own.
void require_size(const std::vector<std::string>& given, const std::string& name,
                  std::uint64_t asked, std::size_t made) {
  if (asked != made && std::find(given.begin(), given.end(), name) != given.end())
    throw Error(
        fmt::format("{} = {} does not fit the given tokens, which have {}", name, asked, made));
}

// Also where the time that was given is the usual one.
void require_one_time(const FlowSetup& p, const std::vector<std::string>& given) {
  const auto is_given = [&](const char* name) {
    return std::find(given.begin(), given.end(), name) != given.end();
  };
  if (p.log10_time && is_given("time") && is_given("log10-time"))
    throw Error(fmt::format("time = {} and log10-time = {} say the same; give one of them", p.time,
                            *p.log10_time));
}

class FlowRequest final : public Request {
 public:
  ParameterList parameters() override { return list(p_); }
  void share() override { shared_ = true; }
  void observe(observe::Observable own) override { own_.push_back(std::move(own)); }

  void prepare(const std::vector<std::string>& given) override {
    check(p_);
    require_one_time(p_, given);
    require_memory(p_, shared_);
    run_.emplace(p_, shared_);
    for (const observe::Observable& own : own_) run_->observe(own);
    const FlowSize size = run_->size();
    require_size(given, "tokens", p_.tokens, size.tokens);
    require_size(given, "dim", p_.dim, size.dim);
    if (p_.verify) check(finer(p_, size.tokens, size.dim));
    bytes_ = result_bytes(size.tokens, size.dim, p_);
  }

  double bytes() const override { return bytes_; }

  Result run(const Context& context) override {
    FlowRecord record = std::move(*run_).run(context);
    run_.reset();
    std::optional<Verification> verified;
    if (p_.verify && flow::delivered(record.status)) verified = verify(record, context, shared_);
    if (shared_ && ranks::rank() > 0) return {};  // rank 0 speaks for all
    return flow_result(std::move(record), verified);
  }

 private:
  FlowSetup p_{};
  std::vector<observe::Observable> own_{};
  std::optional<FlowRun> run_{};
  double bytes_ = 0;
  bool shared_ = false;
};

}  // namespace

Command flow_command() {
  return {.name = "flow",
          .about = "Tokens flowing through attention, on a sphere or in R^d",
          .examples =
              "  attractor flow --tokens 64 --dim 3 --beta 40 --time inf --out collapse\n"
              "  attractor flow --init equiangular --tokens 8 --dim 8 --beta 2 --time 3 "
              "--tolerance 1e-12 --json\n"
              "  attractor flow --stepper layers --step 0.1 --tokens 32 --dim 16 --beta 5 --time "
              "30\n"
              "Times are in units of one attention layer of step 1. "
              "Files: docs/report_format.md; theory: docs/theory/.",
          .make = [] { return std::make_unique<FlowRequest>(); },
          .on_ranks = true};
}

}  // namespace attractor::lab
