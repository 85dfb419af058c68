// Runs another program of PATH on given input, without a shell. Its three streams are unnamed
// temporary files, not pipes: nothing can block and nobody receives SIGPIPE.
#pragma once

#include <string>
#include <vector>

namespace attractor::report {

/// An executable of this name is on PATH.
bool program_available(const std::string& name);

struct ProgramResult {
  bool succeeded = false;
  std::string output, complaint;  // standard output, standard error
};

/// In a fixed locale and time zone, without variables of the environment whose names begin as one
/// of `without`. Throws Error if it cannot be started.
ProgramResult run_program(const std::string& name, const std::vector<std::string>& arguments,
                          const std::string& input, const std::vector<std::string>& without = {});

}  // namespace attractor::report
