#include "attractor/commands/inspect/inspect_numbers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

using models::HeadFit;
using models::HeadSpectra;
using models::HeadUse;
using models::LayerReading;
using models::MatrixPortrait;
using models::StateReading;
using models::TextReading;

double mean_over(const InspectRecord& r, const auto& value) {
  double sum = 0, count = 0;
  for (const TextReading& text : r.texts)
    if (const double x = value(text); !std::isnan(x)) sum += x, count += 1;
  return count > 0 ? sum / count : kNan;
}

// ---- Of a state and of a layer: one list for tables and arrays.

struct StateColumn {
  const char* name;
  double (*value)(const StateReading&);
};
constexpr StateColumn kReadingColumns[] = {
    {"mean_cosine", [](const StateReading& s) { return s.seen.mean_cosine; }},
    {"pair_fraction", [](const StateReading& s) { return s.seen.pair_fraction; }},
    {"effective_rank", [](const StateReading& s) { return s.seen.effective_rank; }},
    {"participation_ratio", [](const StateReading& s) { return s.participation_ratio; }},
    {"clusters", [](const StateReading& s) { return s.seen.clusters; }},
    {"largest_cluster", [](const StateReading& s) { return s.seen.largest_cluster; }},
    {"hemisphere", [](const StateReading& s) { return s.seen.hemisphere; }},
    {"hemisphere_depth", [](const StateReading& s) { return s.seen.hemisphere_depth; }},
    {"energy_ratio_0.1", [](const StateReading& s) { return s.energy_ratio[0]; }},
    {"energy_ratio_1", [](const StateReading& s) { return s.energy_ratio[1]; }},
    {"energy_ratio_2", [](const StateReading& s) { return s.energy_ratio[2]; }},
    {"energy_ratio_5", [](const StateReading& s) { return s.energy_ratio[3]; }},
    {"energy_ratio_measured", [](const StateReading& s) { return s.measured_energy_ratio; }},
    {"length", [](const StateReading& s) { return s.length; }},
    {"length_spread", [](const StateReading& s) { return s.length_spread; }},
};

struct LayerColumn {
  const char* name;
  double LayerReading::*value;
};
constexpr LayerColumn kLayerColumns[] = {
    {"beta", &LayerReading::beta},
    {"beta_error", &LayerReading::beta_error},
    {"joint_beta", &LayerReading::joint_beta},
    {"r2", &LayerReading::r2},
    {"entropy", &LayerReading::entropy},
    {"entropy_ratio", &LayerReading::entropy_ratio},
    {"sink", &LayerReading::sink},
    {"written", &LayerReading::written},
    {"turn", &LayerReading::turn},
    {"hidden_written", &LayerReading::hidden_written},
    {"hidden_turn", &LayerReading::hidden_turn},
    {"step", &LayerReading::step},
    {"predicted", &LayerReading::predicted},
    {"time", &LayerReading::time},
};

struct FitColumn {
  const char* name;
  double HeadFit::*value;
};
constexpr FitColumn kFitColumns[] = {
    {"beta", &HeadFit::beta},
    {"beta_error", &HeadFit::error},
    {"r2", &HeadFit::r2},
    {"position_r2", &HeadFit::position},
    {"key_r2", &HeadFit::key},
    {"together_r2", &HeadFit::together},
    {"antisymmetric", &HeadFit::antisymmetric},
    {"own", &HeadFit::own},
    {"deviation", &HeadFit::deviation},
};

struct UseColumn {
  const char* name;
  double HeadUse::*value;
};
constexpr UseColumn kUseColumns[] = {{"entropy", &HeadUse::entropy},
                                     {"entropy_ratio", &HeadUse::entropy_ratio},
                                     {"own_weight", &HeadUse::own},
                                     {"sink", &HeadUse::sink}};

struct PortraitColumn {
  const char* name;
  double MatrixPortrait::*value;
};
constexpr PortraitColumn kPortraitColumns[] = {{"size", &MatrixPortrait::size},
                                               {"trace", &MatrixPortrait::trace},
                                               {"antisymmetric", &MatrixPortrait::antisymmetric},
                                               {"rotation", &MatrixPortrait::rotation},
                                               {"positive", &MatrixPortrait::positive},
                                               {"radius", &MatrixPortrait::radius}};

void add_band(Table& table, std::vector<double>& row, const char* name, const models::Band& band) {
  if (table.rows.empty())
    for (const char* part : {"", "_low", "_high"})
      table.columns.push_back(fmt::format("{}{}", name, part));
  row.insert(row.end(), {band.mean, band.low, band.high});
}

// ---- Tables.

/// What one looks at first: a line for each layer.
Table summary_table(const InspectRecord& r) {
  Table table{.name = "by_layer",
              .title = "Layer by layer, mean over texts",
              .columns = {"layer", "cosine", "baseline", "rank", "clusters", "beta", "joint_beta",
                          "r2", "entropy", "time", "predicted"}};
  for (std::size_t k = 0; k <= r.layers(); ++k) {
    std::vector<double> row = {static_cast<double>(k), r.cosine[k].mean, r.across[k].mean,
                               r.rank[k].mean, r.clusters[k].mean};
    if (k == 0)
      row.insert(row.end(), 6, kNan);
    else
      row.insert(row.end(),
                 {r.beta[k - 1].mean, r.joint_beta[k - 1].mean, r.r2[k - 1].mean,
                  r.entropy[k - 1].mean, r.time[k - 1].mean,
                  mean_over(r, [&](const TextReading& t) { return t.layers[k - 1].predicted; })});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table state_table(const InspectRecord& r) {
  Table table{.name = "state_means",
              .title = "Tokens after each layer, mean over texts",
              .columns = {"layer"},
              .only_data = true};
  for (std::size_t k = 0; k <= r.layers(); ++k) {
    std::vector<double> row = {static_cast<double>(k)};
    add_band(table, row, "mean_cosine", r.cosine[k]);
    add_band(table, row, "across", r.across[k]);
    add_band(table, row, "excess", r.excess[k]);
    for (std::size_t c = 1; c < std::size(kReadingColumns); ++c) {
      if (table.rows.empty()) table.columns.emplace_back(kReadingColumns[c].name);
      row.push_back(mean_over(
          r, [&](const TextReading& t) { return kReadingColumns[c].value(t.states[k]); }));
    }
    for (const NullReading& null : r.nulls)
      add_band(table, row, fmt::format("{}_cosine", name(null.kind)).c_str(),
               null_band(null.cosine, k));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table layer_table(const InspectRecord& r) {
  Table table{.name = "layer_means",
              .title = "Layers as the theory's attention, mean over texts",
              .columns = {"layer"},
              .only_data = true};
  const std::size_t exponents = r.texts.front().exponents.size();
  for (std::size_t k = 0; k < r.layers(); ++k) {
    std::vector<double> row = {static_cast<double>(k + 1)};
    add_band(table, row, "beta", r.beta[k]);
    add_band(table, row, "time", r.time[k]);
    if (table.rows.empty()) table.columns.emplace_back("observed");
    row.push_back(r.cosine[k + 1].mean);
    for (const LayerColumn& c : kLayerColumns) {
      if (c.value == &LayerReading::beta || c.value == &LayerReading::time) continue;
      if (table.rows.empty()) table.columns.emplace_back(c.name);
      row.push_back(mean_over(r, [&](const TextReading& t) { return t.layers[k].*c.value; }));
    }
    for (std::size_t e = 0; e < exponents; ++e) {
      if (table.rows.empty()) table.columns.push_back(fmt::format("growth_{}", e + 1));
      row.push_back(mean_over(r, [&](const TextReading& t) { return t.layers[k].growth[e]; }));
    }
    for (const NullReading& null : r.nulls) {
      add_band(table, row, fmt::format("{}_joint_beta", name(null.kind)).c_str(),
               null_band(null.beta, k));
      add_band(table, row, fmt::format("{}_time", name(null.kind)).c_str(),
               null_band(null.time, k));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table head_table(const InspectRecord& r) {
  Table table{.name = "head_means",
              .title = "Heads, mean over texts",
              .columns = {"layer", "head"},
              .only_data = true};
  for (std::size_t k = 0; k < r.layers(); ++k)
    for (std::size_t h = 0; h < r.texts.front().layers[k].heads.size(); ++h) {
      std::vector<double> row = {static_cast<double>(k + 1), static_cast<double>(h)};
      const auto add = [&](std::string name, double value) {
        if (table.rows.empty()) table.columns.push_back(std::move(name));
        row.push_back(value);
      };
      for (const FitColumn& c : kFitColumns)
        add(c.name,
            mean_over(r, [&](const TextReading& t) { return t.layers[k].heads[h].*c.value; }));
      for (const UseColumn& c : kUseColumns)
        add(c.name,
            mean_over(r, [&](const TextReading& t) { return t.layers[k].uses[h].*c.value; }));
      if (!r.spectra.empty()) {
        const HeadSpectra& s = r.spectra[r.texts.front().layers[k].own][h];
        for (const PortraitColumn& c : kPortraitColumns)
          add(fmt::format("qk_{}", c.name), s.logits.*c.value);
        for (const PortraitColumn& c : kPortraitColumns)
          add(fmt::format("ov_{}", c.name), s.values.*c.value);
      }
      table.rows.push_back(std::move(row));
    }
  return table;
}

/// Tokens stand side by side: a space within one is shown as tokenizers show it.
std::string with_marked_spaces(const std::string& piece) {
  std::string shown;
  for (const char c : piece) shown += c == ' ' ? "\u2581" : std::string(1, c);
  return shown;
}

Table event_table(const InspectRecord& r) {
  const TextReading& text = r.texts.front();
  Table table{.name = "cluster_events",
              .title = "First text: which clusters join and split, at which layer",
              .columns = {"layer", "clusters", "tokens"},
              .label_column = "event"};
  for (const models::ClusterEvent& e : text.tree.events()) {
    const auto& labels = text.tree.labels()[e.join ? e.layer : e.layer - 1];
    std::vector<std::string> pieces;
    for (std::size_t i = 0; i < labels.size() && pieces.size() < 12; ++i)
      if (labels[i] == e.cluster) pieces.push_back(with_marked_spaces(text.pieces[i]));
    table.labels.push_back(fmt::format("{} {}{}",
                                       e.join ? "join:" : "split:", fmt::join(pieces, " "),
                                       e.tokens > pieces.size() ? " ..." : ""));
    table.rows.push_back({static_cast<double>(e.layer), static_cast<double>(e.clusters.size()),
                          static_cast<double>(e.tokens)});
  }
  return table;
}

}  // namespace

models::Band null_band(const std::vector<std::vector<double>>& draws, std::size_t place) {
  double sum = 0, count = 0, low = kInfinity, high = -kInfinity;
  for (const std::vector<double>& draw : draws) {
    if (std::isnan(draw[place])) continue;
    sum += draw[place], count += 1;
    low = std::min(low, draw[place]), high = std::max(high, draw[place]);
  }
  return count > 0 ? models::Band{sum / count, low, high} : models::Band{kNan, kNan, kNan};
}

std::vector<Table> inspect_tables(const InspectRecord& r) {
  std::vector<Table> tables = {summary_table(r), state_table(r), layer_table(r), head_table(r)};
  for (std::vector<double>& row : tables.front().rows)
    for (double& x : row) x = std::isfinite(x) ? std::round(x * 1e4) / 1e4 : x;
  if (!r.texts.front().tree.events().empty()) tables.push_back(event_table(r));
  return tables;
}

// ---- Arrays.

namespace {

void write_draws(Archive& file, const std::string& path,
                 const std::vector<std::vector<double>>& draws) {
  if (draws.empty()) return;
  std::vector<double> all;
  for (const auto& draw : draws) all.insert(all.end(), draw.begin(), draw.end());
  file.dataset(path, all, {draws.size(), draws.front().size()});
}

void write_bands(Archive& file, const std::string& path, const Bands& bands) {
  std::vector<double> all;
  for (const models::Band& b : bands) all.insert(all.end(), {b.mean, b.low, b.high});
  if (!all.empty()) file.dataset(path, all, {bands.size(), 3});
}

void write_heads(const InspectRecord& r, Archive& file) {
  const std::size_t heads = r.layers() == 0 ? 0 : r.texts.front().layers.front().heads.size();
  if (heads == 0) return;
  const auto write = [&](const std::string& name, const auto& value) {
    std::vector<double> all;
    for (const TextReading& text : r.texts)
      for (const LayerReading& layer : text.layers)
        for (std::size_t h = 0; h < heads; ++h) all.push_back(value(layer, h));
    file.dataset("/heads/" + name, all, {r.texts.size(), r.layers(), heads});
  };
  for (const FitColumn& c : kFitColumns)
    write(c.name, [&](const LayerReading& l, std::size_t h) { return l.heads[h].*c.value; });
  for (const UseColumn& c : kUseColumns)
    write(c.name, [&](const LayerReading& l, std::size_t h) { return l.uses[h].*c.value; });
  write("sink_token", [](const LayerReading& l, std::size_t h) {
    return static_cast<double>(l.uses[h].sink_token);
  });
}

void write_spectra(const InspectRecord& r, Archive& file) {
  if (r.spectra.empty()) return;
  const std::size_t heads = r.spectra.front().size(),
                    values = r.spectra.front().front().logits.eigenvalues.size();
  for (const bool logits : {true, false}) {
    std::vector<double> real, imaginary;
    for (const auto& layer : r.spectra)
      for (const HeadSpectra& head : layer)
        for (const std::complex<double>& l : (logits ? head.logits : head.values).eigenvalues) {
          real.push_back(l.real());
          imaginary.push_back(l.imag());
        }
    const std::string group = logits ? "/spectra/qk" : "/spectra/ov";
    file.dataset(group + "_real", real, {r.spectra.size(), heads, values});
    file.dataset(group + "_imaginary", imaginary, {r.spectra.size(), heads, values});
  }
}

void write_clusters(const TextReading& text, Archive& file) {
  std::vector<std::uint32_t> labels;
  for (const auto& layer : text.tree.labels())
    labels.insert(labels.end(), layer.begin(), layer.end());
  if (labels.empty()) return;
  file.dataset("/clusters/labels", std::span<const std::uint32_t>(labels),
               {text.tree.layers(), text.pieces.size()});
  file.dataset("/clusters/pieces", text.pieces);
  std::vector<double> merges;
  for (const models::ClusterMerge& m : text.tree.merges())
    merges.insert(merges.end(), {static_cast<double>(m.left), static_cast<double>(m.right), m.layer,
                                 static_cast<double>(m.size)});
  file.dataset("/clusters/linkage", merges, {merges.size() / 4, 4});
}

/// What one looks at first, as columns.
void write_summary(const InspectRecord& r, Archive& file) {
  const Table summary = summary_table(r);
  for (std::size_t c = 0; c < summary.columns.size(); ++c) {
    std::vector<double> column;
    for (const std::vector<double>& row : summary.rows) column.push_back(row[c]);
    file.dataset(fmt::format("/by_layer/{}", summary.columns[c]), column, {column.size()});
  }
}

}  // namespace

void write_inspect(const InspectRecord& r, Archive& file) {
  const std::size_t texts = r.texts.size(), states = r.layers() + 1;
  write_summary(r, file);
  for (const StateColumn& c : kReadingColumns) {
    std::vector<double> all;
    for (const TextReading& text : r.texts)
      for (const StateReading& s : text.states) all.push_back(c.value(s));
    file.dataset(fmt::format("/states/{}", c.name), all, {texts, states});
  }
  std::vector<double> histogram;
  for (const TextReading& text : r.texts)
    for (const StateReading& s : text.states)
      histogram.insert(histogram.end(), s.histogram.begin(), s.histogram.end());
  file.dataset("/states/histogram", histogram, {texts, states, observe::kCosineBins});
  for (const LayerColumn& c : kLayerColumns) {
    std::vector<double> all;
    for (const TextReading& text : r.texts)
      for (const LayerReading& l : text.layers) all.push_back(l.*c.value);
    file.dataset(fmt::format("/layers/{}", c.name), all, {texts, r.layers()});
  }
  if (const std::size_t count = r.texts.front().exponents.size(); count > 0) {
    std::vector<double> growth;
    for (const TextReading& text : r.texts)
      for (const LayerReading& l : text.layers)
        growth.insert(growth.end(), l.growth.begin(), l.growth.end());
    file.dataset("/layers/growth", growth, {texts, r.layers(), count});
  }
  const TextReading& first = r.texts.front();
  std::vector<double> regulation;
  for (const LayerReading& l : first.layers)
    regulation.insert(regulation.end(), l.regulation.begin(), l.regulation.end());
  if (!regulation.empty())
    file.dataset("/first_text/regulation", regulation, {r.layers(), first.pieces.size()});
  write_heads(r, file);
  write_spectra(r, file);
  write_clusters(first, file);
  write_bands(file, "/baseline/within", r.within);
  write_bands(file, "/baseline/across", r.across);
  write_bands(file, "/baseline/excess", r.excess);
  for (const NullReading& null : r.nulls) {
    const std::string group = fmt::format("/nulls/{}/", name(null.kind));
    write_draws(file, group + "cosine", null.cosine);
    write_draws(file, group + "beta", null.beta);
    write_draws(file, group + "time", null.time);
  }
  file.dataset("/texts", r.lines);
}

}  // namespace attractor::lab
