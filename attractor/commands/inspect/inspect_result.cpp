#include "attractor/commands/inspect/inspect_result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/inspect/inspect_figures.hpp"
#include "attractor/commands/inspect/inspect_numbers.hpp"
#include "attractor/commands/inspect/load_inspect_py.hpp"

namespace attractor::lab {
namespace {

using models::HeadFit;
using models::TextReading;

std::string short_name(const InspectRecord& r) {
  std::filesystem::path path(r.model);
  if (path.filename().empty() || path.filename() == "model.onnx" ||
      path.filename() == "model.safetensors" || path.filename() == "model.bin")
    path = path.parent_path();
  return path.filename().empty() ? r.model : path.filename().string();
}

std::vector<double> all_heads(const InspectRecord& r, double HeadFit::*field) {
  std::vector<double> values;
  for (const TextReading& text : r.texts)
    for (const models::LayerReading& layer : text.layers)
      for (const HeadFit& head : layer.heads)
        if (!std::isnan(head.*field)) values.push_back(head.*field);
  return values;
}

double median(std::vector<double> values) {
  if (values.empty()) return kNan;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Where there is one: of saved states much is not known.
void add_known(Json& v, const char* name, double value) {
  if (!std::isnan(value)) v[name] = number(value);
}

void add_values(const InspectRecord& r, Json& v) {
  v["model"] = short_name(r);
  if (r.of_model) {
    v["family"] = std::string(name(r.architecture.family));
    v["norm"] = std::string(name(r.architecture.place));
    v["width"] = r.architecture.width;
    v["heads"] = r.architecture.heads;
  }
  v["layers"] = r.layers();
  v["texts"] = r.texts.size();
  v["tokens"] = r.texts.front().pieces.size();
  v["mean_cosine_first"] = number(r.cosine.front().mean);
  v["mean_cosine_last"] = number(r.cosine.back().mean);
  add_known(v, "baseline_last", r.across.back().mean);
  v["effective_rank_first"] = number(r.rank.front().mean);
  v["effective_rank_last"] = number(r.rank.back().mean);
  v["clusters_last"] = number(r.clusters.back().mean);
  v["falling_layers"] = Json(falling_layers(r));
  add_known(v, "median_beta", median(all_heads(r, &HeadFit::beta)));
  add_known(v, "median_r2", median(all_heads(r, &HeadFit::r2)));
  add_known(v, "median_together_r2", median(all_heads(r, &HeadFit::together)));
  const DiagramPath path = path_of(r);
  add_known(v, "effective_time", path.time.empty() ? kNan : path.time.back());
  add_known(v, "error_equiangular", r.errors.equiangular.mean);
  add_known(v, "error_persistence", r.errors.persistence.mean);
  add_known(v, "error_linear", r.errors.linear.mean);
  for (std::size_t e = 0; e < r.texts.front().exponents.size(); ++e) {
    double sum = 0;
    for (const TextReading& text : r.texts) sum += text.exponents[e];
    v[fmt::format("exponent_{}", e + 1)] = number(sum / static_cast<double>(r.texts.size()));
  }
  v["collapse_rate"] = number(
      r.layers() == 0 ? kNan
                      : (std::log(1 - r.cosine.back().mean) - std::log(1 - r.cosine.front().mean)) /
                            static_cast<double>(r.layers()));
  if (!r.written.empty()) v["written"] = r.written;
}

/// Energy that falls somewhere, of how many texts.
std::size_t texts_with_falling_energy(const InspectRecord& r) {
  return static_cast<std::size_t>(
      std::count_if(r.texts.begin(), r.texts.end(), [](const TextReading& t) {
        for (std::size_t k = 1; k < t.states.size(); ++k)
          if (t.states[k].energy_ratio[1] < t.states[k - 1].energy_ratio[1] * (1 - 1e-9))
            return true;
        return false;
      }));
}

std::string plural(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void add_remarks(const InspectSetup& p, const InspectRecord& r, Result& answer) {
  const TextReading& first = r.texts.front();
  const std::size_t n = first.pieces.size();
  std::vector<std::string>& remarks = answer.remarks;
  if (r.cut > 0)
    remarks.push_back(fmt::format("{} longer than {} tokens: the rest was left out (length).",
                                  r.cut == 1 ? "One text was" : fmt::format("{} texts were", r.cut),
                                  p.length));
  if (n <= first.dim)
    remarks.push_back(
        fmt::format("Hemisphere says nothing here: {} tokens in dimension {} always lie in one.", n,
                    first.dim));
  const std::vector<std::size_t> layers = falling_layers(r);
  if (!layers.empty() && layers.size() <= 12)
    remarks.push_back(fmt::format("The mean cosine falls at layer{} {}.",
                                  layers.size() == 1 ? "" : "s", fmt::join(layers, ", ")));
  if (!std::isnan(r.errors.equiangular.mean))
    remarks.push_back(fmt::format(
        "The theory's layer map misses the next mean cosine by {:.3f} on average; \"nothing "
        "changes\" misses it by {:.3f}, a line fitted to the other texts by {:.3f}.",
        r.errors.equiangular.mean, r.errors.persistence.mean, r.errors.linear.mean));
  if (const std::size_t falling = texts_with_falling_energy(r); falling > 0)
    remarks.push_back(fmt::format(
        "Energy at beta = 1 falls at some layer in {} of {}; attention with identity values would "
        "only raise it.",
        falling, plural(r.texts.size(), "text")));
  if (r.of_model && r.architecture.rotary())
    remarks.push_back(
        "Spectra of Q^T K are those at distance 0: rotary positions turn them with distance.");
  if (r.texts.size() == 1)
    remarks.push_back("One text gives no interval; a file of several lines does.");
  if (r.of_model && !p.baseline.given() && r.texts.size() < 2)
    remarks.push_back("No baseline: give several texts, or a file of sentences (baseline).");
}

std::string headline(const InspectRecord& r) {
  const double first = r.cosine.front().mean, last = r.cosine.back().mean;
  const char* does = last > first + 0.01   ? "draw tokens together"
                     : last < first - 0.01 ? "drive tokens apart"
                                           : "keep tokens as far apart as they were";
  std::string text = fmt::format("{}: {} {}, mean cosine {:.3f} → {:.3f}", short_name(r),
                                 plural(r.layers(), "layer"), does, first, last);
  if (!std::isnan(r.across.back().mean))
    text += fmt::format(" ({:.3f} between different sentences)", r.across.back().mean);
  const double beta = median(all_heads(r, &HeadFit::beta));
  if (!std::isnan(beta))
    text += fmt::format("; cosines explain {:.0f} % of the heads' logits, β_{{eff}} about {:.2g}",
                        100 * median(all_heads(r, &HeadFit::r2)), beta);
  return text;
}

/// "0.12 → 0.34"
std::string from_to(const Bands& bands) {
  return fmt::format("{:.3g} → {:.3g}", bands.front().mean, bands.back().mean);
}

std::vector<Tile> inspect_tiles(const InspectRecord& r) {
  std::vector<Tile> all;
  add_tile(all, "mean cosine", from_to(r.cosine),
           "pairs of tokens of a text, first and last state");
  add_tile(all, "baseline", rounded(r.across.back().mean),
           "tokens of different sentences, at the end");
  add_tile(all, "effective rank", from_to(r.rank), "directions that tokens use");
  add_tile(all, "clusters", rounded(r.clusters.back().mean), "at the end, a text on average");
  add_tile(all, "β of the heads", rounded(median(all_heads(r, &HeadFit::beta))),
           "median slope of logits against cosines");
  const DiagramPath path = path_of(r);
  add_tile(all, "effective time", path.time.empty() ? "–" : rounded(path.time.back()),
           "of all layers, on the clock of the theory");
  return all;
}

}  // namespace

std::vector<std::size_t> falling_layers(const InspectRecord& r) {
  std::vector<std::size_t> layers;
  for (std::size_t k = 1; k < r.cosine.size(); ++k)
    if (r.cosine[k].mean < r.cosine[k - 1].mean) layers.push_back(k);
  return layers;
}

Result inspect_result(const InspectSetup& p, std::shared_ptr<const InspectRecord> record) {
  const InspectRecord& r = *record;
  Result answer;
  if (r.stopped) {
    answer.interrupted = "before its end";
    return answer;
  }
  answer.title = fmt::format("{} on the theory's map", short_name(r));
  answer.headline = headline(r);
  add_values(r, answer.values);
  answer.tables = inspect_tables(r);
  add_remarks(p, r, answer);
  answer.format = "attractor inspect 1";
  answer.arrays = [record](Archive& file) { write_inspect(*record, file); };
  answer.draw = [record] { return inspect_figures(*record); };
  answer.page = [record] {
    Page page{.tiles = inspect_tiles(*record)};
    page.closing = {in_python(std::string(kLoadInspectPy))};
    return page;
  };
  if (!p.states_out.empty()) answer.outputs.push_back({"states", p.states_out, r.states});
  if (!p.attention_out.empty())
    answer.outputs.push_back({"attention", p.attention_out, r.attention});
  if (!p.keys_out.empty()) answer.outputs.push_back({"keys", p.keys_out, r.keys});
  return answer;
}

}  // namespace attractor::lab
