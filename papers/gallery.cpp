#include "papers/gallery.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attractor/base/file.hpp"
#include "attractor/base/version.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/report/html.hpp"
#include "papers/gallery_css.hpp"

namespace attractor::papers {
namespace {

using report::html_text;

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

}  // namespace

void write_gallery(const std::vector<Verdict>& verdicts, bool quick,
                   const std::filesystem::path& directory) {
  const auto good =
      std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.agrees; });
  std::string body = "<style>\n" + std::string(kGalleryCss) + "</style>\n";
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
  write_file(directory / "index.html",
             lab::page_document("Attractor: the papers, run again", body,
                                ". All numbers: <a href=\"summary.json\">summary.json</a>."));
  const Json summary{{"version", kVersion}, {"quick", quick}, {"entries", std::move(all)}};
  write_file(directory / "summary.json", summary.dump(2) + "\n");
}

}  // namespace attractor::papers
