#include "attractor/drawing/film.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/drawing/svg_panel.hpp"
#include "attractor/drawing/svg_text.hpp"
#include "attractor/report/markup.hpp"
#include "attractor/report/scene_panel.hpp"

namespace attractor::report {
namespace {

constexpr std::size_t kMostTokens = 500;
constexpr double kSize = 480, kAcross = 240, kDown = 232, kRadius = 206;  // pixels
constexpr double kRest = 1;                                               // seconds

std::string document(const std::string& title, double size, const std::string& elements) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "viewBox=\"0 0 {0} {0}\" width=\"{1}\" height=\"{1}\" font-family=\"{2}\">\n"
      "<title>{3}</title>\n<rect width=\"{0}\" height=\"{0}\" fill=\"#ffffff\"/>\n{4}</svg>\n",
      kSize, size, kFileFonts, html_text(title), elements);
}

/// Shares of the whole length at which moments stand; the end is held for kRest seconds.
std::string key_times(std::size_t moments, double seconds) {
  std::string text;
  const double whole = seconds + kRest;
  for (std::size_t k = 0; k < moments; ++k)
    text += fmt::format("{:.5g};", seconds / whole * static_cast<double>(k) /
                                       static_cast<double>(std::max<std::size_t>(1, moments - 1)));
  return text + "1";
}

std::string timing(std::size_t moments, double seconds) {
  return fmt::format("keyTimes=\"{}\" dur=\"{:.4g}s\" repeatCount=\"indefinite\"",
                     key_times(moments, seconds), seconds + kRest);
}

/// What is seen at one moment only: 1 then, 0 else; the last moment is held.
std::string seen_at(std::size_t moment, std::size_t moments, const std::string& when) {
  std::string values;
  for (std::size_t j = 0; j <= moments; ++j)
    values += fmt::format("{}{}", j == 0 ? "" : ";", std::min(j, moments - 1) == moment ? 1 : 0);
  return fmt::format("<animate attributeName=\"opacity\" values=\"{}\" calcMode=\"discrete\" {}/>",
                     values, when);
}

std::string animate(const char* attribute, const std::vector<double>& values,
                    const std::string& when) {
  std::string list;
  for (const double value : values) list += fmt::format("{:.5g};", value);
  return fmt::format("<animate attributeName=\"{}\" values=\"{}{:.5g}\" {}/>", attribute, list,
                     values.back(), when);
}

/// Of every drawn token at every moment: how large the spot is that it is in.
std::vector<std::vector<double>> radii(const TokenScene& scene, std::size_t stride) {
  const std::size_t drawn = (scene.group.size() + stride - 1) / stride;
  std::vector<std::vector<double>> all;
  for (const std::vector<double>& xyz : scene.xyz) {
    const std::vector<Marker> spots = markers(scene, xyz, stride);
    std::vector<double>& own = all.emplace_back();
    for (std::size_t i = 0; i < scene.group.size(); i += stride) {
      double least = kInfinity;
      std::size_t count = 1;
      for (const Marker& m : spots) {
        const double z = scene.shape == TokenScene::Shape::sphere ? m.z - xyz[3 * i + 2] : 0;
        const double d = std::hypot(m.x - xyz[3 * i], m.y - xyz[3 * i + 1], z);
        if (d < least) least = d, count = m.count;
      }
      own.push_back(marker_radius(count, drawn, 22));
    }
  }
  return all;
}

std::string token(const TokenScene& scene, std::size_t i, const std::vector<double>& radius,
                  const std::string& when) {
  std::vector<double> x, y, shade;
  for (const std::vector<double>& xyz : scene.xyz) {
    const auto [across, up] = ball_place(scene, xyz[3 * i], xyz[3 * i + 1]);
    x.push_back(kAcross + kRadius * across);
    y.push_back(kDown - kRadius * up);
    shade.push_back(scene.shape == TokenScene::Shape::sphere && xyz[3 * i + 2] < 0 ? 0.36 : 1);
  }
  std::string text = fmt::format(
      "<circle r=\"{:.3g}\" fill=\"{}\" cx=\"{:.5g}\" cy=\"{:.5g}\" opacity=\"{:.2g}\">", radius[0],
      ink(scene.palette[scene.group[i]], Sheet::file), x[0], y[0], shade[0]);
  text += animate("cx", x, when) + animate("cy", y, when) + animate("r", radius, when);
  if (scene.shape == TokenScene::Shape::sphere) text += animate("opacity", shade, when);
  return text + "</circle>\n";
}

/// Lines in the unit of the sphere.
std::string polyline(const Series& series) {
  std::string path;
  bool pen = false;
  for (std::size_t k = 0; k < series.x.size(); ++k) {
    if (std::isnan(series.x[k])) {
      pen = false;
      continue;
    }
    path += fmt::format("{}{} {}", pen ? "L" : "M", px(kAcross + kRadius * series.x[k]),
                        px(kDown - kRadius * series.y[k]));
    pen = true;
  }
  return fmt::format("<path fill=\"none\" stroke=\"{}\" d=\"{}\"/>\n",
                     ink(series.colour, Sheet::file), path);
}

/// The clock: one text for each moment, seen while that moment is.
std::string clock(const Scene& scene, const std::string& when) {
  std::string text;
  for (std::size_t k = 0; k < scene.moments(); ++k) {
    std::string element = text_element(kSize / 2, kSize - 12, scene.labels[k],
                                       {.size = 16, .anchor = "middle"}, Sheet::file);
    element.insert(5, fmt::format(" opacity=\"{}\"", k == 0 ? 1 : 0));
    element.insert(element.rfind("</text>"), seen_at(k, scene.moments(), when));
    text += element;
  }
  return text;
}

/// Tokens that glide on their sphere.
std::string gliding(const Scene& scene, const std::string& when) {
  const TokenScene& tokens = *scene.tokens;
  const std::size_t stride = (tokens.group.size() + kMostTokens - 1) / kMostTokens;
  const bool sphere = tokens.shape == TokenScene::Shape::sphere;
  std::string text;
  if (sphere) text += polyline(graticule(tokens.camera, true));
  text += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"none\" stroke=\"#9aa3af\"/>\n",
                      kAcross, kDown, kRadius);
  if (sphere) text += polyline(graticule(tokens.camera, false));
  const std::vector<std::vector<double>> size = radii(tokens, stride);
  text += "<g stroke=\"#ffffff\" stroke-width=\"0.9\">\n";
  for (std::size_t i = 0; i < tokens.group.size(); i += stride) {
    std::vector<double> own;
    for (const std::vector<double>& moment : size) own.push_back(moment[i / stride]);
    text += token(tokens, i, own, when);
  }
  return text + "</g>\n";
}

/// Elements of one still.
std::string still(const Scene& scene, double position) {
  return fmt::format(
      "<g transform=\"translate(10,6)\">\n{}</g>\n",
      draw_panel(scene_panel(scene, position), kSize - 20, kSize - 12, Sheet::file).elements);
}

}  // namespace

std::string film_svg(const Scene& scene, double seconds) {
  const std::string when = timing(scene.moments(), seconds);
  if (scene.tokens && scene.tokens->shape != TokenScene::Shape::space)
    return document(scene.title, kSize, gliding(scene, when) + clock(scene, when));
  std::string text;
  for (std::size_t k = 0; k < scene.moments(); ++k)
    text += fmt::format("<g opacity=\"{}\">{}{}</g>\n", k == 0 ? 1 : 0,
                        seen_at(k, scene.moments(), when), still(scene, static_cast<double>(k)));
  return document(scene.title, kSize, text);
}

std::string film_frame(const Scene& scene, double position, double size) {
  return document(scene.title, size, still(scene, position));
}

}  // namespace attractor::report
