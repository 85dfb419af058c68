#include "papers/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "attractor/base/error.hpp"
#include "attractor/drawing/page_file.hpp"
#include "papers/entry_text.hpp"
#include "papers/fetched.hpp"

namespace attractor::papers {
namespace {

std::string range(const Check& c) {
  if (c.least == c.most) return fmt::format("{:.6g}", c.least);
  if (std::isinf(c.most)) return fmt::format("at least {:.6g}", c.least);
  if (std::isinf(c.least)) return fmt::format("at most {:.6g}", c.most);
  return fmt::format("{:.6g} to {:.6g}", c.least, c.most);
}

std::string difference(const Check& c) {
  return fmt::format("{} is {:.6g}, expected {}{}", c.what, c.got, range(c),
                     c.why.empty() ? "" : " (" + c.why + ")");
}

std::string words(const Finding& finding) {
  const auto good = std::count_if(finding.checks.begin(), finding.checks.end(),
                                  [](const Check& c) { return c.agrees(); });
  if (finding.agrees())
    return fmt::format("{}: {} of {} checks{}", finding.stand_in.empty() ? "agrees" : "analogue",
                       good, finding.checks.size(),
                       finding.stand_in.empty() ? "" : "; " + finding.stand_in);
  std::string text = fmt::format("differs: {} of {} checks agree", good, finding.checks.size());
  for (const Check& c : finding.checks)
    if (!c.agrees()) text += "; " + difference(c);
  return text;
}

Table checks_table(const std::vector<Check>& checks) {
  Table table{.name = "checks",
              .title = "What was compared",
              .columns = {"ours", "least", "most", "agrees"},
              .label_column = "check",
              .yes_no = {"agrees"}};
  for (const Check& c : checks) {
    table.labels.push_back(without_markup(c.what));
    table.rows.push_back({c.got, c.least, c.most, c.agrees() ? 1.0 : 0.0});
  }
  return table;
}

/// The page of an entry: the verdict first, then what the paper shows, then ours.
Result presented(const Entry& entry, const Finding& finding, const std::string& verdict,
                 bool quick) {
  Result answer = finding.answer;
  answer.title = entry.title;
  answer.headline = lab::with_powers_of_ten(answer.headline);
  answer.remarks.insert(answer.remarks.begin(),
                        fmt::format("{} shows: {}", entry.source, entry.shows));
  // Why it differs; that it agrees is said by the tile.
  if (!finding.agrees() || !finding.stand_in.empty())
    answer.remarks.insert(answer.remarks.begin() + 1, "The verdict: " + verdict + ".");
  const auto good = std::count_if(finding.checks.begin(), finding.checks.end(),
                                  [](const Check& c) { return c.agrees(); });
  const char* state = !finding.agrees()          ? "differs"
                      : finding.stand_in.empty() ? "agrees"
                                                 : "analogue";
  answer.tiles = {{"verdict", state, fmt::format("{} of {} checks", good, finding.checks.size())},
                  {"paper", entry.source.substr(0, entry.source.find(',')),
                   entry.source.find(',') == std::string::npos
                       ? "as a whole"
                       : entry.source.substr(entry.source.find(',') + 2)},
                  {"size", quick ? "quick" : "as published",
                   quick ? "smaller than in the paper" : "as in the paper"}};
  for (std::string& remark : answer.remarks) remark = without_markup(remark);
  answer.tables.insert(answer.tables.begin(), checks_table(finding.checks));
  return answer;
}

}  // namespace

Reproduced run_entry(const Entry& entry, const Effort& effort) {
  Reproduced result{.verdict = {.id = entry.id, .title = entry.title, .source = entry.source}};
  Verdict& verdict = result.verdict;
  if (const std::string missing = what_is_missing(entry.needs); !missing.empty()) {
    verdict.skipped = true;
    verdict.words = "skipped: " + missing;
    return result;
  }
  const auto begin = std::chrono::steady_clock::now();
  try {
    const Finding finding = entry.run(effort);
    verdict.words = words(finding);
    verdict.agrees = finding.agrees() && finding.stand_in.empty();
    verdict.analogue = finding.agrees() && !finding.stand_in.empty();
    verdict.checks = finding.checks;
    result.answer = presented(entry, finding, verdict.words, effort.quick);
    result.call.program =
        fmt::format("attractor reproduce {}{}", entry.id, effort.quick ? " --quick" : "");
  } catch (const Error& error) {
    verdict.failed = true;
    verdict.words = fmt::format("failed: {}", error.what());
  } catch (const std::bad_alloc&) {
    verdict.failed = true;
    verdict.words = "failed: not enough memory";
  }
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

Verdict reproduce(const Entry& entry, const Effort& effort,
                  const std::filesystem::path& directory) {
  const Reproduced run = run_entry(entry, effort);
  const Verdict& verdict = run.verdict;
  if (directory.empty() || verdict.failed || verdict.skipped || effort.context.stopped())
    return verdict;
  write_result(run.answer, run.call, verdict.seconds, directory / entry.id);
  return verdict;
}

const char* state_of(const Verdict& v) {
  return v.skipped    ? "skipped"
         : v.failed   ? "failed"
         : v.agrees   ? "agrees"
         : v.analogue ? "analogue"
                      : "differs";
}

Json json(const Verdict& v) {
  Json checks = Json::array();
  for (const Check& c : v.checks)
    checks.push_back({{"check", c.what},
                      {"ours", number(c.got)},
                      {"least", number(c.least)},
                      {"most", number(c.most)},
                      {"agrees", c.agrees()}});
  return {{"id", v.id},           {"title", v.title},     {"source", v.source},
          {"agrees", v.agrees},   {"failed", v.failed},   {"verdict", v.words},
          {"state", state_of(v)}, {"seconds", v.seconds}, {"checks", std::move(checks)}};
}

}  // namespace attractor::papers
