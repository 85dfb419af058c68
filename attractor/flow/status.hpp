// How a run ended. Everything but `complete`, `collapsed` and `interrupted` means that the numerics
// could not deliver what was asked; remedy() says what to change.
#pragma once

#include <string_view>

namespace attractor::flow {

enum class Status {
  complete,        // the requested time was reached
  collapsed,       // one cluster is left
  interrupted,     // stopped on request; can be resumed
  at_equilibrium,  // the drift is zero or stays at its rounding, but several clusters are left
  step_underflow,  // the step fell below what the precision of the state can resolve
  too_many_steps,  // the step limit was reached
  too_stiff,       // so was it; what holds the state is faster than what moves it by too much
  not_finite,      // the state left the range of double precision
};

std::string_view name(Status status);
std::string_view remedy(Status status);
constexpr bool delivered(Status s) { return s == Status::complete || s == Status::collapsed; }

}  // namespace attractor::flow
