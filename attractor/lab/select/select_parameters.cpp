#include "attractor/lab/select/select_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "attractor/base/error.hpp"

namespace attractor::lab {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

ParameterList model_list(SelectParameters& p) {
  const std::string group = "Model";
  return {
      {.name = "train",
       .group = group,
       .help = "what is trained: the prompt p, W, W = K Q^T, the head v, or v and one of them",
       .target = &p.train,
       .choices = {"p", "W", "KQ", "v", "v,p", "v,W", "v,KQ"}},
      {.name = "loss",
       .group = group,
       .help = "of output f and label y: -yf, -yf, ln(1+e^-yf), e^-yf, (f-y)^2/2",
       .target = &p.loss,
       .choices = {"linear", "correlation", "logistic", "exponential", "squared"}},
      {.name = "rank",
       .group = group,
       .help = "KQ: columns of K and Q if the problem gives none; 0: d",
       .target = &p.rank,
       .most = 65536},
      {.name = "init-scale",
       .group = group,
       .help = "KQ: standard deviation of their random start",
       .target = &p.init_scale,
       .least = 0,
       .most = 1e3,
       .above_least = true},
      {.name = "seed", .group = group, .help = "of random numbers", .target = &p.seed},
  };
}

ParameterList optimiser_list(SelectParameters& p) {
  const std::string group = "Optimiser";
  return {
      {.name = "optimizer",
       .group = group,
       .help = "gd: step * grad; ngd: grad / |grad|, exact; published: grad / (|grad| + epsilon); "
               "polyak: (L - L*) grad / |grad|^2; flow: dw/dt = -grad up to 10^log10-time",
       .target = &p.optimizer,
       .choices = {"gd", "ngd", "published", "polyak", "flow"}},
      {.name = "step",
       .group = group,
       .help = "step of gd, ngd and published; factor of polyak",
       .target = &p.step,
       .least = 0,
       .most = 1e6,
       .above_least = true},
      {.name = "steps",
       .group = group,
       .help = "number of steps",
       .target = &p.steps,
       .least = 1,
       .most = 1e9},
      {.name = "momentum",
       .group = group,
       .help = "heavy ball: part of the last move that is kept (not for flow)",
       .target = &p.momentum,
       .least = 0,
       .most = 0.999999},
      {.name = "mirror",
       .group = group,
       .help = "mirror descent with potential |w|_q^q / q on the attention weights; 2: none",
       .target = &p.mirror,
       .least = 1.05,
       .most = 20},
      {.name = "epsilon",
       .group = group,
       .help = "published: added to the gradient's norm",
       .target = &p.epsilon,
       .least = 0,
       .most = 1},
      {.name = "epsilon-v",
       .group = group,
       .help = "the same for v",
       .target = &p.epsilon_v,
       .least = 0,
       .most = 1},
      {.name = "log10-time",
       .group = group,
       .help = "flow: log10 of the end time",
       .target = &p.log10_time,
       .least = -10,
       .most = 1e6},
      {.name = "tolerance",
       .group = group,
       .help = "flow: error of the weights, relative to max(1, their norm)",
       .target = &p.tolerance,
       .least = 1e-14,
       .most = 0.1},
      {.name = "outputs",
       .group = group,
       .help = "moments recorded on the way, evenly in log time",
       .target = &p.outputs,
       .least = 2,
       .most = 100000},
      {.name = "starts",
       .group = group,
       .help = "train p from these starts too, and draw their paths",
       .target = &p.starts,
       .words = "vectors with ; between them, like '0,1;0,0.5'"},
  };
}

ParameterList theory_list(SelectParameters& p) {
  const std::string group = "Max-margin theory";
  return {
      {.name = "choice",
       .group = group,
       .help = "no training: solve the Att-SVM of this token choice",
       .target = &p.choice,
       .words = "one token for each input, like 0,2,1"},
      {.name = "relaxed",
       .group = group,
       .help = "with choice: inputs whose margin may be 0 instead of 1",
       .target = &p.relaxed,
       .words = "inputs, like 0,3"},
      {.name = "local",
       .group = group,
       .help = "find all token choices that training can end with (locally optimal ones)",
       .target = &p.local},
      {.name = "local-limit",
       .group = group,
       .help = "margin problems solved before enumeration gives way to a search",
       .target = &p.local_limit,
       .least = 1,
       .most = 1e9},
      {.name = "basins",
       .group = group,
       .help = "which start ends with which choice: a map if two coordinates of p matter, a random "
               "sample of starts otherwise",
       .target = &p.basins},
      {.name = "basins-side",
       .group = group,
       .help = "starts along each side of the map",
       .target = &p.basins_side,
       .least = 2,
       .most = 1000},
      {.name = "basins-samples",
       .group = group,
       .help = "random starts where there is no map",
       .target = &p.basins_samples,
       .least = 1,
       .most = 1e6},
      {.name = "basins-radius",
       .group = group,
       .help = "half the side of the map, or length of the random starts",
       .target = &p.basins_radius,
       .least = 0,
       .most = 1e6,
       .above_least = true},
      {.name = "path",
       .group = group,
       .help = "regularisation path: the best weights of norm at most R, for these R",
       .target = &p.path,
       .words = "ascending numbers above 0, like 1,10,100"},
      {.name = "path-ratio",
       .group = group,
       .help = "joint path: bound of |v| as a multiple of R",
       .target = &p.path_ratio,
       .least = 1e-6,
       .most = 1e6},
      {.name = "path-cone",
       .group = group,
       .help = "with choice: only weights within this angle (radians) of its max-margin solution; "
               "0: all",
       .target = &p.path_cone,
       .least = 0,
       .most = 1.5},
      {.name = "path-starts",
       .group = group,
       .help = "random starts at every R, besides the last solution and max-margin directions",
       .target = &p.path_starts,
       .most = 10000},
      {.name = "exact",
       .group = group,
       .help = "solve the max-margin problem in rational arithmetic, or prove that there is "
               "none (p, Euclidean norm)",
       .target = &p.exact},
  };
}

}  // namespace

ParameterList list(SelectParameters& p) {
  ParameterList all = {
      {.name = "data",
       .group = "Model",
       .help = "problem: JSON {\"X\": [n][T][d], \"Y\": [n], \"v\": [d], \"W\": [d][d], \"z\": "
               "[n][d], \"p0\": [d], ...}, HDF5, a directory of .npy files, or example:NAME (see "
               "attractor problem --list), example:multi,inputs=6",
       .target = &p.data,
       .words = "a file, a directory or example:NAME",
       .positional = true}};
  for (const ParameterList& part : {model_list(p), optimiser_list(p), theory_list(p)})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

void check(const SelectParameters& p) {
  const training::Trained trained = training::trained_named(p.train);
  const training::Loss loss = training::loss_named(p.loss);
  if (p.optimizer == "flow" && p.momentum > 0)
    throw Error("momentum needs steps; the flow has none: use gd, ngd or published");
  if (p.optimizer == "polyak" && (trained.head || !training::is_margin_loss(loss)))
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
  if (!p.path.empty() && (!bends || p.mirror != 2))
    throw Error("a regularisation path is for p or W (and v), without mirror");
  if (p.path_cone > 0 && (p.path.empty() || p.choice.empty() || trained.head))
    throw Error("path-cone needs path and choice, and v frozen");
  if (p.basins && (!bends || trained.head || p.mirror != 2))
    throw Error("basins are for p or W, with v frozen and without mirror");
  (void)radius_list(p.path);
  if (!p.starts.empty() && (p.train != "p" || !p.choice.empty()))
    throw Error("starts are for training p alone; leave out choice, or give one p0");
  if (p.exact && (trained.attention != training::AttentionPart::prompt || p.mirror != 2))
    throw Error("exact checks the Euclidean margin of p only");
}

std::string command(const SelectParameters& p) {
  SelectParameters mine = p, defaults;
  return command_line("attractor select", list(mine), list(defaults));
}

training::DescentOptions descent_options(const SelectParameters& p) {
  using training::Rule;
  const Rule rule = p.optimizer == "ngd"         ? Rule::normalised
                    : p.optimizer == "published" ? Rule::published
                    : p.optimizer == "polyak"    ? Rule::polyak
                                                 : Rule::gradient;
  return {.rule = rule,
          .epsilon = p.epsilon,
          .head_epsilon = p.epsilon_v,
          .momentum = p.momentum,
          .step = p.step,
          .mirror = p.mirror,
          .flows = p.optimizer == "flow",
          .rest_distance = std::clamp(10 * p.tolerance, 1e-7, 1e-5)};
}

std::vector<double> radius_list(const std::string& text) {
  std::vector<double> radii;
  for (const std::string& word : split(text, ',')) {
    double radius = 0;
    if (!parse_real(word, radius) || !(radius > (radii.empty() ? 0 : radii.back())) ||
        !(radius <= 1e12))
      throw Error(fmt::format(
          "path: '{}' is not allowed; allowed: ascending numbers above 0 and up to 1e12", word));
    radii.push_back(radius);
  }
  return radii;
}

std::vector<std::vector<double>> start_list(const std::string& text, std::size_t dim) {
  std::vector<std::vector<double>> starts;
  for (const std::string& vector : split(text, ';')) {
    starts.emplace_back();
    for (const std::string& word : split(vector, ',')) {
      double x = 0;
      if (!parse_real(word, x) || !(std::abs(x) < 1e150))
        throw Error(fmt::format("starts: '{}' is not a number below 1e150 in size", word));
      starts.back().push_back(x);
    }
    if (starts.back().size() != dim)
      throw Error(
          fmt::format("starts: '{}' has {} numbers; p has {}", vector, starts.back().size(), dim));
  }
  return starts;
}

std::vector<std::size_t> index_list(const std::string& text, std::size_t bound,
                                    const std::string& what) {
  std::vector<std::size_t> result;
  for (const std::string& word : split(text, ',')) {
    std::size_t value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || stop != word.data() + word.size() || value >= bound)
      throw Error(
          fmt::format("{}: '{}' is not a whole number from 0 to {}", what, word, bound - 1));
    result.push_back(value);
  }
  return result;
}

}  // namespace attractor::lab
