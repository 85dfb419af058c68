// The mean field: n tokens drawn from a density approach it like n^{-1/2}, in the first moment and
// in Wasserstein distance on the circle; labels instead of draws reproduce it to all digits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"
#include "attractor/commands/density/meanfield_experiment.hpp"
#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/limits/labelled_order.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::mean_field_limit {
namespace {

using lab::MeanfieldSetup;

struct Sample {
  std::vector<double> n, rms, error;
};

/// |E_n x - E x| at t = 1 of tokens moved by the attention kernel: independent draws of u in
/// theta = 2 pi u + sin(2 pi u)/2, beta = 1.
Sample kernel_errors(double truth, const Effort& effort) {
  Sample sample;
  const int replicates = effort.quick ? 24 : 200;
  for (const int n : {32, 128, 512}) {
    std::vector<double> squares;
    for (int r = 0; r < replicates && !effort.context.stopped(); ++r) {
      const Stream stream(static_cast<std::uint64_t>(r), "mean_field_limit");
      std::vector<double> angles;
      for (int i = 0; i < n; ++i) {
        const double u =
            2 * std::numbers::pi *
            stream.uniform(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(i));
        angles.push_back(u + 0.5 * std::sin(u));
      }
      FlowSetup p = at_angles(angles);
      p.beta = 1;
      p.time = 1;
      p.outputs = 1;
      p.snapshots = 2;
      p.tolerance = 1e-6;
      const FlowRecord record = flow_of(p, effort);
      double x = 0, y = 0;
      const std::vector<double>& end = record.snapshots.back().positions;
      for (std::size_t i = 0; i < end.size(); i += 2) {
        x += end[i] / n;
        y += end[i + 1] / n;
      }
      // The density leans to theta = pi.
      squares.push_back((x + truth) * (x + truth) + y * y);
    }
    sample.n.push_back(n);
    sample.rms.push_back(std::sqrt(mean(squares)));
    sample.error.push_back(standard_error(squares) / (2 * sample.rms.back()));
  }
  return sample;
}

double value(const Result& answer, const char* key) { return answer.values.at(key).get<double>(); }

Finding run(const Effort& effort) {
  MeanfieldSetup p;
  p.beta = 1;
  p.start = lab::StartLaw::map;
  p.amplitude = 0.5;
  p.time = 1;
  p.compare_particles = {64, 256, 1024};
  if (!effort.quick) p.compare_particles = {64, 256, 1024, 4096, 16384};
  p.replicates = effort.quick ? 48 : 128;
  Finding finding{.answer = ask(p, effort.context)};
  if (effort.context.stopped()) return finding;
  const double truth = 0.3575110455509;  // |m_1|(1) of an independent program
  const Sample sample = kernel_errors(truth, effort);
  if (effort.context.stopped()) return finding;
  std::vector<double> log_n, log_rms;
  Table table{.name = "kernel",
              .title = "Tokens moved by the attention kernel: rms distance of the first moment",
              .columns = {"tokens", "rms", "standard_error", "rms_root_n"}};
  for (std::size_t k = 0; k < sample.n.size(); ++k) {
    log_n.push_back(std::log(sample.n[k]));
    log_rms.push_back(std::log(sample.rms[k]));
    table.rows.push_back(
        {sample.n[k], sample.rms[k], sample.error[k], sample.rms[k] * std::sqrt(sample.n[k])});
  }
  const double fit = slope(log_n, log_rms);
  const double first = sample.error.front() / sample.rms.front(),
               last = sample.error.back() / sample.rms.back();
  // The slope of three equally spaced points is that of the outer ones.
  const double error = std::hypot(first, last) / (log_n.back() - log_n.front());
  finding.checks = {near("slope of the rms first moment in ln n", value(finding.answer, "slope"),
                         -0.5, 3 * value(finding.answer, "slope_error")),
                    near("slope of the mean W1 in ln n", value(finding.answer, "w1_slope"), -0.5,
                         3 * value(finding.answer, "w1_slope_error")),
                    near("slope for tokens moved by the kernel", fit, -0.5, 3 * error),
                    near("|m_1| of the density at beta = 1, t = 1",
                         value(finding.answer, "order_parameter"), truth, 1e-9),
                    near("the same of 256 labels moved by the kernel",
                         labelled_order(Rule::softmax, 1, 1, effort), truth, 1e-9),
                    near("the same at beta = 4", labelled_order(Rule::softmax, 4, 1, effort),
                         0.2958528176843, 1e-9)};
  finding.answer.headline = fmt::format(
      "The distance of n tokens from the density falls with exponent {:.3f} ± {:.3f} (first "
      "moment) and {:.3f} ± {:.3f} (W_{{1}}); theory −1/2.",
      value(finding.answer, "slope"), value(finding.answer, "slope_error"),
      value(finding.answer, "w1_slope"), value(finding.answer, "w1_slope_error"));
  finding.answer.tables.insert(finding.answer.tables.begin(), std::move(table));
  auto usual = finding.answer.draw;
  finding.answer.draw = [usual] {
    std::vector<PageFigure> figures = usual();
    for (std::size_t k = 0; k < figures.size(); ++k)
      if (figures[k].figure.id == "particles")
        std::rotate(figures.begin(), figures.begin() + static_cast<std::ptrdiff_t>(k),
                    figures.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    return figures;
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "mean-field-limit",
          .title = "Tokens approach the mean field like one over root n",
          .source = "arXiv 2312.10794, theorem-level (propagation of chaos)",
          .shows =
              "As n grows, tokens that start independently follow the solution of the "
              "continuity equation; the distance falls like n^{-1/2}.",
          .run = run};
}

}  // namespace attractor::papers::mean_field_limit
