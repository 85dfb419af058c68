#include "attractor/lab/json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

namespace attractor::lab {

using Text = nlohmann::ordered_json;

namespace {

constexpr int kMostLevels =
    64;  // trees are walked and taken down by functions that call themselves

Text shallow_text(std::string_view text) {
  return Text::parse(text, [](int around, Text::parse_event_t event, Text&) {
    const bool opens =
        event == Text::parse_event_t::array_start || event == Text::parse_event_t::object_start;
    if (opens && around >= kMostLevels) throw JsonError("is nested deeper than 64 levels");
    return true;
  });
}

}  // namespace

// To and from the library that knows the text.
struct JsonText {
  static Text written(const Json& json) {
    switch (json.value_.index()) {
      case 0:
        return nullptr;
      case 1:
        return std::get<bool>(json.value_);
      case 2:
        return std::get<std::int64_t>(json.value_);
      case 3:
        return std::get<std::uint64_t>(json.value_);
      case 4:
        return std::get<double>(json.value_);
      case 5:
        return std::get<std::string>(json.value_);
      default:
        break;
    }
    Text all = json.is_array() ? Text::array() : Text::object();
    for (const Json& item : json) all.push_back(written(item));
    for (const auto& [name, value] : json.items()) all[name] = written(value);
    return all;
  }

  static Json read(const Text& text) {
    if (text.is_boolean()) return text.get<bool>();
    if (text.is_number_float()) return text.get<double>();
    if (text.is_number_unsigned()) return text.get<std::uint64_t>();
    if (text.is_number()) return text.get<std::int64_t>();
    if (text.is_string()) return text.get<std::string>();
    Json all;
    if (text.is_array()) all = Json::array();
    if (text.is_object()) all = Json::object();
    for (const auto& [name, value] : text.items())
      text.is_object() ? void(all[name] = read(value)) : all.push_back(read(value));
    return all;
  }
};

Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json::Json(std::initializer_list<Json> items) {
  const bool members = std::all_of(items.begin(), items.end(), [](const Json& item) {
    return item.is_array() && item.size() == 2 && item.at(0).is_string();
  });
  if (!members) {
    value_ = Array(items);
    return;
  }
  value_ = Object();
  for (const Json& item : items)
    if (!contains(item.at(0).text())) (*this)[item.at(0).text()] = item.at(1);
}

Json Json::array() {
  Json json;
  json.value_ = Array();
  return json;
}

Json Json::object() {
  Json json;
  json.value_ = Object();
  return json;
}

Json Json::parse(std::string_view text) {
  try {
    return JsonText::read(shallow_text(text));
  } catch (const Text::exception& problem) {
    throw JsonError(problem.what());
  }
}

Json Json::parse_or_null(std::string_view text) {
  try {
    return parse(text);
  } catch (const JsonError&) {
    return {};
  }
}

std::string Json::dump(int indent) const {
  try {
    return JsonText::written(*this).dump(indent);
  } catch (const Text::exception& problem) {
    throw JsonError(problem.what());
  }
}

std::string Json::dump_replacing() const {
  return JsonText::written(*this).dump(-1, ' ', false, Text::error_handler_t::replace);
}

std::size_t Json::size() const {
  if (is_array()) return std::get<Array>(value_).size();
  if (is_object()) return std::get<Object>(value_).size();
  return is_null() ? 0 : 1;
}

const Json* Json::find(std::string_view name) const {
  for (const Member& member : items())
    if (member.name == name) return &member.value;
  return nullptr;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = Object();
  if (!is_object()) throw JsonError("a member of what is no object");
  Object& members = std::get<Object>(value_);
  for (Member& member : members)
    if (member.name == name) return member.value;
  return members.emplace_back(Member{std::string(name), Json()}).value;
}

const Json& Json::at(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr) throw JsonError("there is no '" + std::string(name) + "'");
  return *found;
}

const Json& Json::at(std::size_t k) const {
  if (!is_array() || k >= size()) throw JsonError("there is no item " + std::to_string(k));
  return std::get<Array>(value_)[k];
}

std::string Json::value(std::string_view name, const char* otherwise) const {
  const Json* found = find(name);
  return found == nullptr ? otherwise : found->text();
}

const std::vector<Json::Member>& Json::items() const {
  static const Object none;
  return is_object() ? std::get<Object>(value_) : none;
}

void Json::push_back(Json item) {
  if (is_null()) value_ = Array();
  if (!is_array()) throw JsonError("an item of what is no array");
  std::get<Array>(value_).push_back(std::move(item));
}

Json& Json::back() {
  if (!is_array() || size() == 0) throw JsonError("there is no last item");
  return std::get<Array>(value_).back();
}

const Json* Json::begin() const { return is_array() ? std::get<Array>(value_).data() : nullptr; }
const Json* Json::end() const { return is_array() ? begin() + size() : nullptr; }

bool Json::boolean() const {
  if (!is_boolean()) throw JsonError("no boolean: " + dump_replacing());
  return std::get<bool>(value_);
}

void Json::set(bool value) { value_ = value; }
void Json::set(double value) { value_ = value; }
void Json::set(std::int64_t value) { value_ = value; }
void Json::set(std::uint64_t value) { value_ = value; }

double Json::real() const {
  if (is_number_float()) return std::get<double>(value_);
  if (is_number_unsigned()) return static_cast<double>(natural());
  return static_cast<double>(whole());
}

std::uint64_t Json::natural() const { return std::get<std::uint64_t>(value_); }

std::int64_t Json::whole() const {
  if (!std::holds_alternative<std::int64_t>(value_))
    throw JsonError("no number: " + dump_replacing());
  return std::get<std::int64_t>(value_);
}

const std::string& Json::text() const {
  if (!is_string()) throw JsonError("no text: " + dump_replacing());
  return std::get<std::string>(value_);
}

bool Json::equal(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_number_float() || b.is_number_float()) return a.real() == b.real();
    if (a.value_.index() != b.value_.index())
      return a.is_number_unsigned() ? std::cmp_equal(a.natural(), b.whole())
                                    : std::cmp_equal(a.whole(), b.natural());
  }
  if (a.value_.index() != b.value_.index()) return false;
  if (a.is_array()) return std::get<Array>(a.value_) == std::get<Array>(b.value_);
  if (a.is_object()) {
    const auto same = [](const Member& m, const Member& n) {
      return m.name == n.name && equal(m.value, n.value);
    };
    return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), same);
  }
  if (a.is_boolean()) return a.boolean() == b.boolean();
  if (a.is_string()) return a.text() == b.text();
  if (a.is_number_unsigned()) return a.natural() == b.natural();
  return a.is_null() || a.whole() == b.whole();
}

std::ostream& operator<<(std::ostream& out, const Json& json) {
  return out << json.dump_replacing();
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace attractor::lab
