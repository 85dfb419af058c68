// Figures of `attractor context`: curves against gamma, layers, recipes against context length, and
// the phase diagram over (rho, gamma).
#pragma once

#include <vector>

#include "attractor/commands/page.hpp"
#include "attractor/long_context/long_context.hpp"

namespace attractor::lab {

/// "131 072", or a power of ten.
std::string token_words(double tokens);

/// Self weight and output cosine against gamma, at this n and at 1e2, 1e4, 1e8.
std::vector<PageFigure> gamma_figures(const meanfield::ContextLayer& layer);

/// Cosine and critical gamma of every layer.
std::vector<PageFigure> layer_figures(const meanfield::ContextLayer& layer,
                                      const meanfield::ContextDepth& depth);

/// Output cosine and self weight against n for every recipe.
std::vector<PageFigure> recipe_figures(const meanfield::ContextLayer& layer, double trained_tokens);

/// Grid of the phase diagram, and the context lengths it is shown for.
struct ContextMap {
  std::vector<double> rho, gamma, tokens;
};
ContextMap context_map(double tokens);
/// Output cosine and angle ratio over (rho, gamma).
std::vector<PageFigure> map_figures(const meanfield::ContextLayer& layer);

}  // namespace attractor::lab
