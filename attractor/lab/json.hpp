// A JSON value as every summary holds it: keys in the order of writing, null for what is not a
// finite number. nlohmann's library reads and writes the text, in json.cpp alone: its templates
// would cost a second in each of the hundred files that hold values (docs/decisions/build_time.md).
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace attractor::lab {

/// Text that is no JSON, a key that is missing, or a value of another kind than asked for.
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;

class Json {
 public:
  struct Member;  // name, value

  Json();
  Json(std::nullptr_t);
  template <Arithmetic T>
  Json(T value) : Json() {
    if constexpr (std::same_as<T, bool> || std::same_as<T, double>)
      set(value);
    else if constexpr (std::floating_point<T>)
      set(static_cast<double>(value));
    else if constexpr (std::signed_integral<T>)
      set(static_cast<std::int64_t>(value));
    else
      set(static_cast<std::uint64_t>(value));
  }
  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  template <class T>
  Json(const std::vector<T>& list) : Json(array()) {
    for (const auto& item : list) push_back(item);
  }
  /// Pairs that all begin with a text are the members of an object; else it is an array.
  Json(std::initializer_list<Json> items);
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  static Json array();
  static Json object();
  /// Throws JsonError; also on what is nested deeper than 64 levels.
  static Json parse(std::string_view text);
  /// null if parse() would throw.
  static Json parse_or_null(std::string_view text);

  /// indent < 0: one line. Throws JsonError if a text is not UTF-8.
  std::string dump(int indent = -1) const;
  /// One line; what is not UTF-8 becomes a mark of replacement.
  std::string dump_replacing() const;

  bool is_null() const { return value_.index() == 0; }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  bool is_number() const { return value_.index() >= 2 && value_.index() <= 4; }
  bool is_number_unsigned() const { return std::holds_alternative<std::uint64_t>(value_); }
  bool is_number_float() const { return std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  /// bool, a number, or std::string; throws JsonError if it is something else.
  template <class T>
  T get() const {
    if constexpr (std::same_as<T, bool>)
      return boolean();
    else if constexpr (std::same_as<T, std::string>)
      return text();
    else if constexpr (std::floating_point<T>)
      return static_cast<T>(real());
    else if (is_number_unsigned())
      return static_cast<T>(natural());
    else
      return is_number_float() ? static_cast<T>(real()) : static_cast<T>(whole());
  }

  /// Items of an array or members of an object; 0 of null, else 1.
  std::size_t size() const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// null becomes an object, and a missing member null.
  Json& operator[](std::string_view name);
  const Json& operator[](std::string_view name) const { return at(name); }
  const Json& at(std::string_view name) const;
  const Json& operator[](std::size_t k) const { return at(k); }
  const Json& at(std::size_t k) const;
  /// The text of a member, or this if there is none.
  std::string value(std::string_view name, const char* otherwise) const;
  /// Of an object; none if it is something else.
  const std::vector<Member>& items() const;
  /// null becomes an array.
  void push_back(Json item);
  /// The last item of an array that has one.
  Json& back();
  const Json& back() const { return at(size() - 1); }
  /// Items of an array; none if it is something else.
  const Json* begin() const;
  const Json* end() const;

  /// Numbers are equal by value, whatever their type.
  friend bool operator==(const Json& a, const Json& b) { return equal(a, b); }
  template <Arithmetic T>
  friend bool operator==(const Json& a, T b) {
    return equal(a, Json(b));
  }
  template <Arithmetic T>
  friend std::partial_ordering operator<=>(const Json& a, T b) {
    return a.real() <=> static_cast<double>(b);
  }
  friend std::ostream& operator<<(std::ostream& out, const Json& json);

 private:
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;
  friend struct JsonText;

  static bool equal(const Json& a, const Json& b);
  const Json* find(std::string_view name) const;
  void set(bool value);
  void set(double value);
  void set(std::int64_t value);
  void set(std::uint64_t value);
  bool boolean() const;
  double real() const;
  std::uint64_t natural() const;
  std::int64_t whole() const;
  const std::string& text() const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

struct Json::Member {
  std::string name;
  Json value;
};

/// null unless it is finite.
Json number(double value);

}  // namespace attractor::lab
