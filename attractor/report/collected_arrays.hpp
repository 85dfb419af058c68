// The arrays of a result in memory, for who hands them on without a file: another language, a test.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attractor/report/archive.hpp"

namespace attractor {

class CollectedArrays final : public Archive {
 public:
  using Archive::attribute;

  struct Data {
    std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint32_t>,
                 std::vector<std::uint64_t>, std::vector<std::string>>
        values;
    Shape shape;
  };
  using Value = std::variant<std::string, double, std::int64_t, std::uint64_t>;

  /// In the order of writing, by full paths ("/series/time").
  std::vector<std::pair<std::string, Data>> arrays{};
  /// Of each object, "/" being the whole.
  std::map<std::string, std::vector<std::pair<std::string, Value>>> attributes{};

  void group(std::string_view /*path*/) override {}
  void dataset(std::string_view path, std::span<const double> values, const Shape& shape) override {
    keep(path, values, shape);
  }
  void dataset(std::string_view path, std::span<const std::int64_t> values,
               const Shape& shape) override {
    keep(path, values, shape);
  }
  void dataset(std::string_view path, std::span<const std::uint32_t> values,
               const Shape& shape) override {
    keep(path, values, shape);
  }
  void dataset(std::string_view path, std::span<const std::uint64_t> values,
               const Shape& shape) override {
    keep(path, values, shape);
  }
  void dataset(std::string_view path, std::span<const std::string> values) override {
    keep(path, values, {values.size()});
  }
  void attribute(std::string_view object, std::string_view name, std::string_view text) override {
    set(object, name, std::string(text));
  }
  void attribute(std::string_view object, std::string_view name, double value) override {
    set(object, name, value);
  }
  void attribute(std::string_view object, std::string_view name, std::int64_t value) override {
    set(object, name, value);
  }
  void attribute(std::string_view object, std::string_view name, std::uint64_t value) override {
    set(object, name, value);
  }

 private:
  static std::string full(std::string_view path) {
    return (path.starts_with('/') ? "" : "/") + std::string(path);
  }
  template <class T>
  void keep(std::string_view path, std::span<const T> values, const Shape& shape) {
    arrays.emplace_back(full(path), Data{std::vector<T>(values.begin(), values.end()), shape});
  }
  void set(std::string_view object, std::string_view name, Value value) {
    attributes[full(object)].emplace_back(name, std::move(value));
  }
};

}  // namespace attractor
