// The units of a sweep as a Result: mean and 95 % interval of every measure at every point, the
// units themselves, what failed and why, and the figures that the study asks for.
//
//   [[figure]] x = axis, y = measure                     mean with intervals; `series` = a second
//   axis
//   [[figure]] x, y = measures that are lists            one curve for each point (means)
//   [[figure]] x = axis, y = axis or list, z = measure   heat map, with `overlay` curves y(x)
//
// A study without figures gets one for each of its first measures.
#pragma once

#include <cstddef>
#include <map>

#include "attractor/commands/result.hpp"
#include "attractor/study/journal.hpp"
#include "attractor/study/study.hpp"

namespace attractor::lab {

struct SweepPoint {
  std::vector<double> axes;                               // NaN for words
  std::map<std::string, std::vector<double>> mean, half;  // of each measure, by index
  std::size_t replicates = 0, failed = 0;
};

struct SweepRecord {
  std::vector<std::string> measures;          // in the order of the study, or of their names
  std::map<std::string, std::size_t> length;  // 1: a plain number
  std::vector<SweepPoint> points;
};

SweepRecord collect(const Study& study, const std::map<std::size_t, UnitResult>& units);

Result result_of(const Study& study, const std::map<std::size_t, UnitResult>& units);

/// Throws Error on a figure of something the study does not have.
std::vector<PageFigure> sweep_figures(const Study& study, const SweepRecord& record);

}  // namespace attractor::lab
