// Options of `attractor context` that would have no effect, each refused with a sentence.
#include <fmt/format.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/commands/limits/context_experiment.hpp"

namespace attractor::lab {

void check(const ContextParameters& p) {
  if (p.advise && (p.simulate || p.exact || p.map || p.layers > 1))
    throw Error("--advise answers alone; allowed: without --simulate, --exact, --map and --layers");
  if (p.exact && !p.simulate) throw Error("--exact chooses the tokens of --simulate; give both");
  const ContextParameters usual;
  const bool random = p.simulate && !p.exact;
  const char *plain = "without --advise", *solid = "without --advise and --exact",
             *drawn = "by --simulate without --exact";
  const struct {
    const char* name;
    bool given, used;
    const char* where;
  } options[] = {
      {"gamma", p.gamma != usual.gamma, !p.advise, plain},
      {"dim", p.dim != usual.dim, !p.advise && !p.exact, solid},
      {"trained-tokens", p.trained_tokens != usual.trained_tokens, p.advise, "by --advise"},
      {"rows", p.rows != usual.rows, random, drawn},
      {"replicates", p.replicates != usual.replicates, random, drawn},
      {"seed", p.seed != usual.seed, random, drawn}};
  for (const auto& option : options)
    if (option.given && !option.used)
      throw Error(fmt::format("--{} is used {} only", option.name, option.where));
  const bool whole = p.dim == std::floor(p.dim) && p.dim >= 2;
  if (p.dim != 0 && !p.simulate && !whole)
    throw Error(fmt::format("dim = {} is not allowed; allowed: 0, or whole numbers from 2", p.dim));
}

}  // namespace attractor::lab
