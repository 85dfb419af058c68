#include "attractor/commands/view_json.hpp"

#include <fmt/format.h>

#include <utility>

#include "attractor/report/markup.hpp"

namespace attractor::lab {
namespace {

Json numbers(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double x : values) all.push_back(number(x));
  return all;
}

std::string colour(Colour c) { return fmt::format("#{:06x}", c); }

Json axis(const Axis& a) {
  constexpr const char* kScales[] = {"linear", "log", "power"};
  return {{"label", a.label},     {"scale", kScales[static_cast<std::size_t>(a.scale)]},
          {"low", number(a.low)}, {"high", number(a.high)},
          {"ticks", a.ticks},     {"whole", a.whole},
          {"names", a.names}};
}

Json series(const Series& s) {
  constexpr const char* kMarks[] = {"lines", "points", "steps", "boxes", "area"};
  Json colours = Json::array();
  for (const Colour c : s.colours) colours.push_back(colour(c));
  return {{"title", s.title},
          {"mark", kMarks[static_cast<std::size_t>(s.mark)]},
          {"x", numbers(s.x)},
          {"y", numbers(s.y)},
          {"colour", colour(s.colour)},
          {"width", s.width},
          {"size", s.size},
          {"dashed", s.dashed},
          {"opacity", s.opacity},
          {"rim", s.rim},
          {"sizes", numbers(s.sizes)},
          {"colours", std::move(colours)}};
}

Json guides(const std::vector<Guide>& all) {
  Json list = Json::array();
  for (const Guide& g : all)
    list.push_back({{"at", number(g.at)},
                    {"colour", colour(g.colour)},
                    {"width", g.width},
                    {"length", g.length},
                    {"dashed", g.dashed},
                    {"label", g.label}});
  return list;
}

Json heat(const Heat& h) {
  return {{"x", numbers(h.x)},
          {"y", numbers(h.y)},
          {"value", numbers(h.value)},
          {"label", h.label},
          {"low", h.low},
          {"high", h.high},
          {"ramp", h.ramp == Heat::Ramp::fade ? "fade" : "viridis"}};
}

Json panel(const Panel& p) {
  Json all = Json::array();
  for (const Series& s : p.series) all.push_back(series(s));
  return {{"title", p.title},
          {"x", axis(p.x)},
          {"y", axis(p.y)},
          {"heat", p.heat ? heat(*p.heat) : Json()},
          {"series", std::move(all)},
          {"vertical", guides(p.vertical)},
          {"horizontal", guides(p.horizontal)},
          {"bare", p.bare},
          {"equal_scale", p.equal_scale}};
}

}  // namespace

Json figure_json(const PageFigure& f) {
  Json panels = Json::array();
  for (const Panel& p : f.figure.panels) panels.push_back(panel(p));
  return {{"id", f.figure.id},           {"title", f.figure.title},     {"caption", f.caption},
          {"panels", std::move(panels)}, {"columns", f.figure.columns}, {"width", f.figure.width},
          {"height", f.figure.height}};
}

Json view_json(const Result& result) {
  using report::html_markup, report::html_text;
  const std::vector<Tile> shown = result.page ? result.page().tiles : result.tiles;
  Json tiles = Json::array(), figures = Json::array();
  for (const Tile& t : shown)
    tiles.push_back(Json(
        std::vector<std::string>{html_text(t.name), html_markup(t.value), html_markup(t.more)}));
  if (result.draw)
    for (const PageFigure& f : result.draw()) figures.push_back(figure_json(f));
  return {{"title", result.title},
          {"headline", html_markup(result.headline)},
          {"tiles", std::move(tiles)},
          {"figures", std::move(figures)}};
}

}  // namespace attractor::lab
