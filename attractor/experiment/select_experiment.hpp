// Training one prompt and asking what it selects: the way of `attractor select`.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "attractor/experiment/parameter.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/training/max_margin.hpp"

namespace attractor::experiment {

struct SelectParameters {
  std::string data;  // JSON problem
  std::string train = "p", loss = "logistic";
  std::string optimizer = "ngd";  // gd, ngd, published, flow
  double step = 0.1;
  std::uint64_t steps = 1000;
  double epsilon = 1e-9;     // published: added to the norm of the gradient
  double log10_time = 100;   // flow: end time
  double tolerance = 1e-10;  // flow
};

ParameterList list(SelectParameters& p);

struct SelectRecord {
  SelectParameters parameters;
  std::size_t inputs = 0, tokens = 0, dim = 0;
  flow::Status status = flow::Status::complete;
  flow::Time time;
  std::uint64_t steps = 0;
  bool saturated =
      false;  // the gradient underflowed to zero, and the remaining steps change nothing
  std::vector<double> p;
  double loss = 0, softmax_min = 0;  // smallest weight on a selected token
  training::MaxMargin best;          // of the tokens that p selects
  double cosine_to_svm = 0;
  /// Cosine of the present velocity -grad L to the SVM solution: it gets there long before p does.
  double velocity_cosine = 0;
};

SelectRecord run_select(const SelectParameters& parameters, const std::function<bool()>& stop);

nlohmann::ordered_json summary(const SelectRecord& record, double wall_seconds);

}  // namespace attractor::experiment
