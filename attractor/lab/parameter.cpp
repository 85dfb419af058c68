#include "attractor/lab/parameter.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/lab/json.hpp"

namespace attractor::lab {
namespace {

std::string spelled(double x) {
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return fmt::format("{}", x);
}

template <class Number>
bool parse(std::string_view text, Number& value) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// Whole numbers may be written like 1e6.
bool parse_whole(std::string_view text, std::uint64_t& value) {
  if (parse(text, value)) return true;
  double x = 0;
  if (!parse(text, x) || !(x >= 0 && x < 0x1p53) || x != std::floor(x)) return false;
  value = static_cast<std::uint64_t>(x);
  return true;
}

void set_from_node(const Parameter& parameter, const toml::node& node) {
  if (const auto text = node.value_exact<std::string>())
    parameter.set(*text);
  else if (const auto whole = node.value_exact<std::int64_t>())
    parameter.set(fmt::format("{}", *whole));
  else if (const auto real = node.value_exact<double>())
    parameter.set(spelled(*real));
  else if (const auto flag = node.value_exact<bool>(); flag && parameter.is_flag())
    parameter.set(*flag ? "true" : "false");
  else
    throw Error(fmt::format("{} must be a number or a text; tables and lists are not used here",
                            parameter.name));
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

}  // namespace

bool parse_real(std::string_view text, double& value) { return parse(text, value); }

std::string Parameter::allowed() const {
  if (!choices.empty()) return fmt::format("{}", fmt::join(choices, ", "));
  if (!words.empty()) return words;
  if (is_flag()) return "true, false";
  if (std::holds_alternative<std::string*>(target)) return "text";
  const std::string kind = std::holds_alternative<std::uint64_t*>(target) ? "whole number, " : "";
  const double low = std::holds_alternative<std::uint64_t*>(target) ? std::max(0.0, least) : least;
  if (kind != "" && std::isinf(most))
    return kind + fmt::format("{} to 2^64 - 1 (from 2^53 on written out in full)", spelled(low));
  if (std::isinf(low) && std::isinf(most)) return kind + "any finite number";
  if (std::isinf(most))
    return kind + fmt::format("{} {}", above_least ? "above" : "at least", spelled(low));
  return kind + fmt::format("{}{} to {}", above_least ? "above " : "", spelled(low), spelled(most));
}

void Parameter::set(std::string_view text) const {
  const auto refuse = [&] {
    throw Error(fmt::format("{} = '{}' is not allowed; allowed: {}", name, text, allowed()));
  };
  const auto in_range = [&](double x) {
    return x <= most && (above_least ? x > least : x >= least);
  };
  if (auto* const* real = std::get_if<double*>(&target)) {
    double x = 0;
    const bool any_finite = std::isinf(least) && std::isinf(most);
    if (!parse(text, x) || !in_range(x) || (any_finite && std::isinf(x))) refuse();
    **real = x;
  } else if (auto* const* whole = std::get_if<std::uint64_t*>(&target)) {
    std::uint64_t x = 0;
    if (!parse_whole(text, x) || !in_range(static_cast<double>(x))) refuse();
    **whole = x;
  } else if (auto* const* flag = std::get_if<bool*>(&target)) {
    if (text != "true" && text != "false") refuse();
    **flag = text == "true";
  } else {
    if (!is_one_line(text))
      throw Error(fmt::format("{} holds a control character or is not UTF-8; allowed: {}", name,
                              allowed()));
    if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end())
      refuse();
    *std::get<std::string*>(target) = text;
  }
}

std::string Parameter::text() const {
  if (auto* const* real = std::get_if<double*>(&target)) return spelled(**real);
  if (auto* const* whole = std::get_if<std::uint64_t*>(&target)) return fmt::format("{}", **whole);
  if (is_flag()) return *std::get<bool*>(target) ? "true" : "false";
  return *std::get<std::string*>(target);
}

Json Parameter::json() const {
  if (auto* const* real = std::get_if<double*>(&target))
    return std::isfinite(**real) ? Json(**real) : Json(spelled(**real));
  if (auto* const* whole = std::get_if<std::uint64_t*>(&target)) return **whole;
  if (is_flag()) return *std::get<bool*>(target);
  return *std::get<std::string*>(target);
}

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
    if (now[k].positional)
      first += " " + shell_word(value);
    else
      flags += now[k].is_flag() ? fmt::format(" --{}", now[k].name)
                                : fmt::format(" --{} {}", now[k].name, shell_word(value));
  }
  return first + flags;
}

std::string set_from_toml(const ParameterList& list, const std::string& file) {
  const std::string content = read_file(file, 1 << 20);
  toml::table table;
  try {
    table = toml::parse(content, file);
  } catch (const toml::parse_error& error) {
    throw Error(
        fmt::format("{}, line {}: {}", file, error.source().begin.line, error.description()));
  }
  std::string started_in;
  for (const auto& [key, node] : table) {
    if (key.str() == "started-in" && node.is_string()) {
      started_in = node.ref<std::string>();
      continue;
    }
    if ((key.str() == "command" && node.is_string()) || (key.str() == "inputs" && node.is_table()))
      continue;  // of run directories (run_directory.hpp)
    try {
      set_from_node(find(list, key.str()), node);
    } catch (const Error& error) {
      throw Error(fmt::format("{}, line {}: {}", file, node.source().begin.line, error.what()));
    }
  }
  return started_in;
}

}  // namespace attractor::lab
