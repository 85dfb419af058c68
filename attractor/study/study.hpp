// A study: one command, many settings. Read from a TOML file (docs/howto/sweeps.md):
//
//   command = "flow"                       any command that prints numbers with --json
//   measure = ["clusters", "series.mean_cosine"]    paths into that JSON
//   replicates = 20                        each with a seed of its own
//   seed = 0
//   [fixed]                                settings that all units share
//   tokens = 64
//   [grid]                                 or [list] (side by side), or [latin]
//   beta = [1, 2, 4]                       or {from = 1, to = 9, count = 90, spacing = "log"}
//   [latin]                                a Latin hypercube: each parameter once in each of
//   samples = 100                          `samples` equally likely intervals
//   beta = {from = 1, to = 100, spacing = "log"}
//   [stop]                                 enough replicates of a point
//   measure = "clusters"
//   half_width = 0.1                       of the 95 % interval of its mean
//   round = 8                              looked at after 8, 16, ... replicates
//   [[figure]]                             how results are drawn (sweep_figures.hpp)
//   x = "beta"
//   y = "clusters"
//
// A point is one choice of all parameters, a unit one replicate of a point. Units are numbered
// point * replicates + replicate; what a unit computes is a function of the study and its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attractor/commands/registry.hpp"

namespace attractor::lab {

struct StudyAxis {
  std::string name;
  std::vector<std::string> values;  // grid: the different ones; else one for each point
};

struct StudyStop {
  std::string measure;
  double half_width = 0;
  std::uint64_t round = 8;
};

struct StudyFigure {
  std::string x, y, z;               // z given: a heat map over x and y
  std::vector<std::string> overlay;  // heat: measures drawn as curves y over x
  std::string series;                // lines: one curve for each value of this axis
  std::string title;
  bool log_x = false, log_y = false;
};

struct Study {
  std::string text;  // the file as it was read
  std::string name;  // of the page
  std::string command = "flow";
  std::vector<std::string> measures;  // empty: every number of the first unit's summary
  Settings fixed;
  bool grid = true;  // axes form a grid; else they go side by side
  std::vector<StudyAxis> axes;
  std::uint64_t replicates = 1, seed = 0;
  bool common_seeds = false;  // replicate r has one seed at all points
  std::optional<StudyStop> stop;
  std::vector<StudyFigure> figures;

  std::size_t points() const;
  std::size_t units() const { return points() * replicates; }
  /// The place of a point on each axis.
  std::vector<std::size_t> place(std::size_t point) const;
  const std::string& value(std::size_t point, std::size_t axis) const;
  /// What figures draw and is no axis.
  std::vector<std::string> measured_by_figures() const;
  /// What the command is given: fixed, axes, and its own seed if it has one.
  Settings settings(std::size_t point, std::size_t replicate) const;
};

/// The places of an axis in a heat map. Throws Error on words and on numbers that do not ascend.
std::vector<double> heat_places(const StudyAxis& axis);

/// The files that settings of its units name, each once.
std::vector<std::string> study_files(const Study& study);

/// Refuses what can be refused before work: syntax, unknown keys, names and ranges of all settings.
/// `name`: of the file, for messages.
Study parse_study(const std::string& text, const std::string& name);

}  // namespace attractor::lab
