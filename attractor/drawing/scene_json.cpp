#include "attractor/drawing/scene_json.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "attractor/drawing/indexed_png.hpp"
#include "attractor/drawing/svg_text.hpp"
#include "attractor/lab/json.hpp"

namespace attractor::report {
namespace {

using lab::Json;

template <class Whole>
void append_little(std::string& bytes, Whole value) {
  for (std::size_t k = 0; k < sizeof(Whole); ++k)
    bytes += static_cast<char>(value >> (8 * k) & 0xffU);
}

/// 32000 is 1; -32768 is unknown.
std::string shorts(const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) {
    const double scaled =
        std::isfinite(value) ? std::clamp(32000 * value, -32767.0, 32767.0) : -32768;
    append_little(bytes,
                  static_cast<std::uint16_t>(static_cast<std::int16_t>(std::lround(scaled))));
  }
  return base64(bytes);
}

std::string floats(const std::vector<double>& x, const std::vector<double>& y) {
  std::string bytes;
  for (std::size_t k = 0; k < x.size(); ++k)
    for (const double value : {x[k], y[k]})
      append_little(bytes, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  return base64(bytes);
}

/// The name of a variable of the style, or a colour.
std::string colour_name(Colour colour) {
  const std::string text = ink(colour, Sheet::page);
  constexpr std::string_view kBefore = "var(--";
  if (!text.starts_with(kBefore)) return text;
  return text.substr(kBefore.size(), text.size() - kBefore.size() - 1);
}

Json token_json(const TokenScene& s) {
  constexpr const char* kShapes[] = {"circle", "sphere", "ball", "space"};
  Json json = Json::object();
  json["shape"] = kShapes[static_cast<std::size_t>(s.shape)];
  json["turnable"] = s.turnable;
  if (s.shape == TokenScene::Shape::sphere)
    for (const double value : s.camera) json["camera"].push_back(value);
  for (const Colour colour : s.palette) json["palette"].push_back(colour_name(colour));
  json["group"] = base64({reinterpret_cast<const char*>(s.group.data()), s.group.size()});
  for (const std::vector<double>& frame : s.xyz) json["frames"].push_back(shorts(frame));
  json["unit"] = s.unit;
  json["axes"] = Json::array();
  for (const std::string& name : s.axes) json["axes"].push_back(name);
  return json;
}

Json line_json(const MovingLine& line) {
  Json json = Json::object();
  json["colour"] = colour_name(line.colour);
  json["width"] = line.width;
  json["dashed"] = line.dashed;
  json["filled"] = line.filled;
  json["arrow"] = line.arrow;
  json["frames"] = Json::array();
  for (std::size_t k = 0; k < line.x.size(); ++k)
    json["frames"].push_back(floats(line.x[k], line.y[k]));
  return json;
}

Json plane_json(const PlaneScene& s) {
  Json json = Json::object();
  json["x"] = std::vector<double>{s.x.low, s.x.high};
  json["y"] = std::vector<double>{s.y.low, s.y.high};
  json["axes"] = Json::array();
  if (!s.x.label.empty() || !s.y.label.empty())
    for (const std::string* name : {&s.x.label, &s.y.label}) json["axes"].push_back(*name);
  json["whole"] = s.x.whole;
  json["dots"] = Json::array();
  json["colours"] = Json::array();
  json["ringed"] = Json::array();
  for (std::size_t k = 0; k < s.dot_x.size(); ++k) {
    json["dots"].push_back(s.dot_x[k]);
    json["dots"].push_back(s.dot_y[k]);
    json["colours"].push_back(colour_name(s.dot_colour[k]));
    json["ringed"].push_back(static_cast<bool>(s.dot_ring[k]));
  }
  json["names"] = s.dot_name;
  json["meaning"] = s.meaning;
  json["sizes"] = Json::array();
  for (const std::vector<double>& sizes : s.size) json["sizes"].push_back(shorts(sizes));
  json["lines"] = Json::array();
  for (const MovingLine& line : s.lines) json["lines"].push_back(line_json(line));
  return json;
}

}  // namespace

std::string scene_json(const Scene& scene) {
  Json json = Json::object();
  json["title"] = scene.title;
  json["note"] = scene.note;
  json["labels"] = scene.labels;
  json["clocks"] = Json::object();
  for (const SceneClock& clock : scene.clocks) {
    Json moments = Json::array();
    for (const double at : clock.at) moments.push_back(lab::number(at));
    json["clocks"][clock.name] = std::move(moments);
  }
  json["rest"] = scene.rest;
  if (scene.tokens) json["tokens"] = token_json(*scene.tokens);
  if (scene.plane) json["plane"] = plane_json(*scene.plane);
  std::string text = json.dump_replacing();
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 6)
    text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace attractor::report
