#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/version.hpp"
#include "attractor/report/html.hpp"
#include "papers/catalogue.hpp"
#include "papers/entry_text.hpp"

namespace attractor::papers {
namespace {

using experiment::Question;
using report::html_text;

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
  if (finding.agrees()) return fmt::format("agrees: {} of {} checks", good, finding.checks.size());
  std::string text = fmt::format("differs: {} of {} checks agree", good, finding.checks.size());
  for (const Check& c : finding.checks)
    if (!c.agrees()) text += "; " + difference(c);
  return text;
}

Table checks_table(const std::vector<Check>& checks) {
  Table table{.name = "checks",
              .title = "What was compared",
              .columns = {"ours", "least", "most", "agrees"},
              .label_column = "check"};
  for (const Check& c : checks) {
    table.labels.push_back(without_markup(c.what));
    table.rows.push_back({c.got, c.least, c.most, c.agrees() ? 1.0 : 0.0});
  }
  return table;
}

/// The page of an entry: the verdict first, then what the paper shows, then ours.
Answer presented(const Entry& entry, const Finding& finding, const std::string& verdict) {
  Answer answer = finding.answer;
  answer.title = entry.title;
  answer.headline = with_powers_of_ten(answer.headline);
  answer.remarks.insert(answer.remarks.begin(),
                        {fmt::format("{}: {}", entry.source, entry.shows), "Verdict: " + verdict});
  for (std::string& remark : answer.remarks) remark = without_markup(remark);
  answer.tables.insert(answer.tables.begin(), checks_table(finding.checks));
  return answer;
}

std::string thumbnail(const std::filesystem::path& directory) {
  const std::filesystem::path figures = directory / "figures";
  std::vector<std::string> names;
  if (std::filesystem::is_directory(figures))
    for (const auto& file : std::filesystem::directory_iterator(figures))
      if (file.path().extension() == ".svg") names.push_back(file.path().filename().string());
  if (names.empty()) return "";
  // The first figure of a page comes first in it.
  const std::string page = read_file(directory / "index.html", std::size_t{1} << 30U);
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return page.find("figures/" + a) < page.find("figures/" + b);
  });
  return names.front();
}

std::string card(const Verdict& v, const std::filesystem::path& directory) {
  const std::string picture = v.failed ? "" : thumbnail(directory / v.id);
  const std::string state = v.failed ? "failed" : v.agrees ? "agrees" : "differs";
  std::string text = fmt::format(
      "<article class=\"card entry {0}\"><a href=\"{1}/index.html\">{2}<h2>{3}</h2></a>"
      "<p class=\"source\">{4}</p><p><b class=\"verdict\">{0}</b> {5}</p>"
      "<p class=\"source\">{6:.1f} s</p></article>\n",
      state, html_text(v.id),
      picture.empty() ? ""
                      : fmt::format("<img loading=\"lazy\" alt=\"{}\" src=\"{}/figures/{}\">",
                                    html_text(v.title), html_text(v.id), html_text(picture)),
      html_text(v.title), html_text(v.source), html_text(v.words.substr(0, v.words.find(';'))),
      v.seconds);
  return text;
}

constexpr const char* kGalleryStyle = R"(<style>
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(320px, 1fr)); gap: 18px; }
.entry { padding: 14px; } .entry h2 { font-size: 1.05em; margin: 8px 0 4px; }
.entry img { width: 100%; height: 200px; object-fit: contain; background: #fff; }
.entry .source { color: #667; font-size: .85em; margin: 2px 0; }
.entry .verdict { padding: 1px 7px; border-radius: 9px; color: #fff; background: #0072b2; }
.entry.differs .verdict { background: #d55e00; } .entry.failed .verdict { background: #22262b; }
</style>
)";

}  // namespace

Check near(std::string what, double got, double expected, double within, std::string why) {
  return {std::move(what), got, expected - within, expected + within, std::move(why)};
}

Check near_relative(std::string what, double got, double expected, double share, std::string why) {
  return near(std::move(what), got, expected, share * std::abs(expected), std::move(why));
}

Check between(std::string what, double got, double least, double most, std::string why) {
  return {std::move(what), got, least, most, std::move(why)};
}

Check at_least(std::string what, double got, double least, std::string why) {
  return {std::move(what), got, least, HUGE_VAL, std::move(why)};
}

Check at_most(std::string what, double got, double most, std::string why) {
  return {std::move(what), got, -HUGE_VAL, most, std::move(why)};
}

bool Finding::agrees() const {
  return !checks.empty() &&
         std::all_of(checks.begin(), checks.end(), [](const Check& c) { return c.agrees(); });
}

Verdict reproduce(const Entry& entry, const Effort& effort,
                  const std::filesystem::path& directory) {
  Verdict verdict{.id = entry.id, .title = entry.title, .source = entry.source};
  const auto begin = std::chrono::steady_clock::now();
  Finding finding;
  try {
    finding = entry.run(effort);
    verdict.words = words(finding);
    verdict.agrees = finding.agrees();
    verdict.checks = finding.checks;
  } catch (const Error& error) {
    verdict.failed = true;
    verdict.words = fmt::format("failed: {}", error.what());
  } catch (const std::bad_alloc&) {
    verdict.failed = true;
    verdict.words = "failed: not enough memory";
  }
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (directory.empty() || verdict.failed || effort.context.stopped()) return verdict;
  const Question question{
      .program = fmt::format("attractor reproduce {}{}", entry.id, effort.quick ? " --quick" : "")};
  write_answer(presented(entry, finding, verdict.words), question, verdict.seconds,
               directory / entry.id);
  return verdict;
}

Json json(const Verdict& v) {
  Json checks = Json::array();
  for (const Check& c : v.checks)
    checks.push_back({{"check", c.what},
                      {"ours", number(c.got)},
                      {"least", number(c.least)},
                      {"most", number(c.most)},
                      {"agrees", c.agrees()}});
  return {{"id", v.id},           {"title", v.title},           {"source", v.source},
          {"agrees", v.agrees},   {"failed", v.failed},         {"verdict", v.words},
          {"seconds", v.seconds}, {"checks", std::move(checks)}};
}

void write_gallery(const std::vector<Verdict>& verdicts, bool quick,
                   const std::filesystem::path& directory) {
  const auto good =
      std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.agrees; });
  std::string body = kGalleryStyle;
  body +=
      fmt::format("<h1>{} of {} published results agree</h1>\n<p>{}</p>\n<div class=\"gallery\">\n",
                  good, verdicts.size(),
                  quick ? "Quick sizes; without --quick they are those of the papers."
                        : "At the sizes of the papers.");
  Json all = Json::array();
  for (const Verdict& v : verdicts) {
    body += card(v, directory);
    all.push_back(json(v));
  }
  body += "</div>\n";
  write_file(
      directory / "index.html",
      experiment::page_document("Attractor: the papers, run again", body,
                                ". All numbers: <a href=\"summary.json\">summary.json</a>."));
  const Json summary{{"version", kVersion}, {"quick", quick}, {"entries", std::move(all)}};
  write_file(directory / "summary.json", summary.dump(2) + "\n");
}

}  // namespace attractor::papers
