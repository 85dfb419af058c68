// Enumerators by name. An enum whose namespace has
//
//   std::span<const std::string_view> names(Rule);   // in the order of the enumerators
//
// can be written as a word and read from one: name(rule), named<Rule>("rule of attention", "sa").
// Parameters, files and messages all go through this.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace attractor {

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E e) {
  { names(e) } -> std::convertible_to<std::span<const std::string_view>>;
};

template <NamedEnum E>
std::string_view name(E e) {
  return names(e)[static_cast<std::size_t>(e)];
}

/// Its place in the list.
std::optional<std::size_t> place_of(std::string_view name, std::span<const std::string_view> names);
/// Throws Error: "WHAT 'name' is unknown; allowed: ...".
[[noreturn]] void refuse_name(std::string_view what, std::string_view name,
                              std::span<const std::string_view> allowed);

/// Nothing for another name.
template <NamedEnum E>
std::optional<E> find_named(std::string_view text) {
  const std::optional<std::size_t> place = place_of(text, names(E{}));
  return place ? std::optional(static_cast<E>(*place)) : std::nullopt;
}

/// Throws Error on another name.
template <NamedEnum E>
E named(std::string_view what, std::string_view text) {
  const std::optional<E> found = find_named<E>(text);
  if (!found) refuse_name(what, text, names(E{}));
  return *found;
}

template <NamedEnum E>
std::vector<E> every() {
  std::vector<E> all;
  for (std::size_t k = 0; k < names(E{}).size(); ++k) all.push_back(static_cast<E>(k));
  return all;
}

}  // namespace attractor

template <attractor::NamedEnum E>
struct fmt::formatter<E> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(E e, Context& context) const {
    return fmt::formatter<std::string_view>::format(attractor::name(e), context);
  }
};
