#include "apps/parameter_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace attractor::apps {
namespace {

using lab::Parameter;

template <class... T>
bool is_one_of(const Parameter& p) {
  return (std::holds_alternative<T>(p.target) || ...);
}

bool says(const Parameter& p, const char* word) { return p.words.find(word) != p.words.npos; }

std::string usual(const Parameter& p) {
  const std::string text = p.text();
  return text.empty() || p.is_flag() ? "" : " default " + text;
}

}  // namespace

Offer offer_of(const Parameter& p) {
  if (is_one_of<lab::ArrayInput*, lab::WeightInput*, lab::ProblemInput*, lab::RunInput*,
                lab::ModelInput*, lab::ArchitectureInput*, lab::TextInput*>(p))
    return Offer::files;
  if (!is_one_of<std::string*, std::vector<std::string>*>(p)) return Offer::nothing;
  if (says(p, "file")) return Offer::files;
  return says(p, "director") ? Offer::directories : Offer::nothing;
}

std::vector<std::string> offered_words(const Parameter& p) {
  std::vector<std::string> words = p.choices.empty() ? p.suggested : p.choices;
  if (!p.none.empty()) words.insert(words.begin(), p.none);
  if (!is_one_of<lab::EnumSlot>(p))  // whose other names are choices already
    for (const auto& [word, value] : p.special) words.push_back(word);
  return words;
}

std::string value_name(const Parameter& p) {
  if (p.is_flag()) return "";
  if (is_one_of<lab::Numbers*, lab::Rows*>(p)) return "LIST";
  if (p.is_whole()) return "N";
  if (is_one_of<double*, std::optional<double>*>(p)) return "X";
  if (!p.choices.empty()) return offer_of(p) == Offer::files ? "WORD|FILE" : "WORD";
  const Offer offer = offer_of(p);
  return offer == Offer::files ? "FILE" : offer == Offer::directories ? "DIR" : "TEXT";
}

std::string spelling(const Parameter& p) {
  if (p.positional) return p.name;
  const std::string value = value_name(p);
  return "--" + p.name + (value.empty() ? "" : " " + value);
}

std::string long_meaning(const Parameter& p) {
  if (p.is_flag()) return p.help;
  return fmt::format("{} [{}]{}", p.help, p.allowed(), usual(p));
}

std::string short_meaning(const Parameter& p) {
  if (p.is_flag() || p.choices.empty()) return p.help + (p.positional ? "" : usual(p));
  return fmt::format("{} [{}]{}", p.help, fmt::join(offered_words(p), ", "), usual(p));
}

std::vector<std::string> headings(const lab::ParameterList& parameters) {
  std::vector<std::string> all;
  for (const Parameter& p : parameters)
    if (!p.positional && std::find(all.begin(), all.end(), p.group) == all.end())
      all.push_back(p.group);
  return all;
}

}  // namespace attractor::apps
