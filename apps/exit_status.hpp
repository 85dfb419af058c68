// What the program's exit status means.
#pragma once

namespace attractor::apps {

enum ExitStatus {
  kOk = 0,
  kBadInput = 2,
  kNotDelivered = 3,  // the numerics could not deliver what was asked
  kInterrupted = 130,
};

}  // namespace attractor::apps
