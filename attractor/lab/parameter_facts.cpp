#include "attractor/lab/parameter_facts.hpp"

#include <cmath>

namespace attractor::lab {
namespace {

struct KindOf {
  std::string operator()(const double*) const { return "float"; }
  std::string operator()(const std::uint64_t*) const { return "int"; }
  std::string operator()(const std::string*) const { return "str"; }
  std::string operator()(const bool*) const { return "bool"; }
  std::string operator()(const std::optional<double>*) const { return "float?"; }
  std::string operator()(const std::optional<std::uint64_t>*) const { return "int?"; }
  std::string operator()(const Numbers*) const { return "numbers"; }
  std::string operator()(const Rows*) const { return "rows"; }
  std::string operator()(const std::vector<std::string>*) const { return "texts"; }
  std::string operator()(const EnumSlot& slot) const { return slot.optional ? "word?" : "word"; }
  std::string operator()(const ArrayInput*) const { return "array"; }
  std::string operator()(const WeightInput*) const { return "weights"; }
  std::string operator()(const ProblemInput*) const { return "problem"; }
  std::string operator()(const RunInput*) const { return "run"; }
  std::string operator()(const ModelInput*) const { return "model"; }
  std::string operator()(const ArchitectureInput*) const { return "architecture"; }
  std::string operator()(const TextInput*) const { return "text"; }
};

/// Numbers as numbers, infinity as "inf"; null: nothing, or left to the program.
Json usual_value(const Parameter& p, const std::string& kind) {
  if (auto* const* x = std::get_if<Numbers*>(&p.target))
    return (*x)->empty() ? Json() : Json((*x)->values);
  const std::string text = p.text();
  const bool open = kind.ends_with('?') && text == p.none;
  if (text.empty() || open) return {};
  return p.json();
}

}  // namespace

Json described(const Parameter& p) {
  const std::string kind = std::visit(KindOf{}, p.target);
  Json special = Json::array();
  for (const auto& [word, value] : p.special) special.push_back(word);
  return {{"name", p.name},
          {"group", p.group},
          {"help", p.help},
          {"kind", kind},
          {"default", usual_value(p, kind)},
          {"allowed", p.allowed()},
          {"choices", Json(p.choices)},
          {"special", std::move(special)},
          {"none", p.none},
          {"array", p.array.has_value()},
          {"positional", p.positional}};
}

Json described(const ParameterList& list) {
  Json all = Json::array();
  for (const Parameter& p : list) all.push_back(described(p));
  return all;
}

}  // namespace attractor::lab
