// What every command gives: named values, tables, arrays, figures, and whether it was delivered.
// One shape gives the text on a terminal, the JSON of --json, result.h5 (files/result_file.hpp) and
// the page (drawing/page_file.hpp), so that a command has only to compute. Values that are not
// finite become null in JSON and "-" in text.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attractor/base/array.hpp"
#include "attractor/commands/page.hpp"
#include "attractor/lab/context.hpp"
#include "attractor/lab/json.hpp"
#include "attractor/lab/parameter.hpp"
#include "attractor/report/archive.hpp"

namespace attractor::lab {

struct Table {
  std::string name;   // key in JSON, group in result.h5
  std::string title;  // heading in text and page; markup of figures
  std::vector<std::string> columns{};
  std::vector<std::vector<double>> rows{};  // each as long as columns
  std::string label_column{};               // a leading column of words, if named
  std::vector<std::string> labels{};        // its words, one for each row
  std::vector<std::string> shown_labels{};  // for text and page, if they are to be shorter
  std::vector<std::string> yes_no{};        // columns of 1 and 0 that mean yes and no
  bool only_data = false;                   // long: left out of text and page
};

/// An array that is no part of result.h5: written where its parameter names a file, and kept for
/// who takes arrays.
struct Output {
  std::string name;
  std::string file;  // .npy; empty: nobody asked for a file
  Array array;
};

/// What one would ask next, and why.
struct Question {
  std::string why;            // a sentence
  std::string command;        // of the registry: "flow"
  Settings settings{};        // "true" for a flag
  std::string words() const;  // as it is typed
};

struct Result {
  std::string title;             // of the page; plain text
  std::string headline;          // one or two sentences; markup of figures
  Json values = Json::object();  // number(x), words, short arrays of numbers
  std::vector<Tile> tiles{};     // of the page: at most six of them, in words
  std::vector<Table> tables{};
  std::function<std::vector<PageFigure>()> draw{};  // called when a page is written
  std::vector<std::string> remarks{};               // what the reader must know; plain sentences
  std::vector<Question> next{};
  std::string not_delivered{};  // what the numerics could not do, and the remedy: exit status 3
  std::string interrupted{};    // where it was stopped; nothing else is meant then
  std::vector<Output> outputs{};

  // ---- For runs that have more to show than values and tables: what they show instead.
  std::string format = "attractor answer 1";  // of result.h5
  std::function<void(Archive&)> arrays{};     // of result.h5, for values and tables
  std::string words{};                        // on a terminal, for headline, values and tables
  std::function<Json()> curves{};             // over time, too long for --json: what sweeps measure
  std::function<Page()> page{};               // for a page of tiles, figures and tables
  std::string footer{};                       // of the page; plain
};

/// Who asked: the parameters as they are and as they usually are.
struct Call {
  std::string program;  // "attractor stability"
  ParameterList now, usual;
  std::string again{};  // what to type instead of command(), where that alone would not do
  std::string command() const { return command_line(program, now, usual); }
};

/// The one object that --json prints.
Json summary(const Result& answer, const Call& call, double wall_seconds);

/// Headline, values and tables for a terminal: sentences are wrapped to its width, and tables that
/// are wider come in parts. width 0: nothing is.
std::string text(const Result& answer, std::size_t width = 0);

/// The cells of a table in words, the head first; at most 60 rows, and no column without a number.
std::vector<std::vector<std::string>> cells(const Table& table);
/// Every value that there is, by its name: markup.
std::vector<std::pair<std::string, std::string>> value_words(const Result& answer);

/// "critical noise" of critical_noise.
std::string spaced(std::string name);
/// Tiles whose values are not there are left out: "–".
void add_tile(std::vector<Tile>& tiles, std::string name, std::string value, std::string more);

/// Arrays, or values and tables, for result.h5: numbers that depend on the parameters only, no
/// host, no clock, no threads.
void archive(const Result& answer, const Call& call, Archive& file);

}  // namespace attractor::lab
