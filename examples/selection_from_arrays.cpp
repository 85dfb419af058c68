// Which token does training select, and how sure is that? Arrays in, a record out, no file. The
// widest margin of token 0 = (1, 0) over (0, 1) and (0, 0) asks for p_1 - p_2 >= 1 and p_1 >= 1:
// the shortest such p is (1, 0).
#include <fmt/format.h>

#include <cmath>

#include "attractor/attractor.hpp"

int main() {
  using namespace attractor;
  training::Problem problem{.inputs = 1, .tokens = 3, .dim = 2};
  problem.x = {1, 0, 0, 1, 0, 0};
  problem.labels = {1};
  problem.head.v = {1, -0.5};  // scores 1, -0.5, 0: token 0 is best
  problem.prompt = {0, 0};

  lab::SelectSetup setup;
  setup.data.problem = std::make_shared<training::Problem>(problem);
  setup.steps = 20000;
  const lab::SelectRecord r = lab::run_select(setup, {});
  const std::vector<double>& p = r.weights;
  fmt::print(
      "token {} with weight {:.6f}; p = ({:.3f}, {:.3f}), its lead {:.4f} of at most {:.4f}\n",
      r.selected[0], r.softmax_min, p[0], p[1], r.leads[0], 1 / r.svm->norm);
  fmt::print("the shortest p that leads by one: ({:.12f}, {:.12f}), length {:.12f}\n",
             r.svm->solution[0], r.svm->solution[1], r.svm->norm);
  const bool widest = std::abs(r.svm->solution[0] - 1) < 1e-12 && std::abs(r.svm->norm - 1) < 1e-12;
  return r.selected[0] == 0 && widest && p[0] / std::hypot(p[0], p[1]) > 0.99 ? 0 : 1;
}
