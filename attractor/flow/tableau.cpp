#include "attractor/flow/tableau.hpp"

#include <algorithm>

namespace attractor::flow {
namespace {

std::vector<double> linear(double theta) { return {theta}; }

// The cubic that matches the four order conditions up to order 3 for every theta.
std::vector<double> kutta_cubic(double t) {
  const double middle = t * t - 2 * t * t * t / 3;
  return {t - 1.5 * t * t + 2 * t * t * t / 3, middle, middle, -0.5 * t * t + 2 * t * t * t / 3};
}

const std::vector<double> kDormandPrinceB = {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784,
                                             11. / 84,  0};

// Hermite cubic of both ends plus a quartic term theta^2 (1 - theta)^2 sum_s d_s k_s.
std::vector<double> dormand_prince_quartic(double t) {
  static const double d[7] = {-12715105075. / 11282082432,  0,
                              87487479700. / 32700410799,   -10690763975. / 1880347072,
                              701980252875. / 199316789632, -1453857185. / 822651844,
                              69997945. / 29380423};
  const double rest = 1 - t, cubic = t * t * rest;
  std::vector<double> weights(7);
  for (std::size_t s = 0; s < 7; ++s) {
    const double b = kDormandPrinceB[s], first = s == 0 ? 1 : 0, last = s == 6 ? 1 : 0;
    weights[s] =
        t * b + t * rest * (first - b) + cubic * (2 * b - first - last) + cubic * rest * d[s];
  }
  return weights;
}

// Of both ends; its last stage sits at the result.
std::vector<double> bogacki_shampine_cubic(double t) {
  const double b[4] = {2. / 9, 1. / 3, 4. / 9, 0}, rest = 1 - t;
  std::vector<double> weights(4);
  for (std::size_t s = 0; s < 4; ++s) {
    const double first = s == 0 ? 1 : 0, last = s == 3 ? 1 : 0;
    weights[s] = t * (b[s] + rest * (first - b[s] + t * (2 * b[s] - first - last)));
  }
  return weights;
}

}  // namespace

Tableau layers() { return {.name = "layers", .order = 1, .a = {{}}, .b = {1}, .layer_map = true}; }

Tableau euler() { return {.name = "euler", .order = 1, .a = {{}}, .b = {1}, .dense = linear}; }

Tableau euler_maruyama() {
  return {.name = "euler-maruyama", .order = 1, .a = {{}}, .b = {1}, .stochastic = true};
}

Tableau rk4() {
  return {.name = "rk4",
          .order = 4,
          .a = {{}, {0.5}, {0, 0.5}, {0, 0, 1}},
          .b = {1. / 6, 1. / 3, 1. / 3, 1. / 6},
          .dense = kutta_cubic,
          .clocked = true};
}

Tableau dormand_prince() {
  return {
      .name = "adaptive",
      .order = 5,
      .a = {{},
            {1. / 5},
            {3. / 40, 9. / 40},
            {44. / 45, -56. / 15, 32. / 9},
            {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
            {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
            {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}},
      .b = kDormandPrinceB,
      .error = {71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40},
      .dense = dormand_prince_quartic,
      .first_same_as_last = true};
}

Tableau bogacki_shampine() {
  return {.name = "adaptive3",
          .order = 3,
          .a = {{}, {1. / 2}, {0, 3. / 4}, {2. / 9, 1. / 3, 4. / 9}},
          .b = {2. / 9, 1. / 3, 4. / 9, 0},
          .error = {-5. / 72, 1. / 12, 1. / 9, -1. / 8},
          .dense = bogacki_shampine_cubic,
          .first_same_as_last = true};
}

std::span<const std::string_view> names(NoiseKind) {
  static constexpr std::string_view kNames[] = {"additive", "multiplicative"};
  return kNames;
}

std::span<const std::string_view> names(Method) {
  static constexpr std::string_view kNames[] = {"adaptive", "adaptive3", "adaptive8",     "layers",
                                                "euler",    "rk4",       "euler-maruyama"};
  return kNames;
}

Tableau tableau(Method method) {
  constexpr Tableau (*kTableaux[])() = {
      dormand_prince, bogacki_shampine, dormand_prince_8, layers, euler, rk4, euler_maruyama};
  return kTableaux[static_cast<std::size_t>(method)]();
}

std::vector<std::size_t> Tableau::places() const {
  const std::size_t all = stages() + dense_a.size();
  std::vector<std::size_t> last_use(all, 0);  // the stage that needs it last; `all`: the step's end
  const auto need = [&](const std::vector<double>& weights, std::size_t at) {
    for (std::size_t s = 0; s < weights.size(); ++s)
      if (weights[s] != 0) last_use[s] = std::max(last_use[s], at);
  };
  for (std::size_t s = 0; s < stages(); ++s) need(a[s], s);
  for (std::size_t s = 0; s < c.size(); ++s) need(c[s], s);
  for (std::size_t s = 0; s < dense_a.size(); ++s) need(dense_a[s], stages() + s);
  for (const auto* weights : {&b, &error, &error_low}) need(*weights, all);
  if (dense != nullptr)
    for (const double theta : {0.3, 0.7}) need(dense(theta), all);
  last_use[0] = all;  // a rejected step begins with it again
  if (first_same_as_last) last_use[stages() - 1] = all;
  std::vector<std::size_t> place(all), busy_until;
  for (std::size_t s = 0; s < all; ++s) {
    std::size_t free = 0;
    while (free < busy_until.size() && busy_until[free] >= s) ++free;
    if (free == busy_until.size()) busy_until.push_back(0);
    busy_until[free] = last_use[s];
    place[s] = free;
  }
  return place;
}

}  // namespace attractor::flow
