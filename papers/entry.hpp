// An entry of the catalogue: a published figure or claim as an experiment that anyone can run
// again. It says what the paper shows, computes it, and compares. A verdict is made of checks
// alone: each is a number that must lie between two others, so each can fail.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attractor/commands/result.hpp"

namespace attractor::papers {

using lab::Context;
using lab::Json;
using lab::number;
using lab::PageFigure;
using lab::Result;
using lab::Table;

/// One number against what the paper (or theory) says. It agrees if it lies in [least, most].
struct Check {
  std::string what;  // plain words: "share of pairs at beta = 9, t = 10"
  double got = 0, least = 0, most = 0;
  std::string why{};  // shown if it does not agree: a known reason
  bool agrees() const { return got >= least && got <= most; }
};

Check near(std::string what, double got, double expected, double within, std::string why = {});
/// |got - expected| <= share |expected|.
Check near_relative(std::string what, double got, double expected, double share,
                    std::string why = {});
Check between(std::string what, double got, double least, double most, std::string why = {});
Check at_least(std::string what, double got, double least, std::string why = {});
Check at_most(std::string what, double got, double most, std::string why = {});

/// What a run found. `answer.headline` says in a sentence what was seen; figures and tables as for
/// any command. Its first figure is the thumbnail of the gallery.
struct Finding {
  Result answer;
  std::vector<Check> checks;
  /// What stands in for what the paper used, if the same cannot be had. Such a verdict is
  /// "analogue" at best: nothing was reproduced.
  std::string stand_in{};
  /// There is a check, and all agree.
  bool agrees() const;
};

/// How much to spend. quick: a few seconds, smaller sizes, wider sampling error; else as published.
struct Effort {
  bool quick = false;
  Context context{};
};

struct Entry {
  std::string id;      // "phase-circle"
  std::string title;   // of its page
  std::string source;  // "arXiv 2312.10794, Figure 1"
  std::string shows;   // one or two sentences: what the paper shows or claims
  std::function<Finding(const Effort&)> run;
  /// Models and texts it reads (papers/models/fetched.hpp); without them it is skipped, and says
  /// so.
  std::vector<std::string> needs{};
};

}  // namespace attractor::papers
