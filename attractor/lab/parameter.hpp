// Parameters, listed once: name, help, what is allowed, default, when it is used. A list is bound
// to the members of a setup, each of its own type:
//
//   ParameterList list(StabilitySetup& s) {
//     ParameterList p;
//     p.group("Model");
//     p.add("mask", s.mask, "tokens that attend").among({MaskKind::full, MaskKind::causal});
//     p.add("beta", s.beta, "inverse temperature").within(0, 1e6);
//     p.add("merge-radius", s.merge_radius, "...").within(1e-12, 0.01);   // optional: "auto"
//     p.add("rho", s.rho, "common cosine").within(-1, 1).used_by("init", {"equiangular"});
//
// The list drives the command line, TOML, sweeps, what is stored with a result, and documentation;
// words enter through set(), so that all of them accept the same ones and refuse with the same
// sentence. Values that a program puts into a setup itself are held against the same list by
// check_values().
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attractor/base/named.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/lab/inputs.hpp"

namespace attractor::lab {

class Json;  // json.hpp

/// An enumerator somewhere, by its number.
struct EnumSlot {
  void* target = nullptr;
  std::size_t (*get)(const void*) = nullptr;
  void (*set)(void*, std::size_t) = nullptr;
  std::span<const std::string_view> names{};
  bool optional = false;  // one past the last name is no enumerator
};

struct Parameter {
  using Target =
      std::variant<double*, std::uint64_t*, std::string*, bool*, std::optional<double>*,
                   std::optional<std::uint64_t>*, Numbers*, Rows*, std::vector<std::string>*,
                   EnumSlot, ArrayInput*, WeightInput*, ProblemInput*, RunInput*, ModelInput*,
                   ArchitectureInput*, TextInput*>;

  std::string name;   // as on the command line, without dashes
  std::string group;  // heading in --help
  std::string help;
  Target target;
  double least = -kInfinity;
  double most = kInfinity;
  bool above_least = false;            // the lower end itself is not allowed
  bool below_most = false;             // nor the upper one
  std::vector<std::string> choices;    // the words that are allowed, where others are not
  std::vector<std::string> suggested;  // words that a shell may offer; whether they are allowed is
                                       // found out later
  std::string words;                   // what is allowed, if it takes more to say
  std::string none;                    // an optional: the word for no value
  std::vector<std::pair<std::string, double>> special;  // numbers that have a name
  bool positional = false;                              // given without its name, in this order
  bool counted = false;                                 // a number of things: "128k" is allowed
  bool common = true;                                   // in the short help
  bool stored = true;                                   // part of what a result is a result of
  bool output = false;                                  // names a file that is written
  bool named = false;                                   // a text that must not be empty
  /// It has an effect only if that parameter has one of these values.
  struct Use {
    std::string parameter;
    std::vector<std::string> values;
  };
  std::optional<Use> use;
  /// An array that is given here, by who has arrays and not words, is meant for `parameter`, and
  /// `with` is then `value`.
  struct Instead {
    std::string parameter, with, value;
  };
  std::optional<Instead> array;
  std::string needs;  // what is missing for it to have an effect, if something is

  // ---- In a list.
  Parameter& within(double low, double high);
  Parameter& at_least(double low);
  Parameter& above(double low, double high = kInfinity);
  /// Both ends excluded.
  Parameter& between(double low, double high);
  Parameter& allow(std::string text);                        // `words`
  Parameter& otherwise(std::string word);                    // `none`
  Parameter& special_value(std::string word, double value);  // `special`
  Parameter& among(std::vector<std::string> only);           // `choices`
  Parameter& suggest(std::vector<std::string> some);         // `suggested`
  Parameter& first();                                        // positional
  Parameter& counts();                                       // `counted`; whole numbers are
  Parameter& not_stored();
  Parameter& written();    // `output`
  Parameter& not_empty();  // `named`
  Parameter& used_by(std::string parameter, std::vector<std::string> values);
  Parameter& used_if(bool used, std::string need);
  Parameter& or_array(std::string parameter, std::string with, std::string value);  // `array`
  template <NamedEnum E>
  Parameter& among(std::initializer_list<E> only) {
    choices.clear();
    for (const E e : only) choices.emplace_back(attractor::name(e));
    return *this;
  }

  bool is_flag() const { return std::holds_alternative<bool*>(target); }
  bool is_whole() const {
    return std::holds_alternative<std::uint64_t*>(target) ||
           std::holds_alternative<std::optional<std::uint64_t>*>(target);
  }
  /// set() adds a word to a list.
  bool many() const { return std::holds_alternative<std::vector<std::string>*>(target); }
  /// Range or choices in words, for help and messages.
  std::string allowed() const;
  /// Parses and checks; throws Error naming the parameter, the value and what is allowed.
  void set(std::string_view text) const;
  /// Throws Error, as set() would with its text, if the present value is not allowed.
  void check_value() const;
  /// The present value as text that set() takes back exactly.
  std::string text() const;
  Json json() const;
};

class ParameterList : public std::vector<Parameter> {
 public:
  using std::vector<Parameter>::vector;

  /// Heading of what is added from now on.
  ParameterList& group(std::string heading) {
    group_ = std::move(heading);
    return *this;
  }
  template <class T>
  Parameter& add(std::string name, T& target, std::string help) {
    return append(std::move(name), &target, std::move(help));
  }
  template <NamedEnum E>
  Parameter& add(std::string name, E& target, std::string help) {
    EnumSlot slot{
        .target = &target,
        .get = [](const void* p) { return static_cast<std::size_t>(*static_cast<const E*>(p)); },
        .set = [](void* p, std::size_t k) { *static_cast<E*>(p) = static_cast<E>(k); },
        .names = names(E{})};
    Parameter& made = append(std::move(name), slot, std::move(help));
    if constexpr (requires { aliases(E{}); })
      for (const auto& [word, e] : aliases(E{}))
        made.special_value(std::string(word), static_cast<double>(e));
    return made;
  }
  template <NamedEnum E>
  Parameter& add(std::string name, std::optional<E>& target, std::string help) {
    EnumSlot slot{.target = &target,
                  .get =
                      [](const void* p) {
                        const auto& e = *static_cast<const std::optional<E>*>(p);
                        return e ? static_cast<std::size_t>(*e) : names(E{}).size();
                      },
                  .set =
                      [](void* p, std::size_t k) {
                        auto& e = *static_cast<std::optional<E>*>(p);
                        e.reset();
                        if (k < names(E{}).size()) e = static_cast<E>(k);
                      },
                  .names = names(E{}),
                  .optional = true};
    return append(std::move(name), slot, std::move(help));
  }
  /// Those that most users want; the others are in the long help only. Without it, all are.
  void short_help(std::initializer_list<std::string_view> names);
  /// All of another list.
  void append(const ParameterList& more) { insert(end(), more.begin(), more.end()); }

 private:
  Parameter& append(std::string name, Parameter::Target target, std::string help);
  std::string group_;
};

/// Name of a parameter, its text.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// The command line that sets what differs between `now` and `usual` (the same list, elsewhere) and
/// is stored with results.
std::string command_line(const std::string& program, const ParameterList& now,
                         const ParameterList& usual);
/// Text as one word of a shell.
std::string shell_word(const std::string& text);

const Parameter& find(const ParameterList& list, std::string_view name);

/// Those that a result keeps, by name.
Json stored_json(const ParameterList& list);
/// The same of a setup.
template <class Setup>
auto stored_json(Setup setup) {
  return stored_json(list(setup));
}

/// Refuses parameters that were given and have no effect beside the others.
void check_use(const ParameterList& list, const std::vector<std::string>& given);
/// Refuses values that a program has put in and that are not allowed.
void check_values(const ParameterList& list);
/// The names of those whose values differ.
std::vector<std::string> differing(const ParameterList& now, const ParameterList& usual);

/// Both for a setup with a list(): what differs from the default counts as given.
template <class Setup>
void check_setup(const Setup& setup) {
  Setup now = setup, usual;
  const ParameterList parameters = list(now);
  check_values(parameters);
  check_use(parameters, differing(parameters, list(usual)));
}

}  // namespace attractor::lab
