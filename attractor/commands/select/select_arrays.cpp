// Of a SelectRecord, what result.h5 holds.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/select/select_numbers.hpp"
#include "attractor/space/space.hpp"

namespace attractor::lab {
namespace {

constexpr std::size_t kMostNumbers = 100'000'000;  // numbers of X that are copied

double log10_time(const flow::Time& time) { return time.log() / std::numbers::ln10; }

void write_header(const SelectRecord& r, Archive& file) {
  file.attribute("/", "parameters", std::string_view(stored_json(r.setup).dump()));
  file.attribute("/", "status", r.trained ? flow::name(r.status) : std::string_view("solved"));
  file.attribute("/", "seed", r.setup.seed);
  file.attribute("/", "inputs", r.problem.inputs);
  file.attribute("/", "tokens", r.problem.tokens);
  file.attribute("/", "dim", r.problem.dim);
  file.attribute("/", "steps", r.steps);
  file.attribute("/", "rejected", r.rejected);
  file.attribute("/", "saturated", r.saturated);
  file.attribute("/", "time", r.time.value());
  file.attribute("/", "log10_time", log10_time(r.time));
  file.attribute("/", "loss", r.loss);
  file.attribute("/", "softmax_min", r.softmax_min);
  file.attribute("/", "unique_best_tokens", r.unique_best);
  file.attribute("/", "equal_other_scores", r.equal_others);
}

void write_array(Archive& file, const std::string& path, std::span<const double> values,
                 const Archive::Shape& shape) {
  if (!values.empty()) file.dataset(path, values, shape);
}

void write_vector(Archive& file, const std::string& path, std::span<const double> values) {
  file.dataset(path, values, {values.size()});
}

template <class Whole>
void write_whole(Archive& file, const std::string& path, const std::vector<Whole>& values) {
  const std::vector<std::uint64_t> wide(values.begin(), values.end());
  file.dataset(path, wide, {wide.size()});
}

/// p has d numbers, W d x d.
Archive::Shape weights_shape(const SelectRecord& r, std::size_t size) {
  const std::size_t d = r.problem.dim;
  return size == d * d && size != d ? Archive::Shape{d, d} : Archive::Shape{size};
}

void write_problem(const SelectRecord& r, Archive& file) {
  const training::Problem& p = r.problem;
  file.group("/problem");
  if (p.x.size() <= kMostNumbers) write_array(file, "/problem/X", p.x, {p.inputs, p.tokens, p.dim});
  write_array(file, "/problem/Y", p.labels, {p.labels.size()});
  write_array(file, "/problem/v", p.head.v, {p.head.v.size()});
  write_array(file, "/problem/W", p.weights, {p.dim, p.dim});
  write_array(file, "/problem/z", p.queries, {p.inputs, p.dim});
  write_array(file, "/problem/p0", p.prompt, {p.dim});
  write_array(file, "/problem/K", p.key_factor, {p.dim, p.rank()});
  write_array(file, "/problem/Q", p.query_factor, {p.dim, p.rank()});
  if (p.head.linear()) return;
  file.group("/problem/head");
  write_array(file, "/problem/head/U", p.head.hidden, {p.head.units(), p.dim});
  write_array(file, "/problem/head/b", p.head.bias, {p.head.bias.size()});
  file.attribute("/problem/head", "lambda", p.head.penalty);
  file.attribute("/problem/head", "activation", training::name(p.head.activation));
}

void write_series(const SelectRecord& r, Archive& file) {
  for (const auto& [name, field] : select_columns()) {
    std::vector<double> values;
    for (const SelectMoment& m : r.series) values.push_back(m.*field);
    write_vector(file, "/series/" + name, values);
  }
  if (r.trajectory.empty()) return;
  const std::size_t moments = r.series.size();
  write_array(file, "/trajectory/weights", r.trajectory, {moments, r.trajectory.size() / moments});
  std::vector<std::string> names;
  std::vector<std::size_t> offsets, sizes;
  for (const training::Block& b : r.blocks) {
    names.push_back(b.name);
    offsets.push_back(b.begin);
    sizes.push_back(b.size);
  }
  file.dataset("/trajectory/block_names", names);
  write_whole(file, "/trajectory/block_offsets", offsets);
  write_whole(file, "/trajectory/block_sizes", sizes);
}

void write_final(const SelectRecord& r, Archive& file) {
  file.group("/final");
  for (const training::Block& b : r.blocks) {
    const bool matrix = b.name == "W" || b.name == "K" || b.name == "Q";
    const Archive::Shape shape =
        matrix ? Archive::Shape{r.problem.dim, b.size / r.problem.dim} : Archive::Shape{b.size};
    if (!r.weights.empty()) file.dataset("/final/" + b.name, b.of(r.weights), shape);
  }
  write_array(file, "/final/softmax", r.softmax, {r.problem.inputs, r.problem.tokens});
  write_whole(file, "/final/selected", r.selected);
  std::vector<double> since;
  for (const flow::Time& time : r.lock_in) since.push_back(log10_time(time));
  write_vector(file, "/final/lock_in_log10_time", since);
}

void write_token_margins(Archive& file, const std::string& group,
                         const std::vector<training::TokenMargin>& tokens) {
  std::vector<std::size_t> input, token;
  std::vector<double> margin;
  for (const training::TokenMargin& t : tokens) {
    input.push_back(t.input);
    token.push_back(t.token);
    margin.push_back(t.margin);
  }
  write_whole(file, group + "/input", input);
  write_whole(file, group + "/token", token);
  write_vector(file, group + "/margin", margin);
}

void write_multipliers(Archive& file, const std::string& group,
                       const std::vector<solve::Multiplier>& multipliers) {
  std::vector<std::size_t> row;
  std::vector<double> value;
  for (const solve::Multiplier& m : multipliers) {
    row.push_back(m.index);
    value.push_back(m.value);
  }
  write_whole(file, group + "/row", row);
  write_vector(file, group + "/multiplier", value);
}

/// What is known of the length of a solution.
template <class Margin>
void write_bounds(Archive& file, const std::string& group, const Margin& svm) {
  file.attribute(group, "status", solve::name(svm.status));
  file.attribute(group, "norm", svm.norm);
  file.attribute(group, "norm_lower", svm.lower);
  file.attribute(group, "norm_upper", svm.upper);
  file.attribute(group, "relative_gap", svm.relative_gap);
  file.attribute(group, "farkas_residual", svm.farkas_residual);
}

void write_svm(const SelectRecord& r, const training::MaxMargin& svm, const std::string& group,
               Archive& file) {
  file.group(group);
  write_array(file, group + "/solution", svm.solution, weights_shape(r, svm.solution.size()));
  write_whole(file, group + "/chosen", svm.chosen);
  if (!svm.relaxed.empty()) write_whole(file, group + "/relaxed", svm.relaxed);
  write_multipliers(file, group + "/support", svm.support);
  write_token_margins(file, group + "/neighbours", svm.neighbours);
  write_token_margins(file, group + "/rivals", svm.rivals);
  write_bounds(file, group, svm);
  file.attribute(group, "upper_proved", svm.upper_is_proved);
  file.attribute(group, "slack", svm.smallest_slack);
  file.attribute(group, "rank", svm.rank);
  file.attribute(group, "factor_rank", svm.factor_rank);
  file.attribute(group, "largest_cosine_in_reach", svm.reach);
  file.attribute(group, "locally_optimal", svm.locally_optimal);
  file.attribute(group, "globally_optimal", svm.globally_optimal);
}

void write_label(const SelectRecord& r, Archive& file) {
  const solve::HardMargin& svm = r.label->svm;
  const std::string group = "/label_svm";
  file.group(group);
  write_array(file, group + "/solution", svm.p, {svm.p.size()});
  write_whole(file, group + "/support_inputs", r.label->support);
  write_bounds(file, group, svm);
  file.attribute(group, "cosine", r.head_cosine);
}

void write_margins(const SelectRecord& r, Archive& file) {
  if (r.svm) {
    write_svm(r, *r.svm, "/svm", file);
    file.attribute("/svm", "cosine", r.cosine);
    file.attribute("/svm", "velocity_cosine", r.velocity_cosine);
  }
  if (r.exact) {
    file.group("/svm/exact");
    file.attribute("/svm/exact", "proved", r.exact->proved);
    file.attribute("/svm/exact", "infeasible", r.exact->infeasible);
    file.attribute("/svm/exact", "why_not", std::string_view(r.exact->why_not));
    file.attribute("/svm/exact", "squared_norm", std::string_view(r.exact->squared_norm.exact));
    std::vector<std::string> values;
    for (const solve::Rational& x : r.exact->lambda) values.push_back(x.exact);
    if (!values.empty()) file.dataset("/svm/exact/multiplier", values);
    write_whole(file, "/svm/exact/row", r.exact->support);
  }
  if (r.relaxed) {
    write_svm(r, *r.relaxed, "/relaxed_svm", file);
    file.attribute("/relaxed_svm", "cosine", r.relaxed_cosine);
  }
  if (r.label) write_label(r, file);
}

/// field(row) is a range of numbers; a shorter one is filled up with `missing`.
template <class T, class Row, class Field>
void write_rows(Archive& file, const std::string& path, const std::vector<Row>& rows,
                const Field& field, T missing) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, field(row).size());
  std::vector<T> all;
  for (const Row& row : rows) {
    const auto& values = field(row);
    for (const auto value : values) all.push_back(static_cast<T>(value));
    all.insert(all.end(), width - values.size(), missing);
  }
  file.dataset(path, all, {rows.size(), width});
}

void write_choices(Archive& file, const std::string& group,
                   const std::vector<training::MaxMargin>& found) {
  using training::MaxMargin;
  write_rows<std::uint64_t>(
      file, group + "/chosen", found, [](const MaxMargin& m) -> const auto& { return m.chosen; },
      std::uint64_t{0});
  write_rows<double>(
      file, group + "/solution", found,
      [](const MaxMargin& m) -> const auto& { return m.solution; }, kNan);
  write_column(file, group + "/norm", found, [](const MaxMargin& m) { return m.norm; });
  write_column(file, group + "/relative_gap", found,
               [](const MaxMargin& m) { return m.relative_gap; });
  write_column(file, group + "/locally_optimal", found,
               [](const MaxMargin& m) { return m.locally_optimal; });
  write_column(file, group + "/globally_optimal", found,
               [](const MaxMargin& m) { return m.globally_optimal; });
}

void write_path(const SelectRecord& r, Archive& file) {
  using training::PathPoint;
  const auto column = [&](const char* name, const auto& field) {
    write_column(file, std::string("/path/") + name, r.path,
                 [&](const PathPoint& p) { return p.*field; });
  };
  column("radius", &PathPoint::radius);
  column("head_radius", &PathPoint::head_radius);
  column("loss", &PathPoint::loss);
  column("log10_ridge", &PathPoint::log10_ridge);
  column("on_boundary", &PathPoint::on_boundary);
  column("residual", &PathPoint::residual);
  write_rows<double>(
      file, "/path/weights", r.path, [](const PathPoint& p) -> const auto& { return p.weights; },
      kNan);
  write_rows<double>(
      file, "/path/head", r.path, [](const PathPoint& p) -> const auto& { return p.head; }, kNan);
  write_rows<std::uint64_t>(
      file, "/path/selected", r.path, [](const PathPoint& p) -> const auto& { return p.selected; },
      std::uint64_t{0});
  write_vector(file, "/path/cosine", r.path_cosine);
  if (r.path_svm) write_svm(r, *r.path_svm, "/path/svm", file);
}

void write_basins(const training::Basins& basins, Archive& file) {
  using training::BasinStart;
  write_rows<double>(
      file, "/basins/starts", basins.starts,
      [](const BasinStart& s) -> const auto& { return s.start; }, kNan);
  std::vector<std::int64_t> limits;
  for (const BasinStart& s : basins.starts)
    limits.push_back(s.limit < basins.limits.size() ? static_cast<std::int64_t>(s.limit) : -1);
  file.dataset("/basins/limit", limits, {limits.size()});
  write_column(file, "/basins/velocity_cosine", basins.starts,
               [](const BasinStart& s) { return s.velocity_cosine; });
  write_column(file, "/basins/log10_time", basins.starts,
               [](const BasinStart& s) { return s.log10_time; });
  write_choices(file, "/basins/limits", basins.limits);
  write_whole(file, "/basins/axes", basins.axes);
  file.attribute("/basins", "side", basins.side);
  file.attribute("/basins", "radius", basins.radius);
}

}  // namespace

void write_arrays(const SelectRecord& r, Archive& file) {
  write_header(r, file);
  write_problem(r, file);
  write_series(r, file);
  write_final(r, file);
  write_margins(r, file);
  if (r.local) {
    write_choices(file, "/local_choices", r.local->found);
    file.attribute("/local_choices", "complete", r.local->complete);
    file.attribute("/local_choices", "examined", r.local->examined);
  }
  if (!r.path.empty()) write_path(r, file);
  if (r.basins) write_basins(*r.basins, file);
}

}  // namespace attractor::lab
