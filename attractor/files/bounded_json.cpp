#include "attractor/files/bounded_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "attractor/base/error.hpp"

namespace attractor {
namespace {

// What values cost beside their text: a node of a map, a string's own memory, room to grow.
constexpr std::size_t kValueBytes = 32, kKeyBytes = 112;

}  // namespace

std::string shown_text(std::string_view text) {
  std::string out(text.substr(0, 60));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > 60 ? out + "..." : out;
}

nlohmann::json bounded_json(std::string_view text, std::string_view name, std::size_t limit) {
  using nlohmann::json;
  std::size_t bytes = 0;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > static_cast<int>(kJsonDepth))
      throw Error(fmt::format("{}: is nested deeper than {} levels", name, kJsonDepth));
    if (event == json::parse_event_t::key)
      bytes += kKeyBytes + value.get_ref<const std::string&>().size();
    else if (event != json::parse_event_t::object_end && event != json::parse_event_t::array_end)
      bytes += kValueBytes + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
    if (bytes > limit)
      throw Error(fmt::format("{}: takes more than {} MB of memory", name, limit >> 20U));
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& problem) {
    throw Error(fmt::format("{}: is no JSON at its byte {}", name, problem.byte));
  } catch (const json::out_of_range&) {
    throw Error(fmt::format("{}: has a number beyond 1.8e308", name));
  } catch (const json::exception&) {
    throw Error(fmt::format("{}: is no JSON", name));
  }
}

}  // namespace attractor
