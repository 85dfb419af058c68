#include "papers/clustering/phase_diagrams.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "attractor/base/error.hpp"

namespace attractor::papers {

const std::vector<double>& phase_at(const Answer& answer, double time) {
  const std::vector<std::vector<double>>& rows = answer.tables.back().rows;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    if (std::abs((*row)[1] - time) < 1e-9) return *row;
  throw Error(fmt::format("the diagram has no time {}; allowed: its outputs", time));
}

Diagrams diagrams_over(const std::vector<std::uint64_t>& dims, PhaseParameters parameters,
                       const Effort& effort, Answer& answer) {
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

PageFigure phase_figure(std::string id, const std::vector<Answer>& diagrams,
                        const std::vector<std::string>& titles, std::string caption) {
  report::Figure figure{.id = std::move(id), .columns = 2, .width = 1120};
  for (std::size_t k = 0; k < diagrams.size(); ++k) {
    std::vector<PageFigure> drawn = diagrams[k].draw();
    if (drawn.empty()) continue;
    figure.panels.push_back(std::move(drawn.front().figure.panels.front()));
    figure.panels.back().title = titles[k];
  }
  figure.height = 380 * static_cast<double>((figure.panels.size() + 1) / 2);
  return {std::move(figure), std::move(caption), true};
}

}  // namespace attractor::papers
