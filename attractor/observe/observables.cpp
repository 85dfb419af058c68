#include "attractor/observe/observables.hpp"

namespace attractor::observe {

const std::vector<Observable>& observables() {
  static const std::vector<Observable> list = {};
  return list;
}

}  // namespace attractor::observe
