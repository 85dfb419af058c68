#include "papers/phases/phase_diagrams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/reductions/equiangular_layers.hpp"

namespace attractor::papers {

namespace {

/// Row (beta, time, share, error) of a diagram at its last beta.
const std::vector<double>& phase_at(const Result& answer, double time) {
  const std::vector<std::vector<double>>& rows = answer.tables.back().rows;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    if (std::abs((*row)[1] - time) < 1e-9) return *row;
  throw Error(fmt::format("the diagram has no time {}; allowed: its outputs", time));
}

PageFigure side_by_side(const Diagrams& diagrams, std::string caption) {
  report::Figure figure{.id = "phase", .columns = 2, .width = 1120};
  for (std::size_t k = 0; k < diagrams.answers.size(); ++k) {
    std::vector<PageFigure> drawn = diagrams.answers[k].draw();
    if (drawn.empty()) continue;
    figure.panels.push_back(std::move(drawn.front().figure.panels.front()));
    figure.panels.back().title = diagrams.titles[k];
  }
  figure.height = 380 * static_cast<double>((figure.panels.size() + 1) / 2);
  return {std::move(figure), std::move(caption), true};
}

}  // namespace

Shares Schemes::at(double time) const {
  const std::vector<double>& ours = phase_at(published, time);
  return {ours[2], ours[3], phase_at(flow, time)[2]};
}

Schemes both_schemes(PhaseSetup parameters, const Effort& effort) {
  Schemes result{.published = ask(parameters, effort.context)};
  parameters.scheme = depth::BatchMethod::rk4;
  result.flow = ask(parameters, effort.context);
  return result;
}

double layer_time(const meanfield::Equiangular& problem, std::size_t layers) {
  const std::vector<meanfield::EquiangularLayer> states = meanfield::layers(problem, 0.1, layers);
  const auto at = std::find_if(states.begin(), states.end(),
                               [](const auto& state) { return state.gap() <= 1e-3; });
  return at == states.end() ? kNan : 0.1 * static_cast<double>(at - states.begin());
}

Diagrams diagrams_over(const std::vector<std::uint64_t>& dims, PhaseSetup parameters,
                       const Effort& effort, Result& answer) {
  Diagrams result;
  for (const std::uint64_t dim : dims) {
    parameters.dim = dim;
    result.answers.push_back(ask(parameters, effort.context));
    if (effort.context.stopped()) return {};
    result.titles.push_back(fmt::format("d = {}", dim));
    answer.tables.push_back(result.answers.back().tables.back());
    answer.tables.back().name = fmt::format("diagram_{}", dim);
  }
  return result;
}

std::function<std::vector<PageFigure>()> drawn(const Diagrams& diagrams, std::string caption) {
  return [=] { return std::vector{side_by_side(diagrams, caption)}; };
}

}  // namespace attractor::papers
