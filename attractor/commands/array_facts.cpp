#include "attractor/commands/array_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>

#include "attractor/observe/observables.hpp"
#include "attractor/observe/observation.hpp"

namespace attractor::lab {
namespace {

/// A path may end in *, which stands for any last name.
struct Row {
  std::string_view path;
  std::initializer_list<std::string_view> dimensions;
  std::string_view unit = {}, meaning = {};
};

constexpr std::string_view kTimeUnit = "attention layers of step 1";

// More special ones first.
const Row kFlow[] = {
    {"/series/time", {"time"}, kTimeUnit},
    {"/series/largest_angle", {"time"}, "rad"},
    {"/series/attention_entropy", {"time"}, "nat"},
    {"/series/attention_entropy_error", {"time"}, "nat"},
    {"/series/attention_entropy_unseen", {"time"}, "nat"},
    {"/series/*", {"time"}},
    {"/snapshots/time", {"snapshot"}, kTimeUnit, "time of each snapshot"},
    {"/snapshots/log10_time", {"snapshot"}, "", "its decimal logarithm"},
    {"/snapshots/positions", {"snapshot", "token", "axis"}, "", "every original token"},
    {"/snapshots/clusters", {"snapshot", "token"}, "", "cluster of each token"},
    {"/snapshots/norms", {"snapshot", "token"}, "", "length of each token"},
    {"/snapshots/cosine_histogram",
     {"snapshot", "bin"},
     "",
     "fractions of pairs in equal bins of the cosine on [-1, 1]"},
    {"/merge_tree/time", {"merge"}, kTimeUnit, "when the two became one cluster"},
    {"/merge_tree/*", {"merge"}, "", "SciPy's numbering: leaves 0 to n - 1, merge i makes n + i"},
    {"/coalescences/*", {"coalescence"}, "", "which tokens the solver replaced by one"},
    {"/final/owner", {"token"}, "", "group of coalesced tokens that each token ended in"},
    {"/final/selected", {"token", "head"}, "", "the token that each token selects at the end"},
    {"/weights/query", {"head", "rank", "axis"}},
    {"/weights/key", {"head", "rank", "axis"}},
    {"/weights/value", {"head", "axis_out", "axis"}},
    {"/weights/output", {"axis_out", "axis"}},
    {"/weights/feed_forward_in", {"hidden", "axis"}},
    {"/weights/feed_forward_bias", {"hidden"}},
    {"/weights/feed_forward_out", {"axis_out", "hidden"}},
    {"/weights/gain", {"axis"}},
    {"/weights/query_gain", {"rank"}},
    {"/weights/key_gain", {"rank"}},
};

const Row kSelect[] = {
    {"/problem/X", {"input", "token", "axis"}, "", "tokens of every input"},
    {"/problem/Y", {"input"}, "", "labels"},
    {"/problem/v", {"unit"}, "", "head"},
    {"/problem/W", {"axis", "axis_query"}},
    {"/problem/z", {"input", "axis"}, "", "queries"},
    {"/problem/p0", {"axis"}, "", "the prompt at the start"},
    {"/problem/K", {"axis", "factor"}},
    {"/problem/Q", {"axis", "factor"}},
    {"/problem/head/U", {"unit", "axis"}},
    {"/problem/head/b", {"unit"}},
    {"/series/entropy", {"moment"}, "nat"},
    {"/series/*", {"moment"}},
    {"/trajectory/weights", {"moment", "weight"}, "", "all trained weights, block after block"},
    {"/trajectory/*", {"block"}},
    {"/final/p", {"axis"}},
    {"/final/W", {"axis", "axis_query"}},
    {"/final/K", {"axis", "factor"}},
    {"/final/Q", {"axis", "factor"}},
    {"/final/v", {"unit"}},
    {"/final/softmax", {"input", "token"}, "", "attention at the end"},
    {"/final/selected", {"input"}, "", "the token of largest weight"},
    {"/final/lock_in_log10_time", {"input"}, "", "since when it is that token"},
    {"/svm/chosen", {"input"}},
    {"/svm/relaxed", {"input"}},
    {"/svm/solution", {"axis"}, "", "max-margin solution of the selected tokens"},
    {"/svm/solution", {"axis", "axis_query"}, "", "max-margin solution of the selected tokens"},
    {"/svm/exact/*", {"svm_exact"}},
    {"/label_svm/solution", {"unit"}, "", "label margin of v"},
    {"/label_svm/support_inputs", {"label_support"}},
    {"/local_choices/chosen", {"choice", "input"}},
    {"/local_choices/solution", {"choice", "choice_weight"}},
    {"/local_choices/*", {"choice"}, "", "locally optimal choices of tokens"},
    {"/path/weights", {"radius", "path_weight"}},
    {"/path/head", {"radius", "path_unit"}},
    {"/path/selected", {"radius", "input"}},
    {"/path/*", {"radius"}, "", "regularisation path"},
    {"/basins/starts", {"start", "start_weight"}},
    {"/basins/axes", {"map_axis"}},
    {"/basins/limits/chosen", {"limit", "input"}},
    {"/basins/limits/solution", {"limit", "limit_weight"}},
    {"/basins/limits/*", {"limit"}},
    {"/basins/*", {"start"}, "", "where starts end"},
};

const Row kBridge[] = {
    {"/training/weights", {"moment", "weight"}},
    {"/training/svm", {"weight"}, "", "max-margin solution"},
    {"/training/selected", {"input"}},
    {"/training/*", {"moment"}},
    {"/checkpoints/weights", {"checkpoint", "weight"}},
    {"/checkpoints/*", {"checkpoint"}},
    {"/tokens/start", {"token", "axis"}},
    {"/tokens/end", {"checkpoint", "token", "axis"}},
    {"/tokens/clusters", {"checkpoint", "token"}},
};

const Row kOwnFlow[] = {
    {"/series/*", {"time"}},
    {"/positions", {"time", "token", "axis"}, "", "every point"},
};

const Row kInspect[] = {
    {"/states/histogram",
     {"text", "state", "bin"},
     "",
     "fractions of pairs in equal bins of the cosine on [-1, 1]"},
    {"/states/*", {"text", "state"}, "", "tokens before the first layer and after each"},
    {"/layers/time", {"text", "layer"}, kTimeUnit, "time that the theory's attention would need"},
    {"/layers/entropy", {"text", "layer"}, "nat"},
    {"/layers/turn", {"text", "layer"}, "rad", "by how much attention turns a token"},
    {"/layers/hidden_turn", {"text", "layer"}, "rad", "by how much feed-forward turns a token"},
    {"/layers/growth", {"text", "layer", "exponent"}, "nat", "of small changes of directions"},
    {"/layers/*", {"text", "layer"}},
    {"/first_text/regulation", {"layer", "token"}, "", "speed regulation s of each token"},
    {"/heads/beta",
     {"text", "layer", "head"},
     "",
     "slope of logits against cosines of their tokens"},
    {"/heads/entropy", {"text", "layer", "head"}, "nat"},
    {"/heads/*", {"text", "layer", "head"}},
    {"/spectra/*", {"own_layer", "head", "eigenvalue"}},
    {"/clusters/labels", {"state", "token"}, "", "cluster of each token of the first text"},
    {"/clusters/pieces", {"token"}, "", "tokens of the first text"},
    {"/clusters/linkage",
     {"merge", "merge_column"},
     "",
     "SciPy's linkage: two clusters, the layer they join at, tokens"},
    {"/baseline/*", {"state", "band"}, "", "mean and its interval"},
    {"/nulls/shuffled/cosine", {"draw", "state"}},
    {"/nulls/shuffled/*", {"draw", "layer"}},
    {"/nulls/redrawn/cosine", {"draw", "state"}},
    {"/nulls/redrawn/*", {"draw", "layer"}},
    {"/by_layer/*", {"state"}, "", "mean over texts"},
    {"/texts", {"text"}},
};

// Of commands that answer one question, only what stands in no table.
const Row kAnswer[] = {
    {"/labels", {"point"}, "", "cluster of each point"},
    {"/centres", {"cluster", "axis"}, "", "modes, the largest cluster first"},
};

std::span<const Row> rows_of(std::string_view format) {
  if (format.starts_with("attractor flow")) return kFlow;
  if (format.starts_with("attractor select")) return kSelect;
  if (format.starts_with("attractor bridge")) return kBridge;
  if (format.starts_with("attractor own flow")) return kOwnFlow;
  if (format.starts_with("attractor inspect")) return kInspect;
  return kAnswer;
}

bool fits(const Row& row, std::string_view path, std::size_t rank) {
  if (row.dimensions.size() != rank) return false;
  if (!row.path.ends_with('*')) return row.path == path;
  const std::size_t last = row.path.size() - 1;
  return path.starts_with(row.path.substr(0, last)) && path.find('/', last) == path.npos;
}

/// Of a column of an observation, or of an observable of every run.
std::string observed_meaning(std::string_view name) {
  for (const observe::Column& column : observe::columns())
    if (column.name == name) return std::string(column.meaning);
  for (const observe::Observable& o : observe::observables())
    if (o.name == name) return o.meaning;
  return "";
}

}  // namespace

ArrayFacts array_facts(std::string_view format, std::string_view path, std::size_t rank) {
  const bool flow = format.starts_with("attractor flow");
  constexpr std::string_view kLast = "/weights/last/", kSeries = "/series/";
  // Weights at the end have the shapes of those at the start.
  const std::string looked_up = path.starts_with(kLast)
                                    ? fmt::format("/weights/{}", path.substr(kLast.size()))
                                    : std::string(path);
  ArrayFacts facts;
  const std::span<const Row> rows = rows_of(format);
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& row) { return fits(row, looked_up, rank); });
  if (found != rows.end()) {
    facts.dimensions.assign(found->dimensions.begin(), found->dimensions.end());
    facts.unit = found->unit;
    facts.meaning = found->meaning;
  }
  if (flow && facts.meaning.empty() && path.starts_with(kSeries))
    facts.meaning = observed_meaning(path.substr(kSeries.size()));
  if (found != rows.end()) return facts;
  const std::string plain(path.substr(path.starts_with('/') ? 1 : 0));
  const auto underscored = [](std::string text) {
    std::replace(text.begin(), text.end(), '/', '_');
    return text;
  };
  const std::size_t slash = plain.rfind('/');
  for (std::size_t k = 0; k < rank; ++k)
    facts.dimensions.push_back(k == 0 && slash != plain.npos
                                   ? underscored(plain.substr(0, slash))
                                   : fmt::format("{}_{}", underscored(plain), k));
  return facts;
}

}  // namespace attractor::lab
