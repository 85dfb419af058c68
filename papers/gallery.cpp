#include "papers/gallery.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attractor/base/file.hpp"
#include "attractor/base/version.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/report/markup.hpp"
#include "papers/gallery_css.hpp"
#include "papers/gallery_js.hpp"

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

/// What follows the verdict in words: "5 of 5 checks", or what differs first.
std::string behind(const std::string& words) {
  const std::size_t colon = words.find(": ");
  const std::string rest = colon == words.npos ? words : words.substr(colon + 2);
  return rest.substr(0, rest.find(';'));
}

/// Colours of maps have a meaning: on dark screens they are not turned over as lines are.
bool is_map(const std::filesystem::path& figure) {
  return read_file(figure, std::size_t{1} << 30U).find("<image ") != std::string::npos;
}

std::string card(const Verdict& v, const std::filesystem::path& directory) {
  const bool page = !v.failed && !v.skipped;
  const std::string picture = page ? thumbnail(directory / v.id) : "";
  const bool map = !picture.empty() && is_map(directory / v.id / "figures" / picture);
  return fmt::format(
      "<article class=\"card entry {0}\" data-state=\"{0}\">{1}{2}"
      "<h2>{3}</h2>{4}<p class=\"source\">{5}</p><p><b class=\"verdict\">{0}</b> {6}, "
      "{7:.1f} s</p></article>\n",
      state_of(v), page ? fmt::format("<a href=\"{}/index.html\">", html_text(v.id)) : "",
      picture.empty()
          ? ""
          : fmt::format("<img loading=\"lazy\" alt=\"\"{} src=\"{}/figures/{}\">",
                        map ? " class=\"map\"" : "", html_text(v.id), html_text(picture)),
      html_text(v.title), page ? "</a>" : "", html_text(v.source), html_text(behind(v.words)),
      v.seconds);
}

/// Words to look for, and a button for each verdict that there is.
std::string filter(const std::vector<Verdict>& verdicts) {
  std::string text =
      "<div class=\"filter\" hidden><input type=\"search\" placeholder=\"Words of a title or "
      "paper\" aria-label=\"Filter\">";
  const auto button = [&](const char* state, const char* words, std::size_t count) {
    text +=
        fmt::format("<button type=\"button\" data-state=\"{}\" aria-pressed=\"{}\">{} {}</button>",
                    state, *state == '\0' ? "true" : "false", words, count);
  };
  button("", "all", verdicts.size());
  for (const char* state : {"agrees", "analogue", "differs", "skipped", "failed"}) {
    const auto count = std::count_if(verdicts.begin(), verdicts.end(), [&](const Verdict& v) {
      return std::string_view(state_of(v)) == state;
    });
    if (count > 0) button(state, state, static_cast<std::size_t>(count));
  }
  return text + "</div>\n";
}

/// Which entries were left out; each card says why.
std::string skipped(const std::vector<Verdict>& verdicts) {
  std::string names;
  for (const Verdict& v : verdicts)
    if (v.skipped) names += (names.empty() ? "" : ", ") + html_text(v.id);
  return names.empty() ? "" : " Skipped, because data are missing: " + names + ".";
}

}  // namespace

void write_gallery(const std::vector<Verdict>& verdicts, bool quick,
                   const std::filesystem::path& directory) {
  const auto good =
      std::count_if(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.agrees; });
  std::string body = "<style>\n" + std::string(kGalleryCss) + "</style>\n";
  body += fmt::format("<h1>{} of {} published results agree</h1>\n<p>{}{}</p>\n{}", good,
                      verdicts.size(),
                      quick ? "Quick sizes; without --quick they are those of the papers."
                            : "At the sizes of the papers.",
                      skipped(verdicts), filter(verdicts));
  body += "<div class=\"gallery\">\n";
  Json all = Json::array();
  for (const Verdict& v : verdicts) {
    body += card(v, directory);
    all.push_back(json(v));
  }
  body += "</div>\n<p class=\"nothing\" hidden>Nothing matches.</p>\n<script type=\"module\">\n" +
          std::string(kGalleryJs) + "</script>\n";
  write_file(directory / "index.html",
             lab::page_document("the papers, run again", body,
                                ". All numbers: <a href=\"summary.json\">summary.json</a>.", true));
  const Json summary{{"version", kVersion}, {"quick", quick}, {"entries", std::move(all)}};
  write_file(directory / "summary.json", summary.dump(2) + "\n");
}

}  // namespace attractor::papers
