#include "attractor/lab/select/select_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

void add_model(SelectSetup& p, ParameterList& l) {
  l.group("Model");
  l.add("train", p.train,
        "what is trained: the prompt p, W, W = K Q^T, the head v, or v and one of them");
  l.add("loss", p.loss, "of output f and label y: -yf, -yf, ln(1+e^-yf), e^-yf, (f-y)^2/2");
  l.add("rank", p.rank, "KQ: columns of K and Q if the problem gives none; 0: d").within(0, 65536);
  l.add("init-scale", p.init_scale, "KQ: standard deviation of their random start").above(0, 1e3);
  l.add("seed", p.seed, "of random numbers");
}

void add_optimiser(SelectSetup& p, ParameterList& l) {
  l.group("Optimiser");
  l.add("optimizer", p.optimizer,
        "gd: step * grad; ngd: grad / |grad|, exact; published: grad / (|grad| + epsilon); polyak: "
        "(L - L*) grad / |grad|^2; flow: dw/dt = -grad up to 10^log10-time; adam, sign, muon");
  l.add("step", p.step, "length of a step; factor of polyak").above(0, 1e6);
  l.add("steps", p.steps, "number of steps").within(1, 1e9);
  l.add("precision", p.precision,
        "of the tokens that a step reads (p, W, KQ; not for flow): single takes half the "
        "memory, sums are double; logits off by up to 6e-8 |x| |W q|; certificates are of doubles");
  l.add("decay", p.decay, "steps shrink: the k-th one is step / k^decay (not for flow)")
      .within(0, 1);
  l.add("momentum", p.momentum,
        "heavy ball: part of the last move that is kept (not for flow); sign, muon: part of the "
        "last mean gradient")
      .within(0, 0.999999);
  l.add("beta1", p.beta1, "adam: part of the mean gradient that a step keeps")
      .within(0, 0.999999)
      .used_by("optimizer", {"adam"});
  l.add("beta2", p.beta2, "adam: part of the mean square that a step keeps")
      .within(0, 0.9999999)
      .used_by("optimizer", {"adam"});
  l.add("mirror", p.mirror,
        "mirror descent with potential |w|_q^q / q on the attention weights; 2: none")
      .within(1.05, 20);
  l.add("epsilon", p.epsilon,
        "published: added to the gradient's norm; adam: to the root of the mean square")
      .within(0, 1);
  l.add("epsilon-v", p.epsilon_v, "the same for v").within(0, 1);
  l.add("log10-time", p.log10_time, "flow: log10 of the end time").within(-10, 1e6);
  l.add("tolerance", p.tolerance, "flow: error of the weights, relative to max(1, their norm)")
      .within(1e-14, 0.1);
  l.add("outputs", p.outputs, "moments recorded on the way, evenly in log time").within(2, 100000);
  l.add("starts", p.starts, "train p from these starts too, and draw their paths")
      .within(-1e150, 1e150)
      .allow("vectors with ; between them, like '0,1;0,0.5'");
}

void add_theory(SelectSetup& p, ParameterList& l) {
  l.group("Max-margin theory");
  l.add("choice", p.choice, "no training: solve the Att-SVM of this token choice")
      .within(0, 1e9)
      .allow("one token for each input, like 0,2,1");
  l.add("relaxed", p.relaxed, "with choice: inputs whose margin may be 0 instead of 1")
      .within(0, 1e9)
      .allow("inputs, like 0,3");
  l.add("margins", p.margins,
        "own: of the optimiser's norm; all: which of five the direction approaches");
  l.add("margins-within", p.margins_within,
        "margins: share of the best margin that may be missing where a norm is approached")
      .above(0, 0.5);
  l.add("local", p.local, "find all token choices that training can end with");
  l.add("local-limit", p.local_limit,
        "margin problems solved before enumeration gives way to a search")
      .within(1, 1e9);
  l.add("basins", p.basins,
        "which start ends with which choice: a map if two coordinates of p matter, a random sample "
        "of starts otherwise");
  l.add("basins-side", p.basins_side, "starts along each side of the map").within(2, 1000);
  l.add("basins-samples", p.basins_samples, "random starts where there is no map").within(1, 1e6);
  l.add("basins-radius", p.basins_radius,
        "half the side of the map, or length of the random starts")
      .above(0, 1e6);
  l.add("path", p.path, "regularisation path: the best weights of norm at most R, for these R")
      .within(0, 1e12)
      .allow("ascending numbers above 0, like 1,10,100");
  l.add("path-ratio", p.path_ratio, "joint path: bound of |v| as a multiple of R")
      .within(1e-6, 1e6);
  l.add("path-cone", p.path_cone,
        "with choice: only weights within this angle (radians) of its max-margin solution; 0: all")
      .within(0, 1.5);
  l.add("path-starts", p.path_starts,
        "random starts at every R, besides the last solution and max-margin directions")
      .within(0, 10000);
  l.add("exact", p.exact,
        "solve the max-margin problem in rational arithmetic, or prove that there is none (p, "
        "Euclidean norm)");
}

void check_optimiser(const SelectSetup& p) {
  const training::Trained trained(p.train);
  if (p.optimizer == Optimizer::flow && p.momentum > 0)
    throw Error("momentum needs steps; the flow has none: use gd, ngd or published");
  if (p.precision == kernels::Precision::f32 && p.optimizer == Optimizer::flow)
    throw Error(
        "precision single is for steps; a flow keeps to a tolerance that rounded tokens would not: "
        "use gd, ngd, adam, sign or muon");
  if (p.precision == kernels::Precision::f32 && !p.choice.empty())
    throw Error("precision single is for training; with choice there is none");
  if (p.optimizer == Optimizer::flow && p.decay > 0)
    throw Error("decay shrinks steps; the flow has none: use gd, ngd, adam, sign or muon");
  if (p.optimizer == Optimizer::adam && p.momentum > 0)
    throw Error("adam averages gradients by beta1; momentum is for gd, ngd, sign and muon");
  if (p.optimizer == Optimizer::adam && p.beta1 * p.beta1 > p.beta2)
    throw Error(
        fmt::format("adam with beta1 {} and beta2 {} takes steps without bound as gradients fall; "
                    "allowed: beta1^2 up to beta2",
                    p.beta1, p.beta2));
  if (training::averages_gradients(descent_options(p).rule) && p.mirror != 2)
    throw Error("adam, sign and muon have geometries of their own; mirror is for gd, ngd and flow");
  const bool matrix = trained.attention == training::AttentionPart::weights ||
                      trained.attention == training::AttentionPart::factors;
  if (p.optimizer == Optimizer::muon && (!matrix || trained.head))
    throw Error(
        fmt::format("muon orthogonalises matrices; train {} has a vector: train W or KQ, or use "
                    "sign or adam",
                    name(p.train)));
}

}  // namespace

std::span<const std::string_view> names(Optimizer) {
  static constexpr std::string_view kNames[] = {"gd",   "ngd",  "published", "polyak",
                                                "flow", "adam", "sign",      "muon"};
  return kNames;
}

std::span<const std::string_view> names(MarginsAsked) {
  static constexpr std::string_view kNames[] = {"own", "all"};
  return kNames;
}

training::MarginNorm margin_norm(const SelectSetup& p) {
  const training::AttentionPart part = training::Trained(p.train).attention;
  if (part == training::AttentionPart::factors) return training::natural_norm(part);
  if (p.optimizer == Optimizer::adam || p.optimizer == Optimizer::sign) return {.power = kInfinity};
  if (p.optimizer == Optimizer::muon) return {.of = training::MarginNorm::Of::spectral};
  if (p.mirror != 2) return {.power = p.mirror};
  return training::natural_norm(part);
}

ParameterList list(SelectSetup& p) {
  ParameterList l;
  l.group("Model");
  l.add("data", p.data,
        "problem: JSON {\"X\": [n][T][d], \"Y\": [n], \"v\": [d], \"W\": [d][d], \"z\": [n][d], "
        "\"p0\": [d], ...}, HDF5, a directory of .npy files, or an example of attractor problem: "
        "example:multi,inputs=6")
      .allow("a file, a directory or example:NAME")
      .first();
  for (const auto add : {add_model, add_optimiser, add_theory}) add(p, l);
  l.short_help({"train", "loss", "optimizer", "step", "steps", "log10-time", "choice", "margins",
                "local", "basins", "path", "exact"});
  return l;
}

void check(const SelectSetup& p) {
  SelectSetup copy = p;
  check_values(list(copy));
  check_optimiser(p);
  const training::Trained trained(p.train);
  if (p.optimizer == Optimizer::polyak && (trained.head || !training::is_margin_loss(p.loss)))
    throw Error(
        "polyak needs the least loss, which is known for a margin loss with v frozen only: choose "
        "another loss or optimizer, or train p, W or KQ");
  if (p.mirror != 2 && trained.attention == training::AttentionPart::factors)
    throw Error("mirror descent is for p and W; its limit for K and Q is not known");
  if (p.mirror != 2 && trained.attention == training::AttentionPart::none)
    throw Error("mirror descent acts on attention weights; train p or W");
  if (!p.choice.empty() && trained.attention == training::AttentionPart::none)
    throw Error("a token choice has an Att-SVM for p, W or KQ; with train v there is none");
  if (p.choice.empty() && !p.relaxed.empty())
    throw Error("relaxed needs choice: training finds out itself which inputs are relaxed");
  const bool bends = trained.attention == training::AttentionPart::prompt ||
                     trained.attention == training::AttentionPart::weights;
  const bool euclidean = margin_norm(p).euclidean();
  if (!p.path.empty() && (!bends || !euclidean))
    throw Error(
        "a regularisation path is for p or W (and v), without mirror and not of adam, sign or "
        "muon");
  if (p.path_cone > 0 && (p.path.empty() || p.choice.empty() || trained.head))
    throw Error("path-cone needs path and choice, and v frozen");
  if (p.basins && (!bends || trained.head || !euclidean))
    throw Error(
        "basins are those of the gradient flow of p or W, with v frozen: without mirror, adam, "
        "sign and muon");
  for (std::size_t k = 0; k < p.path.size(); ++k)
    if (const double radius = p.path.values[k]; !(radius > (k == 0 ? 0 : p.path.values[k - 1])))
      throw Error(
          fmt::format("path: '{}' is not allowed; allowed: ascending numbers above 0 and up to "
                      "1e12",
                      radius));
  if (!p.starts.empty() && (p.train != training::Train::p || !p.choice.empty()))
    throw Error("starts are for training p alone; leave out choice, or give one p0");
  if (p.margins == MarginsAsked::all && trained.attention == training::AttentionPart::none)
    throw Error("margins of attention need trained attention; with train v there are none");
  if (p.exact &&
      (trained.attention != training::AttentionPart::prompt || !margin_norm(p).euclidean()))
    throw Error("exact checks the Euclidean margin of p only");
}

std::string command(const SelectSetup& p) {
  SelectSetup mine = p, defaults;
  return command_line("attractor select", list(mine), list(defaults));
}

training::DescentOptions descent_options(const SelectSetup& p) {
  using training::Update;
  const Update rule = p.optimizer == Optimizer::ngd         ? Update::normalised
                      : p.optimizer == Optimizer::published ? Update::published
                      : p.optimizer == Optimizer::polyak    ? Update::polyak
                      : p.optimizer == Optimizer::adam      ? Update::adam
                      : p.optimizer == Optimizer::sign      ? Update::sign
                      : p.optimizer == Optimizer::muon      ? Update::muon
                                                            : Update::gradient;
  return {.rule = rule,
          .epsilon = p.epsilon,
          .head_epsilon = p.epsilon_v,
          .momentum = p.momentum,
          .beta1 = p.beta1,
          .beta2 = p.beta2,
          .step = p.step,
          .decay = p.decay,
          .mirror = p.mirror,
          .flows = p.optimizer == Optimizer::flow,
          .rest_distance = std::clamp(10 * p.tolerance, 1e-7, 1e-5)};
}

std::vector<std::size_t> indices(const Numbers& list, std::size_t bound, const std::string& what) {
  std::vector<std::size_t> result;
  for (const double x : list) {
    if (!(x >= 0 && x < static_cast<double>(bound) && x == std::floor(x)))
      throw Error(fmt::format("{}: '{}' is not a whole number from 0 to {}", what, x, bound - 1));
    result.push_back(static_cast<std::size_t>(x));
  }
  return result;
}

}  // namespace attractor::lab
