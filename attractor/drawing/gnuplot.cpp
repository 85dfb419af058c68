#include "attractor/drawing/gnuplot.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attractor/base/error.hpp"
#include "attractor/drawing/process.hpp"

namespace attractor::report {
namespace {

// Of gnuplot's complaint (echoed command, marker, "line N: sentence") the sentence.
std::string complaint(const std::string& text) {
  std::string last;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.find("line ") != std::string::npos && line.find(':') != std::string::npos) return line;
    if (!line.empty()) last = line;
  }
  return last.empty() ? "it gave no reason" : last;
}

}  // namespace

bool gnuplot_available() { return program_available("gnuplot"); }

std::string run_gnuplot(const std::string& script) {
  if (!gnuplot_available())
    throw Error("figures need gnuplot, which is not on PATH; install gnuplot-nox");
  // -d: no initialisation files.
  ProgramResult result = run_program("gnuplot", {"-d"}, script, {"GNUPLOT", "GDFONTPATH="});
  if (!result.succeeded || result.output.empty())
    throw Error(fmt::format("gnuplot failed: {}", complaint(result.complaint)));
  return std::move(result.output);
}

}  // namespace attractor::report
