// Rodas (Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.7, and their
// code of the same name): six solves a step, the last two at the result; b = a_6 and 1, the
// estimate is the last stage alone. Its continuous extension is y + theta (1 - theta) (c + theta
// d), order 3.
#include "attractor/flow/tableau.hpp"

namespace attractor::flow {
namespace {

const std::vector<double> kB = {
    0, 1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1, 1};

std::vector<double> extension(double t) {
  static const double c[7] = {0,
                              10.12623508344586,
                              -7.487995877610167,
                              -34.80091861555747,
                              -7.992771707568823,
                              1.025137723295662,
                              0};
  static const double d[7] = {0,
                              -0.6762803392801253,
                              6.087714651680015,
                              16.43084320892478,
                              24.76722511418386,
                              -6.594389125716872,
                              0};
  std::vector<double> weights(7);
  for (std::size_t s = 0; s < 7; ++s) weights[s] = t * (kB[s] + (1 - t) * (c[s] + t * d[s]));
  return weights;
}

}  // namespace

Tableau rodas() {
  return {
      .name = "rodas",
      .order = 4,
      .a = {{},
            {0},
            {0, 1.544},
            {0, 0.9466785280815826, 0.2557011698983284},
            {0, 3.314825187068521, 2.896124015972201, 0.9986419139977817},
            {0, 1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950},
            {0, 1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1}},
      .b = kB,
      .error = {0, 0, 0, 0, 0, 0, 1},
      .dense = extension,
      .gamma = 0.25,
      .c = {{},
            {0},
            {0, -5.6688},
            {0, -2.430093356833875, -0.2063599157091915},
            {0, -0.1073529058151375, -9.594562251023355, -20.47028614809616},
            {0, 7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
            {0, 8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
             -6.058818238834054}}};
}

}  // namespace attractor::flow
