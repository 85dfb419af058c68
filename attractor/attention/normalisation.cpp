#include "attractor/attention/normalisation.hpp"

#include <fmt/format.h>

#include <string>

#include "attractor/base/error.hpp"

namespace attractor {
namespace {

struct Entry {
  std::string_view name, description;
};

const Entry& entry(Normalisation normalisation) {
  static constexpr std::array<Entry, kNormalisations.size()> kTable = {{
      {"post", "normalise after adding attention"},
      {"pre", "normalise what attention sees; the residual stream grows"},
      {"mix", "post-norm in the first layers, pre-norm in the others"},
      {"peri", "normalise what attention sees and what it returns"},
      {"sandwich", "as peri when attention is the whole layer"},
      {"ngpt", "stay on the sphere; move by alpha towards normalised attention"},
      {"ln-scaling", "pre-norm with attention damped by 1 / sqrt(1 + depth)"},
      {"damped-post", "post-norm with attention damped by 1 / sqrt(1 + depth)"},
      {"deepnorm", "post-norm with the residual stream scaled up by a constant"},
  }};
  return kTable[static_cast<std::size_t>(normalisation)];
}

}  // namespace

Normalisation normalisation_named(std::string_view text) {
  std::string names;
  for (const Normalisation n : kNormalisations) {
    if (entry(n).name == text) return n;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry(n).name);
  }
  throw Error(fmt::format("'{}' is no normalisation; allowed: {}", text, names));
}

std::string_view name(Normalisation normalisation) { return entry(normalisation).name; }

std::string_view description(Normalisation normalisation) {
  return entry(normalisation).description;
}

}  // namespace attractor
