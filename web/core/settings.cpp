#include "web/core/settings.hpp"

#include <fmt/format.h>

#include "attractor/base/error.hpp"

namespace attractor::web {

using lab::Json;

lab::Settings settings_of(const Json& object) {
  if (!object.is_object()) throw Error("settings are an object of names and values");
  lab::Settings settings;
  for (const Json::Member& member : object.items()) {
    const Json& value = member.value;
    if (value.is_null() || (value.is_boolean() && !value.get<bool>())) continue;
    if (value.is_boolean())
      settings.emplace_back(member.name, "true");
    else if (value.is_string())
      settings.emplace_back(member.name, value.get<std::string>());
    else if (value.is_number())
      settings.emplace_back(member.name, value.dump());
    else
      throw Error(fmt::format("{} is neither a number nor a word", member.name));
  }
  return settings;
}

void apply_settings(const lab::ParameterList& list, const lab::Settings& settings) {
  for (const auto& [name, text] : settings) find(list, name).set(text);
}

}  // namespace attractor::web
