#include "attractor/commands/inspect/inspect_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "attractor/commands/inspect/inspect_numbers.hpp"
#include "attractor/reductions/equiangular.hpp"

namespace attractor::lab {
namespace {

using models::LayerReading;
using models::TextReading;

Colour colour_of(models::Null kind) {
  return kind == models::Null::shuffled ? report::kOrange : report::kPurple;
}

Series solid(std::string title, Colour colour, double width = 2.4) {
  Series s = curve(colour, width);
  s.title = std::move(title);
  return s;
}

/// A line with its band as thin dashed ones.
void add_band_lines(std::vector<Series>& all, std::string title, Colour colour, const Bands& bands,
                    double first) {
  Series middle = solid(std::move(title), colour), low = curve(colour, 1), high = curve(colour, 1);
  low.dashed = high.dashed = true;
  for (std::size_t k = 0; k < bands.size(); ++k) {
    const double x = first + static_cast<double>(k);
    add_point(middle, x, bands[k].mean);
    add_point(low, x, bands[k].low);
    add_point(high, x, bands[k].high);
  }
  all.push_back(std::move(middle));
  all.push_back(std::move(low));
  all.push_back(std::move(high));
}

Axis layer_axis(const InspectRecord& r) {
  return {.label = "layer", .low = 0, .high = static_cast<double>(r.layers()), .whole = true};
}

PageFigure cosine_figure(const InspectRecord& r) {
  std::vector<Series> series;
  add_band_lines(series, "within a text", report::kBlue, r.cosine, 0);
  if (r.baseline_sentences >= 2)
    add_band_lines(series, fmt::format("between {} sentences", r.baseline_sentences), report::kGrey,
                   r.across, 0);
  for (const NullReading& null : r.nulls) {
    Bands bands;
    for (std::size_t k = 0; k <= r.layers(); ++k) bands.push_back(null_band(null.cosine, k));
    add_band_lines(series, fmt::format("{} weights", name(null.kind)), colour_of(null.kind), bands,
                   0);
  }
  std::string caption = "Blue: pairs of tokens of one text.";
  if (r.baseline_sentences >= 2)
    caption += " Grey: tokens of different sentences, the cosine that all tokens share anyway.";
  if (!r.nulls.empty())
    caption += " Orange, purple: the same model with weights shuffled or turned at random.";
  if (r.texts.size() > 1) caption += " Dashed: bands.";
  return plot("cosine", "Mean cosine by layer", layer_axis(r), {.label = "mean cosine of pairs"},
              std::move(series), std::move(caption));
}

PageFigure histogram_figure(const InspectRecord& r) {
  PageFigure f{
      .figure = {.id = "histograms",
                 .title = "Cosines of pairs",
                 .panels = {},
                 .columns = 3,
                 .width = kWide},
      .caption =
          "How cosines of pairs of tokens are spread after some layers, all texts together "
          "(the survey's picture of a trained model).",
      .wide = true};
  std::set<std::size_t> shown;
  for (std::size_t k = 0; k < 6; ++k)
    shown.insert(static_cast<std::size_t>(std::lround(static_cast<double>(r.layers() * k) / 5)));
  for (const std::size_t state : shown) {
    Series s{.mark = Mark::steps, .colour = report::kBlue, .width = 1.6};
    for (std::size_t b = 0; b < observe::kCosineBins; ++b) {
      double share = 0;
      for (const TextReading& text : r.texts) share += text.states[state].histogram[b];
      add_point(s, -1 + 0.02 * static_cast<double>(b),
                50 * share / static_cast<double>(r.texts.size()));
    }
    Panel panel{.title = state == 0 ? "embedded" : fmt::format("layer {}", state),
                .x = {.label = "cosine", .low = -1, .high = 1},
                .y = {.label = "density", .low = 0}};
    panel.series.push_back(std::move(s));
    panel.vertical.push_back(
        {.at = r.cosine[state].mean, .colour = report::kVermillion, .dashed = true});
    f.figure.panels.push_back(std::move(panel));
  }
  if (f.figure.panels.size() == 4) f.figure.columns = 2;
  f.figure.height = 260 * std::ceil(static_cast<double>(f.figure.panels.size()) /
                                    static_cast<double>(f.figure.columns));
  return f;
}

PageFigure beta_figure(const InspectRecord& r) {
  Series heads{.title = "heads (large: the cosine explains more)",
               .mark = Mark::points,
               .colour = report::kBlue};
  Series mean = solid("mean", report::kVermillion);
  for (std::size_t k = 0; k < r.layers(); ++k) {
    const auto layer = static_cast<double>(k + 1);
    for (std::size_t h = 0; h < r.texts.front().layers[k].heads.size(); ++h) {
      double beta = 0, r2 = 0, count = 0;
      for (const TextReading& text : r.texts) {
        const models::HeadFit& fit = text.layers[k].heads[h];
        if (std::isnan(fit.beta) || std::isnan(fit.r2)) continue;
        beta += fit.beta, r2 += fit.r2, count += 1;
      }
      if (count == 0) continue;
      add_point(heads, layer, beta / count);
      heads.sizes.push_back(1.5 + 5 * std::sqrt(std::max(r2 / count, 0.0)));
    }
    add_point(mean, layer, r.beta[k].mean);
  }
  PageFigure f = plot(
      "beta", "β of the heads",
      {.label = "layer", .low = 0, .high = static_cast<double>(r.layers()) + 0.5, .whole = true},
      {.label = "β_{eff}"}, {std::move(heads), std::move(mean)},
      "Slope of each head's logits against the cosine of its tokens, within rows. "
      "Small points: the cosine "
      "explains little of these logits, and β_{eff} describes little of the head.");
  f.figure.panels[0].horizontal.push_back({.at = 0});
  return f;
}

PageFigure prediction_figure(const InspectRecord& r) {
  Series theory{.title = "layer map of the theory",
                .mark = Mark::points,
                .colour = report::kBlue,
                .size = 2.5};
  double low = 1, high = -1;
  for (const TextReading& text : r.texts)
    for (std::size_t k = 0; k < text.layers.size(); ++k) {
      const double seen = text.cosine(k + 1), told = text.layers[k].predicted;
      if (std::isnan(told)) continue;
      add_point(theory, seen, told);
      low = std::min({low, seen, told}), high = std::max({high, seen, told});
    }
  Series same = curve(report::kGrey, 1.2);
  same.dashed = true;
  add_point(same, low, low);
  add_point(same, high, high);
  return plot(
      "prediction", "The next cosine, predicted and seen", {.label = "mean cosine after a layer"},
      {.label = "predicted"}, {std::move(same), std::move(theory)},
      fmt::format("One point for each layer and text; on the dashed line the prediction is right. "
                  "Mean error {:.3f}; "
                  "of \"nothing changes\" {:.3f}, of a line fitted to the other texts {:.3f}.",
                  r.errors.equiangular.mean, r.errors.persistence.mean, r.errors.linear.mean));
}

PageFigure rank_figure(const InspectRecord& r) {
  std::vector<Series> series;
  add_band_lines(series, "effective rank", report::kBlue, r.rank, 0);
  add_band_lines(series, "clusters", report::kGreen, r.clusters, 0);
  return plot("rank", "Effective rank and clusters", layer_axis(r),
              {.label = "number", .scale = Scale::log}, std::move(series),
              "How many directions tokens spread over, and into how many clusters they fall at the "
              "stated cosine.");
}

PageFigure energy_figure(const InspectRecord& r) {
  std::vector<Series> series;
  for (std::size_t b = 0; b < models::kEnergyBetas.size(); ++b) {
    Series s = solid(fmt::format("β = {}", models::kEnergyBetas[b]), report::kPalette[b]);
    for (std::size_t k = 0; k <= r.layers(); ++k) {
      double sum = 0;
      for (const TextReading& text : r.texts) sum += text.states[k].energy_ratio[b];
      add_point(s, static_cast<double>(k), sum / static_cast<double>(r.texts.size()));
    }
    series.push_back(std::move(s));
  }
  return plot("energy", "Energy by layer", layer_axis(r),
              {.label = "E_{β} over that of one cluster"}, std::move(series),
              "Under attention with identity values this only grows; where it falls, something "
              "else works against it.");
}

PageFigure growth_figure(const InspectRecord& r) {
  std::vector<Series> series;
  for (std::size_t e = 0; e < r.texts.front().exponents.size(); ++e) {
    Series s =
        solid(fmt::format("perturbation {}", e + 1), report::kPalette[e % report::kPalette.size()]);
    for (std::size_t k = 0; k < r.layers(); ++k) {
      double sum = 0;
      for (const TextReading& text : r.texts) sum += text.layers[k].growth[e];
      add_point(s, static_cast<double>(k + 1), sum / static_cast<double>(r.texts.size()));
    }
    series.push_back(std::move(s));
  }
  Series collapse = solid("collapse: change of ln(1 − cosine)", report::kInk, 1.6);
  collapse.dashed = true;
  for (std::size_t k = 0; k < r.layers(); ++k)
    add_point(collapse, static_cast<double>(k + 1),
              std::log(1 - r.cosine[k + 1].mean) - std::log(1 - r.cosine[k].mean));
  series.push_back(std::move(collapse));
  PageFigure f = plot("growth", "Do nearby texts part or meet?", layer_axis(r),
                      {.label = "growth a layer, ln"}, std::move(series),
                      "What a layer does to small changes of the tokens' directions. Above 0: they "
                      "grow, and nearby texts part; "
                      "a collapse pulls below 0.");
  f.figure.panels[0].horizontal.push_back({.at = 0});
  return f;
}

PageFigure speed_figure(const InspectRecord& r) {
  std::vector<Series> series;
  const auto add = [&](const char* title, Colour colour, const auto& value) {
    Series s = solid(title, colour);
    for (std::size_t k = 0; k < r.layers(); ++k) {
      double sum = 0;
      for (const TextReading& text : r.texts) sum += value(text.layers[k]);
      add_point(s, static_cast<double>(k + 1), sum / static_cast<double>(r.texts.size()));
    }
    series.push_back(std::move(s));
  };
  add("attention", report::kBlue, [](const LayerReading& l) { return l.turn; });
  add("feed-forward", report::kVermillion, [](const LayerReading& l) { return l.hidden_turn; });
  return plot("speed", "By how much a layer turns a token", layer_axis(r),
              {.label = "angle, radians", .low = 0}, std::move(series),
              "Mean angle between a token and the token with what a block adds. Attention turns "
              "token i by about 1/s_{i}.");
}

PageFigure spectra_figure(const InspectRecord& r) {
  const auto panel = [&](const char* title, bool logits) {
    Panel p{
        .title = title, .x = {.label = "real"}, .y = {.label = "imaginary"}, .equal_scale = true};
    Series s{.mark = Mark::points, .size = 2};
    for (std::size_t layer = 0; layer < r.spectra.size(); ++layer)
      for (const models::HeadSpectra& head : r.spectra[layer])
        for (const std::complex<double>& l : (logits ? head.logits : head.values).eigenvalues) {
          add_point(s, l.real(), l.imag());
          s.colours.push_back(report::kPalette[layer % report::kPalette.size()]);
        }
    p.series.push_back(std::move(s));
    p.vertical.push_back({.at = 0});
    return p;
  };
  return {.figure = {.id = "spectra",
                     .title = "Eigenvalues of the heads",
                     .panels = {panel("Q^{T}K / √d_{head}", true), panel("O V", false)},
                     .columns = 2,
                     .width = kWide,
                     .height = kSquare},
          .caption =
              "One point for each eigenvalue of each head, coloured by layer. Off the real axis a "
              "head turns tokens; "
              "left of it it repels, or writes the opposite of what it reads.",
          .wide = true};
}

}  // namespace

DiagramPath path_of(const InspectRecord& r) {
  DiagramPath path;
  double sum = 0;
  for (std::size_t k = 0; k < r.layers(); ++k) {
    sum += r.time[k].mean;
    path.time.push_back(sum);
    path.beta.push_back(r.joint_beta[k].mean);
  }
  return path;
}

report::Heat theory_heat(double tokens, double cosine, double longest, double largest_beta) {
  constexpr std::size_t kColumns = 60, kRows = 40;
  report::Heat heat{
      .x = {}, .y = {}, .value = {}, .label = "cosine of the theory", .low = 0, .high = 1};
  for (std::size_t k = 0; k < kColumns; ++k)
    heat.x.push_back(longest * (static_cast<double>(k) + 0.5) / kColumns);
  for (std::size_t k = 0; k < kRows; ++k)
    heat.y.push_back(largest_beta * (static_cast<double>(k) + 0.5) / kRows);
  for (const double beta : heat.y) {
    const meanfield::EquiangularFlow flow(
        {.tokens = tokens,
         .beta = beta,
         .cosine0 = std::clamp(cosine, -0.9 / (tokens - 1), 0.999)});
    for (const double t : heat.x) heat.value.push_back(flow.at(std::log(t)).cosine);
  }
  return heat;
}

namespace {

/// The theory's attention has none below 0.
double shown_beta(double beta) { return beta < 0 ? 0 : beta; }

PageFigure diagram_figure(const InspectRecord& r) {
  const DiagramPath path = path_of(r);
  double longest = 0.2, largest = 1;
  const auto reach = [&](double t, double b) {
    if (std::isfinite(t)) longest = std::max(longest, 1.1 * t);
    if (std::isfinite(b)) largest = std::max(largest, 1.1 * b);
  };
  for (std::size_t k = 0; k < path.time.size(); ++k) reach(path.time[k], path.beta[k]);
  for (const NullReading& null : r.nulls)
    for (std::size_t k = 0; k < r.layers(); ++k)
      reach(null_band(null.time, k).mean, null_band(null.beta, k).mean);
  Panel panel{.x = {.label = "effective time t since the start"},
              .y = {.label = "β of the layer, its heads together"}};
  double tokens = 0;
  for (const TextReading& text : r.texts)
    tokens += static_cast<double>(text.pieces.size()) / static_cast<double>(r.texts.size());
  panel.heat =
      theory_heat(std::max(2.0, std::round(tokens)), r.cosine.front().mean, longest, largest);
  for (const NullReading& null : r.nulls) {
    Series s =
        solid(fmt::format("{} weights, each draw", name(null.kind)), colour_of(null.kind), 1.6);
    for (std::size_t draw = 0; draw < null.time.size(); ++draw) {
      for (std::size_t k = 0; k < r.layers(); ++k)
        add_point(s, null.time[draw][k], shown_beta(null.beta[draw][k]));
      add_point(s, kNan, kNan);
    }
    panel.series.push_back(std::move(s));
  }
  Series way = solid("the model, layer by layer", report::kVermillion, 3),
         stops{.mark = Mark::points, .colour = report::kVermillion, .size = 4};
  for (std::size_t k = 0; k < path.time.size(); ++k) {
    add_point(way, path.time[k], shown_beta(path.beta[k]));
    add_point(stops, path.time[k], shown_beta(path.beta[k]));
  }
  panel.series.push_back(std::move(way));
  panel.series.push_back(std::move(stops));
  return plot("diagram", "Where the model sits on the (t, β) diagram", std::move(panel),
              "Background: the cosine that the theory's attention reaches after time t at inverse "
              "temperature β, from where the "
              "tokens start. Left of 0 a model has undone more collapse than it has made; a β "
              "below 0 stands at 0.");
}

}  // namespace

std::vector<PageFigure> inspect_figures(const InspectRecord& r) {
  std::vector<PageFigure> all = {cosine_figure(r), rank_figure(r), histogram_figure(r),
                                 energy_figure(r)};
  const bool fitted = r.layers() > 0 && !r.texts.front().layers.front().heads.empty();
  if (fitted) all.push_back(beta_figure(r));
  if (fitted) all.push_back(diagram_figure(r));
  if (r.of_model && r.layers() > 0) {
    all.push_back(prediction_figure(r));
    all.push_back(speed_figure(r));
    if (!r.texts.front().exponents.empty()) all.push_back(growth_figure(r));
    all.push_back(spectra_figure(r));
  }
  return all;
}

}  // namespace attractor::lab
