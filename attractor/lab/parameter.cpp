#include "attractor/lab/parameter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/lab/json.hpp"
#include "attractor/lab/number_list.hpp"

namespace attractor::lab {
namespace {

// Whole numbers may be written like 1e6, and like 128k.
bool parse_whole(std::string_view text, std::uint64_t& value) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end == digits.data() + digits.size()) return true;
  double x = 0;
  if (!parse_count(text, x) || !(x >= 0 && x < 0x1p53) || x != std::floor(x)) return false;
  value = static_cast<std::uint64_t>(x);
  return true;
}

// One line of valid UTF-8: what files, shells and messages can carry.
bool is_one_line(std::string_view text) {
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (control) return false;
  try {
    (void)Json(text).dump();
  } catch (const JsonError&) {
    return false;
  }
  return true;
}

bool in_range(const Parameter& p, double x) {
  const bool any_finite = std::isinf(p.least) && std::isinf(p.most);
  if (any_finite && std::isinf(x)) return false;
  return (p.above_least ? x > p.least : x >= p.least) && (p.below_most ? x < p.most : x <= p.most);
}

constexpr std::string_view kArrayFiles =
    ".npy, .npz[:/name], .safetensors[:/name] or HDF5[:/dataset]";

/// A word for a file, not for a kind that does not exist.
bool looks_like_file(std::string_view text) { return text.find_first_of("./:") != text.npos; }

/// Reads a value of each type; false: not allowed.
struct Reader {
  const Parameter& p;
  std::string_view text;

  bool number(double& x) const {
    for (const auto& [word, value] : p.special)
      if (text == word) return x = value, true;
    return (p.counted ? parse_count(text, x) : parse_real(text, x)) && in_range(p, x);
  }
  bool number(std::uint64_t& x) const {
    return parse_whole(text, x) && in_range(p, static_cast<double>(x));
  }
  template <class T>
  bool store(T* target) const {
    T x{};
    if (!number(x)) return false;
    *target = x;
    return true;
  }

  bool operator()(double* x) const { return store(x); }
  bool operator()(std::uint64_t* x) const { return store(x); }
  template <class T>
  bool operator()(std::optional<T>* x) const {
    if (text == p.none) return x->reset(), true;
    T value{};
    return store(&value) ? (*x = value, true) : false;
  }
  bool operator()(bool* x) const {
    if (text != "true" && text != "false") return false;
    *x = text == "true";
    return true;
  }
  bool operator()(std::string* x) const {
    if (!p.choices.empty() &&
        std::find(p.choices.begin(), p.choices.end(), text) == p.choices.end())
      return false;
    *x = text;
    return true;
  }
  bool operator()(std::vector<std::string>* x) const { return x->emplace_back(text), true; }
  bool operator()(Numbers* x) const {
    std::vector<double> values = number_list(p.name, text, p.least, p.most, p.counted);
    x->values = std::move(values);
    const bool letters = p.counted && text.find_first_of("kKMG") != text.npos;
    x->spelled = letters ? "" : text;  // a result keeps the numbers themselves
    return true;
  }
  bool operator()(Rows* x) const {
    Rows rows;
    for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
      const std::size_t end = std::min(text.find(';', begin), text.size());
      rows.values.push_back(number_list(p.name, text.substr(begin, end - begin), p.least, p.most));
      begin = end + 1;
    }
    *x = std::move(rows);
    return true;
  }
  bool operator()(const EnumSlot& slot) const {
    if (slot.optional && text == p.none) return slot.set(slot.target, slot.names.size()), true;
    const auto allowed = std::find(p.choices.begin(), p.choices.end(), text);
    if (allowed == p.choices.end()) return false;
    const auto alias = std::find_if(p.special.begin(), p.special.end(),
                                    [&](const auto& a) { return a.first == text; });
    const std::optional<std::size_t> place = alias != p.special.end()
                                                 ? static_cast<std::size_t>(alias->second)
                                                 : place_of(text, slot.names);
    return place ? (slot.set(slot.target, *place), true) : false;
  }
  bool operator()(WeightInput* x) const {
    const std::optional<WeightKind> kind = find_named<WeightKind>(text);
    const bool allowed = std::find(p.choices.begin(), p.choices.end(), text) != p.choices.end();
    if (!text.empty() && !(kind ? allowed : looks_like_file(text))) return false;
    *x = {};
    if (kind)
      x->kind = kind;
    else
      x->given.name = text;
    return true;
  }
  template <class Input>  // a file
  bool operator()(Input* x) const {
    *x = {};
    x->name = text;
    return true;
  }
};

/// The value of each type as text.
struct Writer {
  const Parameter& p;

  std::string number(double x) const {
    for (const auto& [word, value] : p.special)
      if (x == value) return word;
    return spelled(x);
  }
  std::string number(std::uint64_t x) const { return fmt::format("{}", x); }

  std::string operator()(const double* x) const { return number(*x); }
  std::string operator()(const std::uint64_t* x) const { return number(*x); }
  template <class T>
  std::string operator()(const std::optional<T>* x) const {
    return *x ? number(**x) : p.none;
  }
  std::string operator()(const bool* x) const { return *x ? "true" : "false"; }
  std::string operator()(const std::string* x) const { return *x; }
  std::string operator()(const std::vector<std::string>* x) const {
    return fmt::format("{}", fmt::join(*x, " "));
  }
  static std::string joined(const std::vector<double>& values) {
    std::vector<std::string> words;
    for (const double x : values) words.push_back(spelled(x));
    return fmt::format("{}", fmt::join(words, ","));
  }
  std::string operator()(const Numbers* x) const {
    return x->spelled.empty() ? joined(x->values) : x->spelled;
  }
  std::string operator()(const Rows* x) const {
    std::vector<std::string> rows;
    for (const std::vector<double>& row : x->values) rows.push_back(joined(row));
    return fmt::format("{}", fmt::join(rows, ";"));
  }
  std::string operator()(const EnumSlot& slot) const {
    const std::size_t place = slot.get(slot.target);
    return place < slot.names.size() ? std::string(slot.names[place]) : p.none;
  }
  std::string operator()(const WeightInput* x) const {
    if (x->kind) return std::string(name(*x->kind));
    return (*this)(&x->given);
  }
  std::string operator()(const ArrayInput* x) const {
    return x->array && x->name.empty() ? "(an array)" : x->name;
  }
  std::string operator()(const ProblemInput* x) const {
    return x->problem && x->name.empty() ? "(a problem)" : x->name;
  }
  std::string operator()(const RunInput* x) const { return x->name; }
  std::string operator()(const ModelInput* x) const {
    return x->model && x->name.empty() ? "(a model)" : x->name;
  }
  std::string operator()(const ArchitectureInput* x) const {
    return x->architecture && x->name.empty() ? "(an architecture)" : x->name;
  }
  std::string operator()(const TextInput* x) const {
    return x->text && x->name.empty() ? "(a text)" : x->name;
  }
};

}  // namespace

// ---- In a list.

Parameter& Parameter::within(double low, double high) {
  least = low, most = high;
  return *this;
}
Parameter& Parameter::at_least(double low) {
  least = low;
  return *this;
}
Parameter& Parameter::above(double low, double high) {
  above_least = true;
  return within(low, high);
}
Parameter& Parameter::between(double low, double high) {
  below_most = true;
  return above(low, high);
}
Parameter& Parameter::allow(std::string text) {
  words = std::move(text);
  return *this;
}
Parameter& Parameter::otherwise(std::string word) {
  none = std::move(word);
  return *this;
}
Parameter& Parameter::special_value(std::string word, double value) {
  if (std::holds_alternative<EnumSlot>(target)) choices.push_back(word);
  special.emplace_back(std::move(word), value);
  return *this;
}
Parameter& Parameter::among(std::vector<std::string> only) {
  choices = std::move(only);
  return *this;
}
Parameter& Parameter::suggest(std::vector<std::string> some) {
  suggested = std::move(some);
  return *this;
}
Parameter& Parameter::first() {
  positional = true;
  return *this;
}
Parameter& Parameter::counts() {
  counted = true;
  return *this;
}
Parameter& Parameter::not_stored() {
  stored = false;
  return *this;
}
Parameter& Parameter::written() {
  output = true;
  return *this;
}
Parameter& Parameter::not_empty() {
  named = true;
  return *this;
}
Parameter& Parameter::used_by(std::string parameter, std::vector<std::string> values) {
  use = Use{std::move(parameter), std::move(values)};
  return *this;
}
Parameter& Parameter::or_array(std::string parameter, std::string with, std::string value) {
  array = Instead{std::move(parameter), std::move(with), std::move(value)};
  return *this;
}
Parameter& Parameter::used_if(bool used, std::string need) {
  if (!used) needs = std::move(need);
  return *this;
}

Parameter& ParameterList::append(std::string name, Parameter::Target target, std::string help) {
  push_back({.name = std::move(name),
             .group = group_,
             .help = std::move(help),
             .target = std::move(target)});
  Parameter& made = back();
  const auto all = [&](std::span<const std::string_view> names) {
    made.choices.assign(names.begin(), names.end());
  };
  if (const auto* slot = std::get_if<EnumSlot>(&made.target)) {
    all(slot->names);
    if (slot->optional) made.none = "auto";
  }
  if (std::holds_alternative<std::optional<double>*>(made.target) ||
      std::holds_alternative<std::optional<std::uint64_t>*>(made.target))
    made.none = "auto";
  made.counted = made.is_whole();
  if (std::holds_alternative<WeightInput*>(made.target)) all(names(WeightKind{}));
  return made;
}

void ParameterList::short_help(std::initializer_list<std::string_view> names) {
  for (Parameter& p : *this) p.common = p.positional;
  for (const std::string_view name : names) {
    const auto at =
        std::find_if(begin(), end(), [&](const Parameter& p) { return p.name == name; });
    assert(at != end());
    if (at != end()) at->common = true;
  }
}

// ---- Values.

std::string Parameter::allowed() const {
  const auto or_none = [&](const std::string& text) {
    std::string words_first = none;
    for (const auto& [word, value] : special)
      words_first += (words_first.empty() ? "" : ", ") + word;
    return words_first.empty() ? text : words_first + ", or " + text;
  };
  if (!words.empty()) return words;
  if (const auto* slot = std::get_if<EnumSlot>(&target)) {
    std::vector<std::string> all = choices;
    if (slot->optional) all.insert(all.begin(), none);
    return fmt::format("{}", fmt::join(all, ", "));
  }
  if (std::holds_alternative<WeightInput*>(target))
    return fmt::format("{}, or a file: {}", fmt::join(choices, ", "), kArrayFiles);
  if (std::holds_alternative<ArrayInput*>(target)) return std::string(kArrayFiles);
  if (std::holds_alternative<ModelInput*>(target))
    return "a folder with config.json, .safetensors, .onnx, or a file of llama2.c";
  if (std::holds_alternative<ArchitectureInput*>(target)) return "a config.json";
  if (std::holds_alternative<TextInput*>(target)) return "a file of text";
  if (!choices.empty()) return fmt::format("{}", fmt::join(choices, ", "));
  if (is_flag()) return "true, false";
  if (std::holds_alternative<std::string*>(target)) return "text";
  if (std::holds_alternative<Numbers*>(target)) return allowed_numbers(least, most);
  const bool whole_number = is_whole();
  const std::string kind = whole_number ? "whole number, " : "";
  const double low = whole_number ? std::max(0.0, least) : least;
  if (whole_number && std::isinf(most))
    return or_none(kind +
                   fmt::format("{} to 2^64 - 1 (from 2^53 on written out in full)", spelled(low)));
  if (std::isinf(low) && std::isinf(most)) return or_none(kind + "any finite number");
  if (std::isinf(most))
    return or_none(kind + fmt::format("{} {}", above_least ? "above" : "at least", spelled(low)));
  if (above_least && below_most)
    return or_none(kind + fmt::format("above {} and below {}", spelled(low), spelled(most)));
  return or_none(
      kind + fmt::format("{}{} to {}", above_least ? "above " : "", spelled(low), spelled(most)));
}

void Parameter::set(std::string_view text) const {
  if (!is_one_line(text))
    throw Error(
        fmt::format("{} holds a control character or is not UTF-8; allowed: {}", name, allowed()));
  if (named && text.empty()) throw Error(fmt::format("{} is empty; it needs a name", name));
  if (!std::visit(Reader{*this, text}, target))
    throw Error(fmt::format("{} = '{}' is not allowed; allowed: {}", name, text, allowed()));
}

void Parameter::check_value() const {
  const auto number_of = [](const Target& t) -> std::optional<double> {
    if (auto* const* x = std::get_if<double*>(&t)) return **x;
    if (auto* const* x = std::get_if<std::uint64_t*>(&t)) return static_cast<double>(**x);
    if (auto* const* x = std::get_if<std::optional<double>*>(&t)) return **x;
    if (auto* const* x = std::get_if<std::optional<std::uint64_t>*>(&t); x && **x)
      return static_cast<double>(***x);
    return {};
  };
  const auto refuse = [&] {
    throw Error(
        fmt::format("{} = '{}' is not allowed; allowed: {}", name, this->text(), allowed()));
  };
  if (const std::optional<double> x = number_of(target)) {
    const bool named_value = std::any_of(special.begin(), special.end(),
                                         [&](const auto& known) { return known.second == *x; });
    if (!named_value && !in_range(*this, *x)) refuse();
  }
  const auto require_chosen = [&](std::string_view word) {
    if (std::find(choices.begin(), choices.end(), word) == choices.end()) refuse();
  };
  if (const auto* slot = std::get_if<EnumSlot>(&target))
    if (const std::size_t place = slot->get(slot->target); place < slot->names.size())
      require_chosen(slot->names[place]);
  if (auto* const* x = std::get_if<std::string*>(&target); x && !choices.empty())
    require_chosen(**x);
  if (auto* const* x = std::get_if<WeightInput*>(&target); x && (*x)->kind)
    require_chosen(attractor::name(*(*x)->kind));
  const auto require_listed = [&](const std::vector<double>& values) {
    for (const double x : values)
      if (!std::isfinite(x) || !(x >= least && x <= most))
        throw Error(fmt::format("{} holds '{}', which is not allowed; allowed: {}", name,
                                spelled(x), allowed_numbers(least, most)));
  };
  if (auto* const* x = std::get_if<Numbers*>(&target)) require_listed((*x)->values);
  if (auto* const* x = std::get_if<Rows*>(&target))
    for (const std::vector<double>& row : (*x)->values) require_listed(row);
}

std::string Parameter::text() const { return std::visit(Writer{*this}, target); }

Json Parameter::json() const {
  // A number that has a name is called by it.
  const auto real = [&](double x) {
    const bool has_name = std::any_of(special.begin(), special.end(),
                                      [&](const auto& word) { return word.second == x; });
    return std::isfinite(x) && !has_name ? Json(x) : Json(text());
  };
  if (auto* const* x = std::get_if<double*>(&target)) return real(**x);
  if (auto* const* x = std::get_if<std::uint64_t*>(&target)) return **x;
  if (auto* const* x = std::get_if<std::optional<double>*>(&target); x && **x) return real(***x);
  if (auto* const* x = std::get_if<std::optional<std::uint64_t>*>(&target); x && **x) return ***x;
  if (is_flag()) return *std::get<bool*>(target);
  return text();
}

// ---- Lists.

const Parameter& find(const ParameterList& list, std::string_view name) {
  const auto at =
      std::find_if(list.begin(), list.end(), [&](const Parameter& p) { return p.name == name; });
  if (at != list.end()) return *at;
  std::vector<std::string> names;
  for (const Parameter& p : list) names.push_back(p.name);
  throw Error(
      fmt::format("'{}' is no parameter (run options such as out are flags only); allowed: {}",
                  name, fmt::join(names, ", ")));
}

Json stored_json(const ParameterList& list) {
  Json json = Json::object();
  for (const Parameter& p : list)
    if (p.stored) json[p.name] = p.json();
  return json;
}

void check_use(const ParameterList& list, const std::vector<std::string>& given) {
  const auto either = [](const std::vector<std::string>& values) {
    if (values.size() == 1) return values.front();
    const std::vector<std::string> first(values.begin(), values.end() - 1);
    return fmt::format("{} or {}", fmt::join(first, ", "), values.back());
  };
  for (const std::string& name : given) {
    const Parameter& p = find(list, name);
    if (!p.needs.empty()) throw Error(fmt::format("{} has no effect without {}", name, p.needs));
    if (!p.use) continue;
    const std::string present = find(list, p.use->parameter).text();
    if (std::find(p.use->values.begin(), p.use->values.end(), present) == p.use->values.end())
      throw Error(fmt::format("{} is used by {} {} only, not by {} {}", name, p.use->parameter,
                              either(p.use->values), p.use->parameter, present));
  }
}

void check_values(const ParameterList& list) {
  for (const Parameter& p : list) p.check_value();
}

std::vector<std::string> differing(const ParameterList& now, const ParameterList& usual) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < now.size(); ++k)
    if (now[k].text() != usual[k].text()) names.push_back(now[k].name);
  return names;
}

std::string shell_word(const std::string& text) {
  const bool plain = text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,+-_/:") ==
                     std::string::npos;
  if (plain) return text;
  std::string quoted = text;
  for (std::size_t at = 0; (at = quoted.find('\'', at)) != std::string::npos; at += 4)
    quoted.replace(at, 1, "'\\''");
  return "'" + quoted + "'";
}

std::string command_line(const std::string& program, const ParameterList& now,
                         const ParameterList& usual) {
  std::string first = program, flags;
  for (std::size_t k = 0; k < now.size(); ++k) {
    const std::string value = now[k].text();
    if (value == usual[k].text() || !now[k].stored) continue;
    if (now[k].positional)  // a name that looks like a flag needs its place
      first += " " + shell_word(value.starts_with("-") ? "./" + value : value);
    else
      flags += now[k].is_flag() ? fmt::format(" --{}", now[k].name)
                                : fmt::format(" --{} {}", now[k].name, shell_word(value));
  }
  return first + flags;
}

}  // namespace attractor::lab
