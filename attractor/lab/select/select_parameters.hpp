// The parameters of `attractor select`, listed once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attractor/lab/parameter.hpp"
#include "attractor/training/descent_flow.hpp"

namespace attractor::lab {

struct SelectParameters {
  std::string data;  // problem file
  std::string train = "p", loss = "logistic";
  std::uint64_t rank = 0;    // of K and Q if the problem gives none; 0: d
  double init_scale = 0.01;  // of their random start
  std::uint64_t seed = 0;

  std::string optimizer = "ngd";  // gd, ngd, published, polyak, flow
  double step = 0.1;
  std::uint64_t steps = 1000;
  double momentum = 0, mirror = 2;
  double epsilon = 1e-9, epsilon_v = 1e-9;  // published: added to the norm of the gradient
  double log10_time = 100;                  // flow: end time
  double tolerance = 1e-10;                 // flow
  std::uint64_t outputs = 200;              // rows of the record
  std::string starts;                       // further starts of p

  std::string choice, relaxed;  // tokens and inputs, comma-separated
  bool local = false;           // find all locally optimal choices
  std::uint64_t local_limit = 100'000;
  bool basins = false;  // map which start ends where
  std::uint64_t basins_side = 41, basins_samples = 1000;
  double basins_radius = 3;
  std::string path;  // radii of a regularisation path
  double path_ratio = 1, path_cone = 0;
  std::uint64_t path_starts = 8;
  bool exact = false;  // check the max-margin solution in rational arithmetic
};

ParameterList list(SelectParameters& p);
/// What belongs together fits together; throws Error.
void check(const SelectParameters& p);

/// The parameters that make the same run again, as a command line.
std::string command(const SelectParameters& p);

training::DescentOptions descent_options(const SelectParameters& p);
/// "1,2,5,1e4" as ascending positive numbers; throws Error naming the entry.
std::vector<double> radius_list(const std::string& text);
/// "0,1;0,0.5" as vectors of `dim` numbers; throws Error naming the entry.
std::vector<std::vector<double>> start_list(const std::string& text, std::size_t dim);
/// "0,2,1" as numbers below `bound`; throws Error naming the entry. what: for messages.
std::vector<std::size_t> index_list(const std::string& text, std::size_t bound,
                                    const std::string& what);

}  // namespace attractor::lab
