// The functions that the worker's script calls. Texts are UTF-8 with a zero at the end; what is
// returned stays until the next call.
#include <string>

#include "web/core/calls.hpp"

namespace {

attractor::web::Core& core() {
  static attractor::web::Core one;
  return one;
}

std::string last;

}  // namespace

extern "C" {

const char* lab_call(const char* request) {
  last = core().call(request);
  return last.c_str();
}
const double* lab_positions() { return core().positions().data(); }
unsigned lab_positions_size() { return static_cast<unsigned>(core().positions().size()); }
const unsigned* lab_clusters() { return core().clusters().data(); }
unsigned lab_clusters_size() { return static_cast<unsigned>(core().clusters().size()); }
}
