// Every experiment of the catalogue: one function, defined in the file of the same name.
#pragma once

#include "experiments/catalogue.hpp"

namespace attractor::experiments {

Entry phase_circle();

}  // namespace attractor::experiments
