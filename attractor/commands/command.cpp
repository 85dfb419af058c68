#include "attractor/commands/command.hpp"

#include <fmt/format.h>

#include "attractor/base/error.hpp"
#include "attractor/lab/parameter.hpp"

namespace attractor::lab {

Call call_of(const Command& command, Request& now, Request& usual) {
  return {
      .program = "attractor " + command.name, .now = now.parameters(), .usual = usual.parameters()};
}

std::unique_ptr<Request> request_of(const Command& command, const Settings& settings) {
  std::unique_ptr<Request> request = command.make();
  const ParameterList parameters = request->parameters();
  for (const auto& [name, text] : settings) find(parameters, name).set(text);
  return request;
}

void Request::observe(observe::Observable own) {
  throw Error(
      fmt::format("'{}' cannot be measured: only flow takes observables of its caller", own.name));
}

void prepare(Request& request, const std::vector<std::string>& given) {
  const ParameterList list = request.parameters();
  check_use(list, given);
  check_values(list);
  request.prepare(given);
}

}  // namespace attractor::lab
