#include "attractor/commands/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/version.hpp"
#include "attractor/lab/wrap.hpp"

namespace attractor::lab {
namespace {

constexpr std::size_t kShownRows = 60;    // of a table, in text and page
constexpr std::size_t kShownNumbers = 4;  // of a list, among the values of a page

std::string plain_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.10g}", value) : "-";
}

/// A value in words, or nothing for what is too long to be read.
std::string words(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return plain_number(value.get<double>());
  if (!value.is_array()) return value.dump();
  if (value.size() > 8) return "";
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : "  ") + words(item);
  return text;
}

/// Markup of figures as plain text: 10^{12} becomes 10^12.
std::string plain(std::string_view markup) {
  std::string text;
  for (const char c : markup)
    if (c != '{' && c != '}') text += c;
  return text;
}

// ---- Tables.

Json table_json(const Table& table) {
  Json rows = Json::array();
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    Json row = Json::object();
    if (!table.label_column.empty()) row[table.label_column] = table.labels[r];
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      row[table.columns[c]] = number(table.rows[r][c]);
    rows.push_back(std::move(row));
  }
  return rows;
}

bool is_identifier(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string cell(const Table& table, std::size_t column, double value) {
  const bool flag = std::find(table.yes_no.begin(), table.yes_no.end(), table.columns[column]) !=
                    table.yes_no.end();
  if (flag && std::isfinite(value)) return yes(value != 0);
  return std::isfinite(value) ? fmt::format("{:.7g}", value) : "-";
}

}  // namespace

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

void add_tile(std::vector<Tile>& tiles, std::string name, std::string value, std::string more) {
  if (value.empty() || value == "–") return;
  tiles.push_back({std::move(name), std::move(value), std::move(more)});
}

std::vector<std::vector<std::string>> cells(const Table& table) {
  std::vector<std::vector<std::string>> lines(1);
  const bool labelled = !table.label_column.empty();
  const std::vector<std::string>& labels =
      table.shown_labels.empty() ? table.labels : table.shown_labels;
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.rows.empty() || std::any_of(table.rows.begin(), table.rows.end(),
                                          [c](const auto& row) { return std::isfinite(row[c]); }))
      columns.push_back(c);
  if (labelled) lines[0].push_back(spaced(table.label_column));
  for (const std::size_t c : columns) lines[0].push_back(spaced(table.columns[c]));
  for (std::size_t r = 0; r < std::min(kShownRows, table.rows.size()); ++r) {
    std::vector<std::string>& line = lines.emplace_back();
    if (labelled) line.push_back(is_identifier(labels[r]) ? spaced(labels[r]) : labels[r]);
    for (const std::size_t c : columns) line.push_back(cell(table, c, table.rows[r][c]));
  }
  return lines;
}

namespace {

using Cells = std::vector<std::vector<std::string>>;

/// Some columns of a table, the first of them in front of each part.
std::string part_text(const Cells& lines, const std::vector<std::size_t>& widths,
                      const std::vector<std::size_t>& shown, bool labelled) {
  std::string text;
  for (const auto& line : lines) {
    text += " ";
    for (const std::size_t c : shown) {
      const std::string space(widths[c] - columns(line[c]), ' ');
      text += c == 0 && labelled ? " " + line[c] + space : "  " + space + line[c];
    }
    while (text.ends_with(' ')) text.pop_back();
    text += "\n";
  }
  return text;
}

std::string table_text(const Table& table, std::size_t width) {
  const Cells lines = cells(table);
  std::vector<std::size_t> widths(lines[0].size(), 0);
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], columns(line[c]));
  std::string text = fmt::format("\n{}\n", wrapped(plain(table.title), 0, width));
  const bool labelled = !table.label_column.empty();
  std::vector<std::size_t> shown = {0};
  std::size_t used = widths[0] + 3;
  for (std::size_t c = 1; c < widths.size(); ++c) {
    if (width > 0 && shown.size() > 1 && used + widths[c] + 2 > width) {
      text += part_text(lines, widths, shown, labelled) + "\n";
      shown = {0};
      used = widths[0] + 3;
    }
    shown.push_back(c);
    used += widths[c] + 2;
  }
  text += part_text(lines, widths, shown, labelled);
  if (table.rows.size() > kShownRows)
    text += fmt::format("  ... {} rows in all; JSON has them\n", table.rows.size());
  return text;
}

void write_table(const Table& table, Archive& file) {
  const std::string group = "/" + table.name;
  file.group(group);
  if (!table.label_column.empty()) file.dataset(group + "/" + table.label_column, table.labels);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::vector<double> column;
    for (const std::vector<double>& row : table.rows) column.push_back(row[c]);
    file.dataset(group + "/" + table.columns[c], column, {column.size()});
  }
}

}  // namespace

std::string Question::words() const {
  std::string text = "attractor " + command;
  for (const auto& [name, value] : settings)
    text += value == "true" ? " --" + name : fmt::format(" --{} {}", name, shell_word(value));
  return text;
}

Json summary(const Result& answer, const Call& call, double wall_seconds) {
  Json json = answer.values;
  for (const Table& table : answer.tables) json[table.name] = table_json(table);
  json["remarks"] = answer.remarks;
  if (!answer.next.empty()) {
    json["next"] = Json::array();
    for (const Question& question : answer.next) json["next"].push_back(question.words());
  }
  if (!answer.not_delivered.empty()) json["not_delivered"] = answer.not_delivered;
  json["version"] = kVersion;
  json["command"] = call.command();
  json["wall_seconds"] = wall_seconds;
  json["parameters"] = stored_json(call.now);
  return json;
}

std::string text(const Result& answer, std::size_t width) {
  if (!answer.words.empty()) return answer.words;
  std::string result = wrapped(plain(answer.headline), 0, width) + "\n\n";
  std::size_t longest = 0;
  for (const auto& [name, value] : answer.values.items()) longest = std::max(longest, name.size());
  for (const auto& [name, value] : answer.values.items()) {
    const std::string shown = words(value);
    if (!shown.empty())
      result +=
          fmt::format("  {:<{}}  {}\n", spaced(name), longest, wrapped(shown, longest + 4, width));
  }
  for (const Table& table : answer.tables)
    if (!table.only_data) result += table_text(table, width);
  for (const std::string& remark : answer.remarks)
    result += "\n" + wrapped("Note: " + remark, 0, width) + "\n";
  for (const Question& question : answer.next)
    result +=
        fmt::format("\n{}\n  {}\n", wrapped("Next: " + question.why, 0, width), question.words());
  return result;
}

std::vector<std::pair<std::string, std::string>> value_words(const Result& answer) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, value] : answer.values.items()) {
    const bool nested = std::any_of(value.begin(), value.end(), [](const Json& item) {
      return item.is_object() || item.is_array();
    });
    if (value.is_null() || value.is_object() || nested || value.size() > kShownNumbers) continue;
    const bool real = value.is_number_float();
    const std::string shown = real ? rounded(value.get<double>()) : words(value);
    if (!shown.empty()) all.emplace_back(spaced(name), shown);
  }
  return all;
}

void archive(const Result& answer, const Call& call, Archive& file) {
  file.attribute("/", "format", std::string_view(answer.format));
  file.attribute("/", "version", std::string_view(kVersion));
  file.attribute("/", "command", std::string_view(call.command()));
  if (answer.arrays) return answer.arrays(file);
  file.attribute("/", "values", std::string_view(answer.values.dump()));
  for (const Table& table : answer.tables) write_table(table, file);
}

}  // namespace attractor::lab
