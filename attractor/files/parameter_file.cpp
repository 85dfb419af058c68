#include "attractor/files/parameter_file.hpp"

#include <fmt/format.h>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/toml_text.hpp"
#include "attractor/lab/number_list.hpp"

namespace attractor::lab {
namespace {

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

}  // namespace

std::string set_from_toml(const ParameterList& list, const std::string& file) {
  const toml::table table = parse_toml(read_file(file, 1 << 20), file);
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
