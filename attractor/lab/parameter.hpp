// Parameters, listed once: name, help, what is allowed, default. The list drives the command line,
// TOML, the parameters stored with a result and the documentation, and every value enters through
// set(), so that all of them accept the same words and refuse with the same sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attractor::lab {

class Json;  // json.hpp

struct Parameter {
  using Target = std::variant<double*, std::uint64_t*, std::string*, bool*>;

  std::string name;   // as on the command line, without dashes
  std::string group;  // heading in --help
  std::string help;
  Target target;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool above_least = false;          // the lower end itself is not allowed
  std::vector<std::string> choices;  // texts only
  std::string words;                 // extra words a text parameter takes, for the help
  bool positional = false;           // given without its name, in the order of the list
  bool stored = true;                // part of what a result is a result of

  bool is_flag() const { return std::holds_alternative<bool*>(target); }
  /// Range or choices in words, for help and messages.
  std::string allowed() const;
  /// Parses and checks; throws Error naming the parameter, the value and what is allowed.
  void set(std::string_view text) const;
  /// The present value as text that set() takes back exactly.
  std::string text() const;
  Json json() const;
};

/// A number as every parameter spells it: nothing before or after it, independent of the locale.
bool parse_real(std::string_view text, double& value);

using ParameterList = std::vector<Parameter>;

/// The command line that sets what differs between `now` and `usual` (the same list, elsewhere) and
/// is stored with results.
std::string command_line(const std::string& program, const ParameterList& now,
                         const ParameterList& usual);
/// Text as one word of a shell.
std::string shell_word(const std::string& text);

const Parameter& find(const ParameterList& list, std::string_view name);

/// Sets every key of a TOML file; throws Error on a syntax error, an unknown key or a bad value.
/// The key `started-in` (written by run directories) is returned: relative files are meant from
/// there.
std::string set_from_toml(const ParameterList& list, const std::string& file);

}  // namespace attractor::lab
