#include "attractor/study/study.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <string_view>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/files/load_inputs.hpp"
#include "attractor/files/toml_text.hpp"
#include "attractor/lab/number_list.hpp"

namespace attractor::lab {
namespace {

constexpr std::size_t kMostUnits = 1'000'000;

/// Says where in the file something is wrong.
class Reader {
 public:
  Reader(const std::string& text, std::string name)
      : name_(std::move(name)), table_(parse_toml(text, name_)) {}

  const toml::table& table() const { return table_; }

  [[noreturn]] void refuse(const toml::node& node, const std::string& sentence) const {
    throw Error(fmt::format("{}, line {}: {}", name_, node.source().begin.line, sentence));
  }

  void allow(const toml::table& table, std::initializer_list<std::string_view> keys,
             const std::string& where) const {
    for (const auto& [key, node] : table)
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
        refuse(node, fmt::format("'{}' is no key {}; allowed: {}", key.str(), where,
                                 fmt::join(keys, ", ")));
  }

  std::string text(const toml::node& node, std::string_view key) const {
    if (!node.is_string()) refuse(node, fmt::format("{} must be a text", key));
    return node.ref<std::string>();
  }

  std::vector<std::string> texts(const toml::node& node, std::string_view key) const {
    if (node.is_string()) return {node.ref<std::string>()};
    const toml::array* array = node.as_array();
    if (array == nullptr) refuse(node, fmt::format("{} must be a list of texts", key));
    std::vector<std::string> result;
    for (const toml::node& item : *array) result.push_back(text(item, key));
    return result;
  }

  double real(const toml::node& node, std::string_view key) const {
    const auto value = node.value<double>();
    if (!value || !std::isfinite(*value) || node.is_boolean())
      refuse(node, fmt::format("{} must be a finite number", key));
    return *value;
  }

  std::uint64_t whole(const toml::node& node, std::string_view key, std::uint64_t least,
                      std::uint64_t most) const {
    const auto value = node.is_integer() ? node.value<std::int64_t>() : std::nullopt;
    if (!value || *value < 0 || static_cast<std::uint64_t>(*value) < least ||
        static_cast<std::uint64_t>(*value) > most)
      refuse(node, fmt::format("{} must be a whole number from {} to {}", key, least, most));
    return static_cast<std::uint64_t>(*value);
  }

  bool flag(const toml::node& node, std::string_view key) const {
    if (!node.is_boolean()) refuse(node, fmt::format("{} must be true or false", key));
    return node.ref<bool>();
  }

  const toml::table& group(const toml::node& node, std::string_view key) const {
    if (!node.is_table()) refuse(node, fmt::format("{} must be a table, [{}]", key, key));
    return *node.as_table();
  }

  /// A setting as the command line would spell it.
  std::string setting(const toml::node& node, std::string_view key) const {
    if (node.is_string()) return node.ref<std::string>();
    if (node.is_boolean()) return node.ref<bool>() ? "true" : "false";
    if (node.is_integer()) return fmt::format("{}", node.ref<std::int64_t>());
    if (node.is_floating_point()) return fmt::format("{}", node.ref<double>());
    refuse(node, fmt::format("{} must be a number, a text, or true or false", key));
  }

 private:
  std::string name_;
  toml::table table_;
};

// ---- Axes.

/// A range {from, to, spacing} and where in it a share lies.
struct Range {
  double from = 0, to = 1;
  bool log = false, whole = false;
  std::string at(double share) const {
    if (share >= 1) return spell(to);
    if (share <= 0) return spell(from);
    return spell(log ? from * std::pow(to / from, share) : from + (to - from) * share);
  }
  std::string spell(double x) const {
    if (whole) return fmt::format("{}", std::llround(x));
    // What pow and sums leave in the last digit is not what was meant: 4, not 3.9999999999999996.
    return x == from || x == to ? fmt::format("{}", x) : fmt::format("{:.15g}", x);
  }
};

const Parameter* parameter_of(const ParameterList& list, std::string_view name) {
  const auto at =
      std::find_if(list.begin(), list.end(), [&](const Parameter& p) { return p.name == name; });
  return at == list.end() ? nullptr : &*at;
}

bool is_whole(const Command& command, std::string_view name) {
  const std::unique_ptr<Request> request = command.make();
  const ParameterList list = request->parameters();
  const Parameter* parameter = parameter_of(list, name);
  return parameter != nullptr && std::holds_alternative<std::uint64_t*>(parameter->target);
}

bool takes_seed(const Command& command) {
  const std::unique_ptr<Request> request = command.make();
  const ParameterList list = request->parameters();
  return parameter_of(list, "seed") != nullptr;
}

Range range_of(const Reader& reader, const toml::table& table, std::string_view key, bool counted,
               const Command& command) {
  if (counted)
    reader.allow(table, {"from", "to", "count", "spacing"}, fmt::format("of {}", key));
  else
    reader.allow(table, {"from", "to", "spacing"}, fmt::format("of {}", key));
  const toml::node *from = table.get("from"), *to = table.get("to"),
                   *spacing = table.get("spacing");
  if (from == nullptr || to == nullptr)
    reader.refuse(table, fmt::format("{} needs from and to", key));
  Range range{.from = reader.real(*from, "from"),
              .to = reader.real(*to, "to"),
              .whole = is_whole(command, key)};
  const std::string kind = spacing == nullptr ? "linear" : reader.text(*spacing, "spacing");
  if (kind != "linear" && kind != "log")
    reader.refuse(*spacing,
                  fmt::format("spacing = '{}' is not allowed; allowed: linear, log", kind));
  range.log = kind == "log";
  if (range.log && !(range.from > 0 && range.to > 0))
    reader.refuse(table, fmt::format("{}: spacing log needs positive ends", key));
  return range;
}

std::vector<std::string> axis_values(const Reader& reader, const toml::node& node,
                                     std::string_view key, const Command& command) {
  std::vector<std::string> values;
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& item : *array) values.push_back(reader.setting(item, key));
  } else if (const toml::table* table = node.as_table()) {
    const Range range = range_of(reader, *table, key, true, command);
    const toml::node* count = table->get("count");
    if (count == nullptr) reader.refuse(*table, fmt::format("{} needs a count", key));
    const std::uint64_t n = reader.whole(*count, "count", 2, kMostUnits);
    for (std::uint64_t k = 0; k < n; ++k)
      values.push_back(range.at(static_cast<double>(k) / static_cast<double>(n - 1)));
  } else {
    reader.refuse(node, fmt::format("{} must be a list or {{from, to, count}}", key));
  }
  if (values.empty()) reader.refuse(node, fmt::format("{} is an empty list", key));
  return values;
}

std::vector<StudyAxis> listed_axes(const Reader& reader, const toml::table& table,
                                   const Command& command) {
  std::vector<StudyAxis> axes;
  for (const auto& [key, node] : table)
    axes.push_back({std::string(key.str()), axis_values(reader, node, key.str(), command)});
  return axes;
}

/// Sample k of an axis lies in the interval that a random permutation gives it.
std::vector<StudyAxis> latin_axes(const Reader& reader, const toml::table& table,
                                  std::uint64_t seed, const Command& command) {
  const toml::node* samples = table.get("samples");
  if (samples == nullptr) reader.refuse(table, "latin needs samples");
  const std::uint64_t n = reader.whole(*samples, "samples", 1, kMostUnits);
  std::vector<StudyAxis> axes;
  for (const auto& [key, node] : table) {
    if (key.str() == "samples") continue;
    const Range range = range_of(reader, reader.group(node, key.str()), key.str(), false, command);
    const Stream stream(seed, "latin " + std::string(key.str()));
    std::vector<std::uint64_t> interval(n);
    for (std::uint64_t k = 0; k < n; ++k) interval[k] = k;
    for (std::uint64_t k = n; k > 1; --k)
      std::swap(interval[k - 1], interval[stream.below(k, 0, k)]);
    StudyAxis axis{std::string(key.str()), {}};
    for (std::uint64_t k = 0; k < n; ++k)
      axis.values.push_back(range.at((static_cast<double>(interval[k]) + stream.uniform(1, k)) /
                                     static_cast<double>(n)));
    axes.push_back(std::move(axis));
  }
  return axes;
}

void read_axes(const Reader& reader, Study& study) {
  std::vector<std::string> found;
  for (const char* kind : {"grid", "list", "latin"})
    if (reader.table().contains(kind)) found.emplace_back(kind);
  if (found.size() > 1)
    reader.refuse(*reader.table().get(found[1]),
                  fmt::format("{} and {} exclude each other", found[0], found[1]));
  if (found.empty()) return;
  const toml::node& node = *reader.table().get(found[0]);
  const toml::table& table = reader.group(node, found[0]);
  study.grid = found[0] == "grid";
  const Command& command = command_named(study.command);
  study.axes = found[0] == "latin" ? latin_axes(reader, table, study.seed, command)
                                   : listed_axes(reader, table, command);
  for (const StudyAxis& axis : study.axes)
    if (!study.grid && axis.values.size() != study.axes[0].values.size())
      reader.refuse(node, fmt::format("{} has {} values, {} has {}; a list needs equally many",
                                      study.axes[0].name, study.axes[0].values.size(), axis.name,
                                      axis.values.size()));
}

// ---- Other parts.

StudyStop read_stop(const Reader& reader, const toml::node& node) {
  const toml::table& table = reader.group(node, "stop");
  reader.allow(table, {"measure", "half_width", "round"}, "of stop");
  StudyStop stop;
  if (!table.contains("measure") || !table.contains("half_width"))
    reader.refuse(node, "stop needs measure and half_width");
  stop.measure = reader.text(*table.get("measure"), "measure");
  stop.half_width = reader.real(*table.get("half_width"), "half_width");
  if (!(stop.half_width > 0)) reader.refuse(node, "half_width must be above 0");
  if (const toml::node* round = table.get("round"))
    stop.round = reader.whole(*round, "round", 2, kMostUnits);
  return stop;
}

StudyFigure read_figure(const Reader& reader, const toml::node& node) {
  const toml::table& table = reader.group(node, "figure");
  reader.allow(table, {"x", "y", "z", "overlay", "series", "title", "log_x", "log_y"}, "of figure");
  StudyFigure figure;
  const auto take = [&](const char* key, std::string& target) {
    if (const toml::node* value = table.get(key)) target = reader.text(*value, key);
  };
  take("x", figure.x);
  take("y", figure.y);
  take("z", figure.z);
  take("series", figure.series);
  take("title", figure.title);
  if (figure.x.empty() || figure.y.empty()) reader.refuse(node, "figure needs x and y");
  if (const toml::node* value = table.get("overlay"))
    figure.overlay = reader.texts(*value, "overlay");
  if (const toml::node* value = table.get("log_x")) figure.log_x = reader.flag(*value, "log_x");
  if (const toml::node* value = table.get("log_y")) figure.log_y = reader.flag(*value, "log_y");
  return figure;
}

void read_settings(const Reader& reader, Study& study) {
  const toml::table& table = reader.table();
  if (const toml::node* node = table.get("name")) study.name = reader.text(*node, "name");
  if (const toml::node* node = table.get("command")) study.command = reader.text(*node, "command");
  if (const toml::node* node = table.get("measure"))
    study.measures = reader.texts(*node, "measure");
  if (const toml::node* node = table.get("replicates"))
    study.replicates = reader.whole(*node, "replicates", 1, kMostUnits);
  if (const toml::node* node = table.get("seed"))
    study.seed = reader.whole(*node, "seed", 0, std::uint64_t{1} << 62);
  if (const toml::node* node = table.get("common_seeds"))
    study.common_seeds = reader.flag(*node, "common_seeds");
  if (const toml::node* node = table.get("fixed"))
    for (const auto& [key, value] : reader.group(*node, "fixed"))
      study.fixed.emplace_back(key.str(), reader.setting(value, key.str()));
  if (const toml::node* node = table.get("stop")) study.stop = read_stop(reader, *node);
  if (const toml::node* node = table.get("figure")) {
    const toml::array* figures = node->as_array();
    if (figures == nullptr) reader.refuse(*node, "figures are written as [[figure]]");
    for (const toml::node& figure : *figures) study.figures.push_back(read_figure(reader, figure));
  }
}

/// Names of figures, if it is known what is measured; else the first unit tells (run_unit).
void check_figures(const Study& study, const std::string& name) {
  const auto is_axis = [&](const std::string& word) {
    return std::any_of(study.axes.begin(), study.axes.end(),
                       [&](const StudyAxis& axis) { return axis.name == word; });
  };
  for (const std::string& word : study.measured_by_figures()) {
    const bool measured =
        study.measures.empty() ||
        std::find(study.measures.begin(), study.measures.end(), word) != study.measures.end() ||
        (study.stop && study.stop->measure == word);
    if (!measured)
      throw Error(fmt::format(
          "{}: a figure asks for '{}', which is neither an axis nor a measure; measures: {}", name,
          word, fmt::join(study.measures, ", ")));
  }
  for (const StudyFigure& figure : study.figures) {
    if (figure.z.empty()) continue;
    if (!study.grid || !is_axis(figure.x))
      throw Error(
          fmt::format("{}: a heat map needs an axis of a grid as x, not '{}'", name, figure.x));
    for (const StudyAxis& axis : study.axes)
      if (axis.name == figure.x || axis.name == figure.y) (void)heat_places(axis);
  }
}

/// Names and ranges of every value of every axis, without running anything.
void check(const Study& study, const std::string& name) {
  const Command& command = command_named(study.command);
  std::set<std::string> seen;
  for (const auto& [parameter, text] : study.fixed) seen.insert(parameter);
  for (const StudyAxis& axis : study.axes)
    if (!seen.insert(axis.name).second)
      throw Error(fmt::format("{}: {} is given twice", name, axis.name));
  if (seen.contains("seed") && study.replicates > 1)
    throw Error(fmt::format(
        "{}: seed is fixed, so {} replicates would be equal; give the seed of the study instead",
        name, study.replicates));
  double units = static_cast<double>(study.replicates);
  if (study.grid)
    for (const StudyAxis& axis : study.axes) units *= static_cast<double>(axis.values.size());
  if (units > static_cast<double>(kMostUnits) || study.units() > kMostUnits)
    throw Error(fmt::format("{}: {:.3g} units are too many; allowed: {}", name, units, kMostUnits));
  try {
    (void)request_of(command, study.fixed);
    for (const StudyAxis& axis : study.axes)
      for (const std::string& value : axis.values) {
        Settings one = study.fixed;
        one.emplace_back(axis.name, value);
        (void)request_of(command, one);
      }
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
}

}  // namespace

std::size_t Study::points() const {
  if (axes.empty()) return 1;
  if (!grid) return axes[0].values.size();
  std::size_t count = 1;
  for (const StudyAxis& axis : axes) count *= axis.values.size();
  return count;
}

std::vector<std::size_t> Study::place(std::size_t point) const {
  std::vector<std::size_t> at(axes.size(), point);
  if (grid)
    for (std::size_t a = axes.size(); a-- > 0; point /= axes[a].values.size())
      at[a] = point % axes[a].values.size();
  return at;
}

const std::string& Study::value(std::size_t point, std::size_t axis) const {
  return axes[axis].values[place(point)[axis]];
}

Settings Study::settings(std::size_t point, std::size_t replicate) const {
  Settings all = fixed;
  bool seeded = !takes_seed(command_named(command));
  for (const auto& setting : fixed) seeded = seeded || setting.first == "seed";
  const std::vector<std::size_t> at = place(point);
  for (std::size_t a = 0; a < axes.size(); ++a) {
    all.emplace_back(axes[a].name, axes[a].values[at[a]]);
    seeded = seeded || axes[a].name == "seed";
  }
  if (seeded) return all;
  const std::uint64_t own =
      Stream(seed, "replicates").below(std::uint64_t{1} << 53, common_seeds ? 0 : point, replicate);
  all.emplace_back("seed", fmt::format("{}", own));
  return all;
}

std::vector<double> heat_places(const StudyAxis& axis) {
  std::vector<double> values;
  for (const std::string& text : axis.values) {
    double value = 0;
    if (!parse_real(text, value))
      throw Error(fmt::format("axis {} holds '{}'; a heat map needs numbers", axis.name, text));
    values.push_back(value);
  }
  if (!std::is_sorted(values.begin(), values.end()) || values.size() < 2)
    throw Error(fmt::format(
        "axis {} must ascend, with two values at least, to be drawn as a heat map", axis.name));
  return values;
}

std::vector<std::string> Study::measured_by_figures() const {
  std::vector<std::string> drawn;
  for (const StudyFigure& figure : figures) {
    drawn.insert(drawn.end(), {figure.x, figure.y, figure.z});
    drawn.insert(drawn.end(), figure.overlay.begin(), figure.overlay.end());
  }
  std::erase_if(drawn, [&](const std::string& word) {
    return word.empty() || std::any_of(axes.begin(), axes.end(),
                                       [&](const StudyAxis& axis) { return axis.name == word; });
  });
  return drawn;
}

std::vector<std::string> study_files(const Study& study) {
  const Command& command = command_named(study.command);
  std::set<std::string> names;
  const auto take = [&](const Settings& settings) {
    for (std::string& name : input_files(request_of(command, settings)->parameters()))
      names.insert(std::move(name));
  };
  take(study.fixed);
  for (const StudyAxis& axis : study.axes)
    for (const std::string& value : axis.values) take({{axis.name, value}});
  return {names.begin(), names.end()};
}

Study parse_study(const std::string& text, const std::string& name) {
  const Reader reader(text, name);
  reader.allow(reader.table(),
               {"name", "command", "measure", "replicates", "seed", "common_seeds", "fixed", "grid",
                "list", "latin", "stop", "figure"},
               "of a study");
  Study study{.text = text};
  read_settings(reader, study);
  read_axes(reader, study);
  check(study, name);
  check_figures(study, name);
  return study;
}

}  // namespace attractor::lab
