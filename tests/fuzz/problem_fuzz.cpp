// libFuzzer: any bytes are either a problem that its own JSON gives back bit for bit, or an Error.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/files/problem_file.hpp"

namespace {

using namespace attractor::training;

void require_same(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) std::abort();
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::bit_cast<std::uint64_t>(a[k]) != std::bit_cast<std::uint64_t>(b[k])) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Problem p;
  try {
    p = parse_problem(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const attractor::Error&) {
    return 0;
  }
  const Problem q = parse_problem(to_json(p), "fuzz");
  require_same(p.x, q.x);
  require_same(p.labels, q.labels);
  require_same(p.prompt, q.prompt);
  require_same(p.weights, q.weights);
  require_same(p.queries, q.queries);
  require_same(p.key_factor, q.key_factor);
  require_same(p.query_factor, q.query_factor);
  require_same(p.head.v, q.head.v);
  require_same(p.head.hidden, q.head.hidden);
  require_same(p.head.bias, q.head.bias);
  if (p.head.penalty != q.head.penalty || p.head.activation != q.head.activation) std::abort();
  return 0;
}
