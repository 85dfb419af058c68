// Any text for any parameter: set, or refused with an Error; what was set is taken back exactly.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/lab/flow/flow_setup.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attractor::lab;
  if (size == 0) return 0;
  FlowSetup parameters;
  const ParameterList all = list(parameters);
  const Parameter& parameter = all[data[0] % all.size()];
  try {
    parameter.set(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
    const std::string text = parameter.text();
    parameter.set(text);
    if (parameter.text() != text) std::abort();
    check(parameters);
    if (command(parameters).empty()) std::abort();
  } catch (const attractor::Error&) {
  }
  return 0;
}
