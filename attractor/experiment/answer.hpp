// What a question put to theory is answered with: named values, tables and figures. One shape gives
// the text on a terminal, the JSON of --json, result.h5, and the page, so that a command has only
// to compute. Values that are not finite become null in JSON and "-" in text.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attractor/experiment/json.hpp"
#include "attractor/experiment/page.hpp"
#include "attractor/experiment/parameter.hpp"

namespace attractor::experiment {

struct Table {
  std::string name;   // key in JSON, group in result.h5
  std::string title;  // heading in text and page; markup of figures
  std::vector<std::string> columns{};
  std::vector<std::vector<double>> rows{};  // each as long as columns
  std::string label_column{};               // a leading column of words, if named
  std::vector<std::string> labels{};        // its words, one for each row
  bool only_data = false;                   // long: left out of text and page
};

struct Answer {
  std::string title;             // of the page; plain text
  std::string headline;          // one or two sentences; markup of figures
  Json values = Json::object();  // number(x), words, short arrays of numbers
  std::vector<Table> tables{};
  std::function<std::vector<PageFigure>()> draw{};  // called when a page is written
  std::vector<std::string> remarks{};               // what the reader must know; plain sentences
  std::string not_delivered{};  // what the numerics could not do, and the remedy: exit status 3
};

/// What the one who asks may want to know or to stop while the answer is being computed.
struct AskContext {
  std::function<bool()> stop{};
  std::function<void(double done, const std::string& note)> report{};
  bool stopped() const { return stop && stop(); }
  void tell(double done, const std::string& note) const {
    if (report) report(done, note);
  }
};

/// Who asked: the parameters as they are and as they usually are.
struct Question {
  std::string program;  // "attractor stability"
  ParameterList now, usual;
  std::string command() const { return command_line(program, now, usual); }
};

/// The one object that --json prints.
Json summary(const Answer& answer, const Question& question, double wall_seconds);

/// Headline, values and tables for a terminal.
std::string text(const Answer& answer);

/// Writes result.h5, index.html, figures/ and at last summary.json into the directory.
void write_answer(const Answer& answer, const Question& question, double wall_seconds,
                  const std::filesystem::path& directory);

}  // namespace attractor::experiment
