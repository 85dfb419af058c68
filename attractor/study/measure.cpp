#include "attractor/study/measure.hpp"

#include <fmt/format.h>

#include <string_view>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

bool is_number(const Json& json) { return json.is_number() || json.is_boolean() || json.is_null(); }

double value_of(const Json& json, const std::string& path) {
  if (json.is_null()) return kNan;
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (json.is_number()) return json.get<double>();
  throw Error(fmt::format("measure '{}' is no number but {}", path, json.dump().substr(0, 60)));
}

void collect(const Json& json, std::string_view rest, const std::string& path,
             std::vector<double>& out) {
  if (json.is_array()) {
    for (const Json& item : json) collect(item, rest, path, out);
    return;
  }
  if (rest.empty()) {
    out.push_back(value_of(json, path));
    return;
  }
  const std::size_t dot = rest.find('.');
  const std::string key(rest.substr(0, dot));
  if (!json.is_object() || !json.contains(key))
    throw Error(fmt::format("measure '{}': the summary has no '{}'", path, key));
  collect(json.at(key), dot == rest.npos ? "" : rest.substr(dot + 1), path, out);
}

}  // namespace

std::vector<double> measure(const Json& summary, const std::string& path) {
  std::vector<double> values;
  collect(summary, path, path, values);
  return values;
}

std::vector<std::string> plain_measures(const Json& summary) {
  std::vector<std::string> names;
  for (const auto& [key, value] : summary.items())
    if (is_number(value) && key != "wall_seconds") names.push_back(key);
  return names;
}

}  // namespace attractor::lab
