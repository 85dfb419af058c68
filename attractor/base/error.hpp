// Bad input. The message is one sentence that names the value and what is allowed; the command line
// prints it and ends with status 2. Numerical outcomes are not errors: see flow/status.hpp.
#pragma once

#include <stdexcept>

namespace attractor {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace attractor
