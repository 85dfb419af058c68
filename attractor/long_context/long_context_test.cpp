#include "attractor/long_context/long_context.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "attractor/base/error.hpp"
#include "tests/support/context_layers.hpp"

namespace attractor::meanfield {
namespace {

constexpr ContextPhase kCollapse = ContextPhase::collapse, kCritical = ContextPhase::critical,
                       kIdentity = ContextPhase::identity;

ContextState state(double tokens, double rho, double exponent, double residual = 0) {
  return context_state({.tokens = tokens, .rho = rho, .exponent = exponent, .residual = residual});
}

// ---- Reference values (13 digits).

TEST(LongContext, ReferenceTable) {
  struct Row {
    double tokens, exponent, self_weight, cosine, angle_ratio, residual_cosine, gain, backward;
  };
  const Row rows[] = {
      {1e2, 1.5, 0.2420923626368, 0.9483652633637, 0.3082080888664, 0.7253658181895,
       0.3213556803180, 0.08142648010968},
      {1e3, 1.5, 0.1511078508658, 0.9779420734232, 0.2009417935334, 0.7515676489309,
       0.2100377422121, 0.02522543198658},
      {1e4, 1.5, 0.09091735612328, 0.9918188592321, 0.1222333861771, 0.7707398286299,
       0.1279151341159, 0.008484376257575},
      {1e6, 1.5, 0.03065345974554, 0.9990613077421, 0.04137918914164, 0.7901634486892,
       0.04332879545650, 0.0009412461304131},
      {1e9, 1.5, 0.005591967314395, 0.9999687308905, 0.007551709380100, 0.7982095836607,
       0.007908110963412, 3.127126433372e-5},
      {1e12, 1.5, 0.0009990009990020, 0.9999990019980, 0.001349124786526, 0.7996802878212,
       0.001412800055210, 9.980040356073e-7},
      {1e2, 2, 0.5025125628141, 0.8027967806841, 0.6100331440998, 0.6417806892991, 0.6280178648986,
       0.2892772901936},
      {1e3, 2, 0.5002501250625, 0.8002799679808, 0.6140525725045, 0.6401776467949, 0.6320127087634,
       0.2560921984043},
      {1e4, 2, 0.5000250012501, 0.8000279996800, 0.6144537298362, 0.6400177604679, 0.6324112591028,
       0.2508663639518},
      {1e6, 2, 0.5000002500001, 0.8000002800000, 0.6144978484635, 0.6400001776000, 0.6324550893147,
       0.2500148494747},
      {1e9, 2, 0.5000000002500, 0.8000000002800, 0.6144982936518, 0.6400000001776, 0.6324555315910,
       0.2500000266225},
      {1e12, 2, 0.5000000000002, 0.8000000000003, 0.6144982940970, 0.6400000000002, 0.6324555320332,
       0.2500000000414},
      {1e2, 2.5, 0.7615766379265, 0.6353623171984, 0.8425522993562, 0.5643591847522,
       0.8539762090382, 0.6097664392331},
      {1e3, 2.5, 0.8491486468754, 0.5811940232650, 0.9077572038859, 0.5392074154572,
       0.9152114255570, 0.7241252067714},
      {1e4, 2.5, 0.9090991736289, 0.5475160623246, 0.9467204868008, 0.5232456755117,
       0.9512979950314, 0.8267015689684},
      {1e6, 2.5, 0.9693465996821, 0.5155615249719, 0.9827500752464, 0.5077220853933,
       0.9843154728319, 0.9396335469655},
      {1e9, 2.5, 0.9944080326967, 0.5028038010589, 0.9969054666397, 0.5013999462021,
       0.9971922572314, 0.9888473349447},
      {1e12, 2.5, 0.9990009990010, 0.5004997500001, 0.9994488549114, 0.5002498126249,
       0.9995001250624, 0.9980029960041},
  };
  for (const Row& r : rows) {
    const ContextLayer layer{.tokens = r.tokens, .rho = 0.5, .exponent = r.exponent};
    const ContextState s = context_state(layer);
    // Half a unit of the thirteenth digit.
    expect_close(s.self_weight, r.self_weight, 6e-13, label(layer) + " self weight");
    expect_close(s.output_cosine, r.cosine, 6e-13, label(layer) + " cosine");
    expect_close(s.angle_ratio, r.angle_ratio, 6e-13, label(layer) + " angle");
    expect_close(state(r.tokens, 0.5, r.exponent, 1).output_cosine, r.residual_cosine, 6e-13,
                 label(layer) + " residual");
    expect_close(s.normalised_gain, r.gain, 6e-13, label(layer) + " gain");
    expect_close(backward_norm(layer, r.tokens), r.backward, 6e-13, label(layer) + " backward");
  }
}

TEST(LongContext, HighPrecisionValues) {
  struct Case {
    ContextLayer layer;
    // self weight, others, entropy, cosine, gap, angle ratio, |x'|, |Att|, e, e/|Att|, slope, and
    // the backward norm for d = n, q = 2.25
    std::array<double, 12> truth;
  };
  // mpmath, 1100 digits; 0: below the smallest double.
  const Case cases[] = {
      {{2, 0.0, 0.0, 0, 1},
       {0.5, 0.5, 0.69314718055994531, 1.0, 0.0, 0.0, 0.70710678118654752, 0.70710678118654752, 0.0,
        0.0, 0.0, 0.11111111111111111}},
      {{2, -0.5, 0.7, 0, 1},
       {0.67432330913354491, 0.32567669086645509, 0.63107456999175527, 0.46556287054960312,
        0.53443712945039688, 0.51877786544309735, 0.58409404064911362, 0.58409404064911362,
        0.34864661826708982, 0.5969015158580165, 1.5231016831503448, 0.14835484246766379}},
      {{2, 0.3, 1.0, 1, 1},
       {0.61897573867011966, 0.38102426132988034, 0.66456332618567179, 0.65796059279476061,
        0.34203940720523939, 0.67347484020943344, 1.7709837241169407, 0.81842367814533619,
        0.23795147734023932, 0.29074363767122553, 0.77294471562190371, 0.93392804462538166}},
      {{3, 0.25, 0.0, 0, 1},
       {0.33333333333333333, 0.66666666666666667, 1.0986122886681097, 1.0, 0.0, 0.0,
        0.70710678118654752, 0.70710678118654752, 0.0, 0.0, 0.0, 0.098765432098765432}},
      {{7, -0.125, 1.5, 0.5, 2},
       {0.81637286135523197, 0.18362713864476803, 0.80586481818033892, -0.10695476878625713,
        1.1069547687862571, 0.98928846665859785, 2.0883531913908624, 0.79441489694351909,
        0.78576833824777063, 0.98911581501175801, 1.4659452710822946, 2.0715104407653805}},
      {{100, 0.0, 0.5, 0, 1},
       {0.091743119266055046, 0.90825688073394495, 4.4801015434223505, 0.59296482412060302,
        0.40703517587939698, 0.59591461545051105, 0.12941959614372371, 0.12941959614372371,
        0.082568807339449541, 0.63799308450750231, 25.442229224629256, 0.0094360040650324388}},
      {{1000, 0.001, 0.75, 0, 1},
       {0.15044448597187019, 0.84955551402812981, 6.2911509257365761, 0.081234211366025094,
        0.91876578863397491, 0.9488316922078682, 0.15598927651411333, 0.15598927651411333,
        0.14959408005192212, 0.95900233269167963, 38.465222279857861, 0.010974934769591283}},
      {{1e4, 0.5, 2.0, 0, 1},
       {0.5000250012500625, 0.4999749987499375, 5.2980370952751945, 0.8000279996799808,
        0.1999720003200192, 0.61445372983617385, 0.79058522686521992, 0.79058522686521992,
        0.4999749987499375, 0.63241125910283919, 3.5874000200016115, 0.11149616175636524}},
      {{1e4, 0.5, 2.0, 0.5, 1},
       {0.5000250012500625, 0.4999749987499375, 5.2980370952751945, 0.69233017786868585,
        0.30766982213131415, 0.76975255237201111, 1.274769587636355, 0.79058522686521992,
        0.4999749987499375, 0.63241125910283919, 2.8142078698608982, 0.44507420574305191}},
      {{1e6, 0.9375, 3.0, 0, 1},
       {1.3335049830935586e-5, 0.99998666495016906, 13.815488349879693, 0.99999999998985642,
        1.0143583232926836e-11, 1.2672647812756911e-5, 0.96824586883162564, 0.96824586883162564,
        1.2335062165997752e-5, 1.273959700017349e-5, 1.0821038445017969e-9, 4.4454893096321045e-7}},
      {{1e6, 0.9999990463256836, 2.5, 0, 1},
       {1.0000329392535139e-6, 0.99999899996706075, 13.815510557964274, 1.0, 1.0347343700226056e-27,
        3.2939299542113505e-11, 0.99999952316320495, 0.99999952316320495, 3.2939286453223124e-11,
        3.2939302159894397e-11, 3.255029653660545e-21, 4.4444400000000292e-7}},
      {{1e12, 0.75, 0.5, 0, 1},
       {3.1622776600715416e-11, 0.99999999996837722, 27.63102111584995, 1.0, 3.1258481557962885e-22,
        3.4595554961819848e-11, 0.86602540378458298, 0.86602540378458298, 3.0622776600746039e-11,
        3.5360136627543104e-11, 1.0586202851569488e-20, 4.444444449701429e-13}},
      {{1e30, 0.5, 2.0, 0, 1},
       {0.5, 0.5, 35.231923575470631, 0.8, 0.2, 0.61449829409740035, 0.79056941504209483,
        0.79056941504209483, 0.5, 0.63245553203367587, 22.744816892742839, 0.11111111111111111}},
      {{1e30, 0.5, 1.5, 1, 1},
       {3.1622775601683825e-8, 0.9999999683772244, 69.077551183126183, 0.79999998988071178,
        0.20000001011928822, 0.61449831020274759, 1.5811388400841895, 0.70710678118654788,
        3.1622775601683825e-8, 4.4721358135782254e-8, 0.64000107280976128, 0.44444447255357876}},
      {{1e30, 0.125, 40.0, 0, 1},
       {1.0, 0, 0, 0.125, 0.875, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.44444444444444444}},
      {{1e30, 0.0, 0.5, 0, 1},
       {9.9999999999999899e-16, 0.999999999999999, 69.077552789821337, 0.500000000000001,
        0.499999999999999, 0.66666666666666593, 1.4142135623730936e-15, 1.4142135623730936e-15,
        9.9999999999999799e-16, 0.70710678118654682, 2.5e+29, 8.8888888888891779e-31}},
      {{1e30, 0.0, 0.75, 0, 1},
       {3.1622775601683825e-8, 0.9999999683772244, 69.077551183126183, 1.0000000632455522e-15,
        0.999999999999999, 0.99999999999999936, 3.1622775601683841e-8, 3.1622775601683841e-8,
        3.1622775601683825e-8, 0.9999999999999995, 1000000063245552.2, 4.4444441633531146e-16}},
      {{1e100, 0.5, 2.0, 0, 1},
       {0.5, 0.5, 115.82240183026223, 0.8, 0.2, 0.61449829409740035, 0.79056941504209483,
        0.79056941504209483, 0.5, 0.63245553203367587, 74.322722975809462, 0.11111111111111111}},
      {{1e300, 0.25, 0.0625, 0, 1},
       {1.1547819846894581e-286, 1.0, 690.77552789821371, 1.0, 0, 2.1459617157241093e-286, 0.5, 0.5,
        1.1547819846894481e-286, 2.3095639693788962e-286, 0, 4.4444444444444442e-301}},
      {{1e6, 0.5, 100.0, 0.25, 3},
       {1.0, 9.99999e-295, 6.9177483612268581e-292, 0.5, 0.5, 1.0, 3.25, 1.0, 1.0, 1.0, 1.0,
        4.6944397777777778}},
  };
  for (const auto& [layer, truth] : cases) {
    const ContextState s = context_state(layer);
    const std::array<double, 12> values = {
        s.self_weight, s.others_weight,   s.entropy,     s.output_cosine,
        s.gap,         s.angle_ratio,     s.output_norm, s.attention_norm,
        s.value_gain,  s.normalised_gain, s.slope,       backward_norm(layer, layer.tokens, 2.25)};
    // An exponent of size x loses x units of rounding, and ln n is up to 700.
    const double relative = 4e-16 * (10 + std::log(layer.tokens) * (1 + layer.exponent));
    for (std::size_t k = 0; k < truth.size(); ++k)
      expect_close(values[k], truth[k], relative, label(layer) + " value " + std::to_string(k));
    EXPECT_NEAR(s.other_weight * (layer.tokens - 1), s.others_weight, 1e-15);
    EXPECT_DOUBLE_EQ(s.entropy_ratio, s.entropy / std::log(layer.tokens));
  }
}

TEST(LongContext, CriticalSlopeGrowsWithTheLogarithmOfN) {
  expect_close(state(1e6, 0.5, 2).slope, 5.060965321, 1e-9, "1e6");
  expect_close(state(1e12, 0.5, 2).slope, 9.481926757, 1e-9, "1e12");
  expect_close(state(1e100, 0.5, 2).slope, 74.32272298, 1e-9, "1e100");
  for (const double rho : {0.25, 0.5, 0.75}) {
    const double g = 1 / (1 - rho);
    const double growth = state(1e300, rho, g).slope - state(1e200, rho, g).slope;
    expect_close(growth, 100 * std::log(10.0) * 4 * rho / std::pow(1 + 3 * rho, 2), 1e-11,
                 "growth");
  }
  EXPECT_LT(state(1e300, 0.5, 1.5).slope, 1e-60);
  EXPECT_NEAR(state(1e300, 0.5, 2.5).slope, 1, 1e-12);
}

TEST(LongContext, UniversalScalingFunction) {
  expect_close(state(1e12, 0.5, 2.05).output_cosine, 0.6926446587739, 1e-12, "1e12");
  for (const double rho : {0.125, 0.5, 0.875})
    for (const double z : {-30.0, -3.0, 0.0, 1.0, 5.0}) {
      const double n = 1e40, g = (1 + z / std::log(n)) / (1 - rho);
      expect_close(state(n, rho, g).gap, scaling_gap(rho, z), 1e-11, "scaling");
    }
}

TEST(LongContext, SubcriticalSpeed) {
  for (const double rho : {0.25, 0.5}) {
    const double n = 1e60, g = 1.0;
    const double law = (1 - rho) / rho * std::pow(n, 2 * (g * (1 - rho) - 1));
    expect_close(state(n, rho, g).gap, law, 1e-13 + 1e-14, "speed");
  }
}

// ---- The transition.

TEST(LongContext, WidthAndPosition) {
  for (const auto& [n, width, half] : {std::array{1e2, 1.908485018879, 1.9956351945975499},
                                       {1e6, 0.6361616729595, 1.9999998552351003},
                                       {1e12, 0.3180808364798, 1.9999999999999276}}) {
    const ContextTransition t = context_transition({.tokens = n, .rho = 0.5, .exponent = 2});
    expect_close(t.width, width, 6e-13, "width");
    expect_close(t.half_exponent, half, 1e-15, "half");
    EXPECT_EQ(t.critical_exponent, 2);
    expect_close(state(n, 0.5, t.half_exponent).self_weight, 0.5, 1e-14, "p0");
    expect_close(state(n, 0.5, t.half_exponent - t.width / 2).self_weight, 0.1, 1e-13, "p0");
    expect_close(state(n, 0.5, t.half_exponent + t.width / 2).self_weight, 0.9, 1e-13, "p0");
  }
}

TEST(LongContext, CosineExponentHalvesTheGap) {
  for (const double n : {3.0, 1e3, 1e10, 1e30})
    for (const double rho : {0.0, 1 / n, 0.25, 0.9375}) {
      const double g = context_transition({.tokens = n, .rho = rho}).cosine_exponent;
      expect_close(state(n, rho, g).gap, (1 - rho) / 2, 1e-12, label({.tokens = n, .rho = rho}));
    }
}

TEST(LongContext, PhasesAroundTheWindow) {
  const auto phase = [](double n, double rho, double g) {
    return context_transition({.tokens = n, .rho = rho, .exponent = g}).phase;
  };
  for (const double n : {1e2, 1e6, 1e30})
    for (const double rho : {0.125, 0.5, 0.9}) {
      const ContextTransition t = context_transition({.tokens = n, .rho = rho});
      const double low = t.half_exponent - t.width / 2, high = t.half_exponent + t.width / 2;
      EXPECT_EQ(phase(n, rho, low * 0.999), kCollapse);
      EXPECT_EQ(phase(n, rho, low * 1.001), kCritical);
      EXPECT_EQ(phase(n, rho, t.critical_exponent), kCritical);
      EXPECT_EQ(phase(n, rho, high * 0.999), kCritical);
      EXPECT_EQ(phase(n, rho, high * 1.001), kIdentity);
    }
  EXPECT_EQ(name(kCollapse), "collapse");
  EXPECT_EQ(name(kCritical), "critical");
  EXPECT_EQ(name(kIdentity), "identity");
}

TEST(LongContext, OrthogonalTokensSwitchAtOneHalf) {
  struct Case {
    double g, cosine;
    ContextPhase weight, phase;
  };
  for (const Case& c : {Case{0.4, 1, kCollapse, kCollapse},
                        {0.5, 0.5, kCollapse, kCritical},
                        {0.6, 0, kCollapse, kIdentity},
                        {1.0, 0, kCritical, kIdentity},
                        {1.1, 0, kIdentity, kIdentity}})
    for (const double rho : {0.0, 1e-215, -1e-215}) {
      const ContextLayer layer{.tokens = 1e200, .rho = rho, .exponent = c.g};
      EXPECT_NEAR(context_state(layer).output_cosine, c.cosine, 1e-12);
      const ContextTransition t = context_transition(layer);
      EXPECT_EQ(t.weight, c.weight);
      EXPECT_EQ(t.phase, c.phase);
      if (rho > 0) continue;
      const ContextLimit limit = context_limit(layer, t.weight, t.phase);
      EXPECT_EQ(limit.output_cosine, c.cosine);
      EXPECT_NEAR(limit.self_weight, context_state(layer).self_weight, 1e-12);
      EXPECT_NEAR(limit.normalised_gain, context_state(layer).normalised_gain, 1e-12);
    }
  EXPECT_EQ(context_transition({.tokens = 1e300, .rho = 1e-3, .exponent = 0.6}).phase, kCollapse);
  const ContextLayer residual{.tokens = 1e300, .rho = 0, .exponent = 0.3, .residual = 1};
  EXPECT_NEAR(context_state(residual).output_cosine,
              context_limit(residual, kCollapse, kCollapse).output_cosine, 1e-12);
}

// ---- Limits.

TEST(LongContext, CriticalCosines) {
  struct Case {
    double rho, alone, residual;
  };
  for (const Case& c : {Case{0.1, 0.3076923076923, 0.1649484536082},
                        {0.3, 0.6315789473684, 0.4324324324324},
                        {0.9, 0.9729729729730, 0.9411764705882}}) {
    const auto limit = [&](double a) {
      return context_limit({.rho = c.rho, .residual = a}, kCritical, kCritical).output_cosine;
    };
    expect_close(limit(0), c.alone, 1e-12, "alone");
    expect_close(limit(1), c.residual, 1e-12, "residual");
    expect_close(limit(0), 4 * c.rho / (1 + 3 * c.rho), 1e-15, "alone");
    expect_close(limit(1), 16 * c.rho / (9 + 7 * c.rho), 1e-15, "residual");
  }
}

TEST(LongContext, LimitsAreApproached) {
  for (const double rho : {0.25, 0.5, 0.75})
    for (const double a : {0.0, 0.5, 1.0, 2.0})
      for (const double factor : {0.8, 1.0, 1.2}) {
        const ContextLayer layer{.tokens = 1e300,
                                 .rho = rho,
                                 .exponent = factor / (1 - rho),
                                 .residual = a,
                                 .attention = 1};
        const ContextTransition t = context_transition(layer);
        const ContextState s = context_state(layer);
        const ContextLimit limit = context_limit(layer, t.weight, t.phase);
        EXPECT_NEAR(s.self_weight, limit.self_weight, 1e-13) << label(layer);
        EXPECT_NEAR(s.output_cosine, limit.output_cosine, 1e-13) << label(layer);
        EXPECT_NEAR(s.normalised_gain, limit.normalised_gain, 1e-13) << label(layer);
        EXPECT_NEAR(backward_norm(layer, 1e300), limit.backward_norm, 1e-12) << label(layer);
        if (factor == 1)
          EXPECT_EQ(limit.slope, HUGE_VAL);
        else
          EXPECT_NEAR(s.slope, limit.slope, 1e-12) << label(layer);
      }
}

TEST(LongContext, BackwardLimitsWithAnyNorm) {
  const auto limit = [](double g, double q) {
    return backward_norm({.tokens = 1e200, .rho = 0.5, .exponent = g}, 1e200, q);
  };
  EXPECT_LT(limit(1.5, 3), 1e-45);
  expect_close(limit(2, 3), 1.0 / 12, 1e-12, "critical");
  expect_close(limit(2.5, 3), 1.0 / 3, 1e-12, "identity");
}

// ---- Depth.

TEST(LongContext, DepthRunsAway) {
  const auto gaps = [](double g) {
    return context_depth({.tokens = 1e6, .rho = 0.5, .exponent = g}, 8);
  };
  const double safe[] = {0.4844384750281, 0.4581743976023, 0.3966725589040, 0.1274305336504,
                         9.475529152369e-10};
  const ContextDepth above = gaps(2.5);
  for (std::size_t k = 0; k < 5; ++k) expect_close(above.layers[k].gap, safe[k], 1e-12, "g = 2.5");
  const ContextDepth critical = gaps(2);
  expect_close(critical.layers[0].gap, 0.1999997200000, 1e-12, "g = 2");
  expect_close(critical.layers[1].gap, 1.564048758374e-8, 1e-12, "g = 2");
  // 1 - 1/g = 0.6: layer 5 is entered at cosine 0.87, layer 4 still at 0.603 in the window.
  EXPECT_EQ(above.runaway, 5U);
  EXPECT_EQ(above.collapse, 5U);
  EXPECT_EQ(critical.collapse, 2U);
  EXPECT_DOUBLE_EQ(above.layers[0].critical_exponent, 2);
  EXPECT_NEAR(above.layers[4].critical_exponent, 1 / safe[3], 1e-10);
  EXPECT_EQ(above.layers[7].gap, 0);  // too small for a double
  EXPECT_EQ(above.layers[7].output_cosine, 1);
  const ContextDepth stays = context_depth({.tokens = 1e6, .rho = 0.5, .exponent = 8}, 100);
  EXPECT_FALSE(stays.collapse || stays.runaway);
  EXPECT_EQ(context_depth({}, 0).layers.size(), 0U);
}

TEST(LongContext, FirstLayerOfDepthIsTheLayer) {
  const ContextLayer layer{.tokens = 300, .rho = 0.2, .exponent = 1.1, .residual = 0.5};
  const auto first = context_depth(layer, 1).layers[0];
  EXPECT_EQ(first.gap, context_state(layer).gap);
  EXPECT_EQ(first.output_cosine, context_state(layer).output_cosine);
  EXPECT_EQ(first.self_weight, context_state(layer).self_weight);
}

TEST(LongContext, BadInput) {
  const double nan = std::nan("");
  for (const ContextLayer& bad : {ContextLayer{.tokens = 1},
                                  {.tokens = nan},
                                  {.tokens = HUGE_VAL},
                                  {.rho = 1},
                                  {.tokens = 11, .rho = -0.11},
                                  {.rho = nan},
                                  {.exponent = -1},
                                  {.exponent = nan},
                                  {.residual = -0.1},
                                  {.residual = HUGE_VAL},
                                  {.attention = 0},
                                  {.attention = nan},
                                  {.tokens = 2, .rho = -1, .exponent = 0}})
    EXPECT_THROW(context_state(bad), Error);
  EXPECT_THROW(backward_norm({.tokens = 10}, 9), Error);
  EXPECT_THROW(backward_norm({.tokens = 10}, 10, 0), Error);
  EXPECT_THROW(scaling_gap(0, 1), Error);
  // The simplex itself: attention of x_i is a multiple of x_i.
  const ContextState simplex = state(11, -0.1, 1);
  EXPECT_NEAR(simplex.output_cosine, -0.1, 1e-15);
  EXPECT_NEAR(simplex.normalised_gain, 1, 1e-15);
  EXPECT_NO_THROW(backward_norm({.tokens = 11, .rho = -0.1}, 10));
}

}  // namespace
}  // namespace attractor::meanfield
