#include "attractor/flow/status.hpp"

namespace attractor::flow {

std::string_view name(Status status) {
  switch (status) {
    case Status::complete:
      return "complete";
    case Status::collapsed:
      return "collapsed";
    case Status::interrupted:
      return "interrupted";
    case Status::at_equilibrium:
      return "at_equilibrium";
    case Status::step_underflow:
      return "step_underflow";
    case Status::too_many_steps:
      return "too_many_steps";
    case Status::too_stiff:
      return "too_stiff";
    case Status::not_finite:
      return "not_finite";
  }
  return "unknown";
}

std::string_view remedy(Status status) {
  switch (status) {
    case Status::complete:
    case Status::collapsed:
      return "";
    case Status::interrupted:
      return "continue from its checkpoint";
    case Status::at_equilibrium:
      return "the tokens balance each other to within rounding; move one of them a little, or "
             "give a finite time";
    case Status::step_underflow:
      return "the motion became too fast or too jumpy to resolve; loosen tolerance, shorten "
             "time, stay on the sphere, or take fixed steps (stepper euler) where attention "
             "switches between tokens";
    case Status::too_many_steps:
      return "raise max-steps, loosen tolerance or shorten time";
    case Status::too_stiff:
      return "what holds the state is 10^8 times as fast as what still moves it; shorten time";
    case Status::not_finite:
      return "shorten time, lower beta, gains or weights, or stay on the sphere";
  }
  return "";
}

}  // namespace attractor::flow
