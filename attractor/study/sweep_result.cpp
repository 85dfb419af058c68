#include "attractor/study/sweep_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/lab/number_list.hpp"
#include "attractor/study/schedule.hpp"

namespace attractor::lab {
namespace {

constexpr std::size_t kNamedFailures = 5;

double as_number(const std::string& text) {
  double value = 0;
  return parse_real(text, value) ? value : kNan;
}

using Units = std::map<std::size_t, UnitResult>;

/// The longest list that a measure has anywhere.
std::map<std::string, std::size_t> lengths(const Units& units) {
  std::map<std::string, std::size_t> length;
  for (const auto& [unit, result] : units)
    for (const auto& [name, values] : result.measures)
      length[name] = std::max(length[name], values.size());
  return length;
}

double element(const UnitResult& result, const std::string& name, std::size_t k) {
  const auto at = result.measures.find(name);
  return at == result.measures.end() || k >= at->second.size() ? kNan : at->second[k];
}

std::vector<const UnitResult*> units_of(const Study& study, const Units& units, std::size_t point) {
  std::vector<const UnitResult*> result;
  const auto end = units.lower_bound((point + 1) * study.replicates);
  for (auto at = units.lower_bound(point * study.replicates); at != end; ++at)
    result.push_back(&at->second);
  return result;
}

// ---- Tables.

std::vector<std::string> axis_names(const Study& study) {
  std::vector<std::string> names;
  for (const StudyAxis& axis : study.axes) names.push_back(axis.name);
  return names;
}

/// Words of an axis that is not numeric stand in a leading column; short: of numbers six digits.
std::string words_of(const Study& study, std::size_t point, bool short_numbers = false) {
  std::string words;
  for (std::size_t a = 0; a < study.axes.size(); ++a) {
    const double number = as_number(study.value(point, a));
    words += fmt::format("{}{}={}", a == 0 ? "" : " ", study.axes[a].name,
                         short_numbers && std::isfinite(number) ? fmt::format("{:.6g}", number)
                                                                : study.value(point, a));
  }
  return words.empty() ? "all" : words;
}

/// What the first measure does over the points, in a sentence.
std::string finding(const Study& study, const SweepRecord& record, const std::string& title,
                    std::size_t units, std::size_t failed) {
  const std::string effort =
      fmt::format("{} units at {} points{}", grouped(units), grouped(study.points()),
                  failed == 0 ? "" : fmt::format(", {} of them failed", grouped(failed)));
  for (const std::string& name : record.measures) {
    if (record.length.at(name) != 1) continue;
    std::size_t low = 0, high = 0;
    const auto mean = [&](std::size_t p) { return record.points[p].mean.at(name)[0]; };
    for (std::size_t p = 0; p < record.points.size(); ++p) {
      if (!std::isfinite(mean(low)) || mean(p) < mean(low)) low = p;
      if (!std::isfinite(mean(high)) || mean(p) > mean(high)) high = p;
    }
    if (record.points.size() < 2 || !std::isfinite(mean(low)) || !(mean(high) > mean(low)))
      continue;
    return fmt::format("{}: {} goes from {} ({}) to {} ({}); {}", title, spaced(name),
                       rounded(mean(low)), words_of(study, low, true), rounded(mean(high)),
                       words_of(study, high, true), effort);
  }
  return fmt::format("{}: {}", title, effort);
}

Table points_table(const Study& study, const SweepRecord& record) {
  Table table{.name = "points",
              .title = "Means and half widths of their 95 % intervals",
              .columns = axis_names(study),
              .label_column = "point"};
  for (const char* name : {"replicates", "failed"}) table.columns.emplace_back(name);
  for (const std::string& name : record.measures)
    if (record.length.at(name) == 1)
      for (const char* what : {"mean", "half_width"}) table.columns.push_back(name + "_" + what);
  for (std::size_t p = 0; p < record.points.size(); ++p) {
    const SweepPoint& point = record.points[p];
    std::vector<double> row = point.axes;
    row.push_back(static_cast<double>(point.replicates));
    row.push_back(static_cast<double>(point.failed));
    for (const std::string& name : record.measures)
      if (record.length.at(name) == 1) {
        row.push_back(point.mean.at(name)[0]);
        row.push_back(point.half.at(name)[0]);
      }
    table.labels.push_back(words_of(study, p));
    table.shown_labels.push_back(words_of(study, p, true));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table units_table(const Study& study, const SweepRecord& record, const Units& units) {
  Table table{.name = "units",
              .title = "Units",
              .columns = {"unit", "point", "replicate", "failed"},
              .only_data = true};
  std::vector<std::string> plain;
  for (const std::string& name : record.measures)
    if (record.length.at(name) == 1) plain.push_back(name);
  table.columns.insert(table.columns.end(), plain.begin(), plain.end());
  for (const auto& [unit, result] : units) {
    std::vector<double> row = {
        static_cast<double>(unit), static_cast<double>(unit / study.replicates),
        static_cast<double>(unit % study.replicates), result.failure.empty() ? 0.0 : 1.0};
    for (const std::string& name : plain) row.push_back(element(result, name, 0));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table list_table(const SweepRecord& record, const std::string& name) {
  std::string group = name;
  std::replace(group.begin(), group.end(), '.', '_');
  Table table{.name = group,
              .title = name,
              .columns = {"point", "index", "mean", "half_width"},
              .only_data = true};
  for (std::size_t p = 0; p < record.points.size(); ++p)
    for (std::size_t k = 0; k < record.length.at(name); ++k)
      table.rows.push_back({static_cast<double>(p), static_cast<double>(k),
                            record.points[p].mean.at(name)[k], record.points[p].half.at(name)[k]});
  return table;
}

Table failures_table(const Units& units) {
  Table table{.name = "failures",
              .title = "Units that failed",
              .columns = {"unit"},
              .label_column = "reason"};
  for (const auto& [unit, result] : units)
    if (!result.failure.empty()) {
      table.labels.push_back(result.failure);
      table.rows.push_back({static_cast<double>(unit)});
    }
  return table;
}

}  // namespace

SweepRecord collect(const Study& study, const Units& units) {
  SweepRecord record{.length = lengths(units)};
  for (const std::string& name : study.measures)
    if (record.length.contains(name)) record.measures.push_back(name);
  for (const auto& [name, length] : record.length)
    if (std::find(study.measures.begin(), study.measures.end(), name) == study.measures.end())
      record.measures.push_back(name);
  for (std::size_t p = 0; p < study.points(); ++p) {
    SweepPoint point;
    for (std::size_t a = 0; a < study.axes.size(); ++a)
      point.axes.push_back(as_number(study.value(p, a)));
    const std::vector<const UnitResult*> ours = units_of(study, units, p);
    point.replicates = ours.size();
    for (const UnitResult* unit : ours) point.failed += unit->failure.empty() ? 0 : 1;
    for (const std::string& name : record.measures)
      for (std::size_t k = 0; k < record.length.at(name); ++k) {
        std::vector<double> values;
        for (const UnitResult* unit : ours) values.push_back(element(*unit, name, k));
        const Interval i = interval(values);
        point.mean[name].push_back(i.mean);
        point.half[name].push_back(i.half_width);
      }
    record.points.push_back(std::move(point));
  }
  return record;
}

Result result_of(const Study& study, const Units& units) {
  const SweepRecord record = collect(study, units);
  const Table failures = failures_table(units);
  Result answer{.title = study.name.empty() ? "Sweep of attractor " + study.command : study.name,
                .headline = {}};
  answer.headline = finding(study, record, answer.title, units.size(), failures.rows.size());
  answer.tiles = {
      {"points", grouped(study.points()), "combinations of parameters"},
      {"units", grouped(units.size()), fmt::format("up to {} a point", grouped(study.replicates))},
      {"failed", grouped(failures.rows.size()),
       failures.rows.empty() ? "every unit delivered" : "units; reasons below"},
      {"command", study.command, "was swept"}};
  answer.values["swept"] = study.command;
  answer.values["point_count"] = study.points();
  answer.values["unit_count"] = units.size();
  answer.values["failed_count"] = failures.rows.size();
  answer.tables = {points_table(study, record), units_table(study, record, units)};
  for (const std::string& name : record.measures)
    if (record.length.at(name) > 1) answer.tables.push_back(list_table(record, name));
  if (!failures.rows.empty()) {
    answer.tables.push_back(failures);
    for (std::size_t k = 0; k < std::min(kNamedFailures, failures.rows.size()); ++k)
      answer.remarks.push_back(
          fmt::format("Unit {:.0f} failed: {}", failures.rows[k][0], failures.labels[k]));
  }
  if (failures.rows.size() == units.size() && !units.empty())
    answer.not_delivered = "every unit failed; the first: " + failures.labels[0];
  answer.draw = [study, record] { return sweep_figures(study, record); };
  return answer;
}

}  // namespace attractor::lab
