// Tools for tests of the command line: what they were given is kept, nothing is computed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/tool.hpp"
#include "attractor/attention/normalisation.hpp"

namespace attractor::apps {

/// A little of everything that a list can hold.
class ToyCall final : public ToolCall {
 public:
  lab::ParameterList parameters() override {
    lab::ParameterList l;
    l.group("Model");
    l.add("points", points_, "n x d, a row for each point").first();
    l.add("norm", norm_, "where layers normalise").among({Normalisation::post, Normalisation::pre});
    l.add("beta", beta_, "inverse temperature").within(0, 1e6);
    l.add("tokens", tokens_, "number of tokens").within(1, 1e7);
    l.add("levels", levels_, "cosines: it's a [list]").within(0, 1);
    l.add("merge-radius", radius_, "chord").within(0, 1).special_value("off", 0);
    l.add("causal", causal_, "token i sees j <= i");
    l.short_help({"norm", "beta"});
    lab::ParameterList run;
    run.group("Run");
    run.add("out", out_, "new directory").allow("a directory").not_empty();
    run.add("config", config_, "TOML file").allow("a file").not_empty();
    l.append(run);
    return l;
  }
  int run(const lab::Settings&) override { return 0; }

 private:
  lab::ArrayInput points_;
  Normalisation norm_ = Normalisation::post;
  double beta_ = 1;
  std::uint64_t tokens_ = 64;
  lab::Numbers levels_ = {0.5};
  std::optional<double> radius_;
  bool causal_ = false;
  std::string out_, config_;
};

class FilesCall final : public ToolCall {
 public:
  lab::ParameterList parameters() override {
    lab::ParameterList l;
    l.add("from", from_, "directories of all shards").allow("directories").first();
    return l;
  }
  int run(const lab::Settings&) override { return 0; }

 private:
  std::vector<std::string> from_;
};

inline const std::vector<Tool>& toy_tools() {
  static const std::vector<Tool> all = {
      {.name = "flow",
       .about = "Tokens flowing through attention",
       .examples =
           "  attractor flow x.npy --beta 4\n  attractor flow x.npy --causal\n.Theory: 'a' \\ b.",
       .make = [] { return std::make_unique<ToyCall>(); }},
      {.name = "reduce pair",
       .about = "Two clusters: when they merge",
       .examples = "  attractor reduce pair x.npy\n",
       .make = [] { return std::make_unique<ToyCall>(); }},
      {.name = "reduce clusters",
       .about = "k equal clusters",
       .examples = "  attractor reduce clusters x.npy\n",
       .make = [] { return std::make_unique<ToyCall>(); }},
      {.name = "merge",
       .about = "Join the shards",
       .examples = "  attractor merge a b\n",
       .make = [] { return std::make_unique<FilesCall>(); }}};
  return all;
}

}  // namespace attractor::apps
