#include "apps/theory_commands.hpp"

#include <memory>

#include "apps/answer_command.hpp"
#include "attractor/base/error.hpp"
#include "attractor/experiment/cluster_experiment.hpp"
#include "attractor/experiment/compare_experiment.hpp"
#include "attractor/experiment/context_experiment.hpp"
#include "attractor/experiment/equiangular_experiment.hpp"
#include "attractor/experiment/forecast_experiment.hpp"
#include "attractor/experiment/meanfield_experiment.hpp"
#include "attractor/experiment/pair_experiment.hpp"
#include "attractor/experiment/phase_experiment.hpp"
#include "attractor/experiment/regular_experiment.hpp"
#include "attractor/experiment/stability_experiment.hpp"
#include "attractor/experiment/stationary_experiment.hpp"

namespace attractor::apps {
namespace {

using namespace attractor::experiment;
using Commands = std::map<std::string, std::function<int()>>;

std::function<int()> add_reduce_command(CLI::App& app) {
  CLI::App* reduce = app.add_subcommand(
      "reduce", "Exact reductions: equiangular tokens, two clusters, regular clusters");
  reduce->footer(
      "Examples:\n"
      "  attractor reduce equiangular --tokens 64 --beta 4 --time 3\n"
      "  attractor reduce pair --beta 1000 --degrees 90\n"
      "  attractor reduce clusters --shape polygon --count 7 --beta 25");
  auto commands = std::make_shared<Commands>();
  (*commands)["equiangular"] = add_answer_command<EquiangularParameters>(
      *reduce, "attractor reduce equiangular",
      "n tokens with one common cosine, any n up to 1e30 and any normalisation",
      "Examples:\n"
      "  attractor reduce equiangular --tokens 64 --beta 4 --time 3\n"
      "  attractor reduce equiangular --norm pre --tokens 1e12 --beta 8 --time 100 --out pre\n"
      "  attractor reduce equiangular --dynamics usa --tokens 32 --beta 2 --levels 0.5,0.999\n"
      "Theory: docs/theory/reductions.md.");
  (*commands)["pair"] = add_answer_command<PairParameters>(
      *reduce, "attractor reduce pair", "Two clusters: when they merge, at any beta",
      "Examples:\n"
      "  attractor reduce pair --beta 1000 --degrees 90\n"
      "  attractor reduce pair --dynamics usa --beta 9 --angle 1.2 --mass1 0.25 --mass2 0.75\n"
      "Theory: docs/theory/metastability.md.");
  (*commands)["clusters"] = add_answer_command<RegularParameters>(
      *reduce, "attractor reduce clusters",
      "k equal clusters on a regular polygon, a simplex or a ring",
      "Examples:\n"
      "  attractor reduce clusters --shape polygon --count 7 --beta 25\n"
      "  attractor reduce clusters --shape simplex --count 4 --beta 9 --out simplex\n"
      "Theory: docs/theory/reductions.md.");
  return [reduce, commands] {
    if (reduce->get_subcommands().empty())
      throw Error("reduce needs one of: equiangular, pair, clusters; see attractor reduce --help");
    return commands->at(reduce->get_subcommands().front()->get_name())();
  };
}

}  // namespace

Commands add_theory_commands(CLI::App& app) {
  Commands commands;
  commands["reduce"] = add_reduce_command(app);
  commands["cluster"] = add_answer_command<ClusterParameters>(
      app, "attractor cluster", "Cluster your own points by the modes of their kernel density",
      "Examples:\n"
      "  attractor cluster points.npy --bandwidth 0.5 --labels-out labels.npy\n"
      "  attractor cluster vectors.h5:/x --space sphere --beta 40 --out clusters\n"
      "Theory: docs/theory/mean_shift.md.",
      {"points"});
  commands["compare"] = add_answer_command<CompareParameters>(
      app, "attractor compare", "How far two runs of attractor flow are apart, token by token",
      "Examples:\n"
      "  attractor flow --noise 0.1 --time 5 --seed 1 --out a\n"
      "  attractor flow --noise 0.1 --time 5 --seed 1 --step 0.05 --out b\n"
      "  attractor compare a b",
      {"first", "second"});
  commands["stability"] = add_answer_command<StabilityParameters>(
      app, "attractor stability",
      "Growth of every mode of the uniform state; how many clusters to expect",
      "Examples:\n"
      "  attractor stability --dim 2 --beta 25\n"
      "  attractor stability --dynamics usa --dim 3 --beta 9 --noise 0.5 --out modes\n"
      "  attractor stability --dim 2 --beta 25 --observe 20000\n"
      "Theory: docs/theory/stability.md.");
  commands["context"] = add_answer_command<ContextParameters>(
      app, "attractor context",
      "One attention layer on a long context: collapse, critical, identity",
      "Examples:\n"
      "  attractor context --tokens 1e6 --rho 0.5 --gamma 2\n"
      "  attractor context --advise --tokens 131072 --rho 0.6 --trained-tokens 8192 --out advice\n"
      "  attractor context --tokens 10000 --rho 0.5 --gamma 2 --simulate\n"
      "Theory: docs/theory/long_context.md.");
  commands["forecast"] = add_answer_command<ForecastParameters>(
      app, "attractor forecast", "Collapse over depth for every normalisation scheme",
      "Examples:\n"
      "  attractor forecast --depth 96 --norm pre --beta 8 --tokens 8192\n"
      "  attractor forecast --depth 48 --norm post --beta 4 --tokens 2048 --rho0 0.2 --out "
      "forecast\n"
      "Theory: docs/theory/reductions.md.");
  commands["meanfield"] = add_answer_command<MeanfieldParameters>(
      app, "attractor meanfield",
      "The density that infinitely many tokens follow, and how far n tokens are from it",
      "Examples:\n"
      "  attractor meanfield --dim 2 --beta 4 --start perturbed --mode 3 --time 5 --out density\n"
      "  attractor meanfield --beta 1 --start map --time 1 --compare-particles 64,256,1024\n"
      "  attractor meanfield --dim 8 --dynamics usa --beta 2 --start vmf --time 0.2\n"
      "Theory: docs/theory/mean_field.md.");
  commands["phase"] = add_answer_command<PhaseParameters>(
      app, "attractor phase",
      "Phase diagram of many small systems: which pairs have met, over beta and time",
      "Examples:\n"
      "  attractor phase --dim 2 --beta 0.1:9:90 --out phases\n"
      "  attractor phase --dim 128 --beta 1,3,5,7,9 --replicates 256 --scheme rk4\n"
      "The published diagrams have 2048 replicates: --replicates 2048.");
  commands["stationary"] = add_answer_command<StationaryParameters>(
      app, "attractor stationary",
      "Stationary states of noisy attention and their bifurcation diagram",
      "Examples:\n"
      "  attractor stationary --dynamics usa --beta 4 --noise-ratio 1.03 --out noise\n"
      "  attractor stationary --dynamics sa --dim 3 --beta 2 --noise 0.2\n"
      "  attractor stationary --dynamics usa --beta 9 --particles 500 --out hysteresis\n"
      "Theory: docs/theory/noise.md.");
  return commands;
}

}  // namespace attractor::apps
