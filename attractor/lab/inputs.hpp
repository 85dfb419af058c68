// What a setup holds where a command line names data: the data themselves, with the name they were
// given by. Nothing here reads a file: who starts a run from words loads what its parameters name
// (files/load_inputs.hpp), who starts it from a program puts arrays in.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attractor/attention/weights.hpp"
#include "attractor/base/array.hpp"

namespace attractor::training {
struct Problem;
}
namespace attractor::models {
struct Architecture;
struct Model;
class Tokenizer;
}  // namespace attractor::models

namespace attractor::lab {

/// A list of numbers, and how it was written ("0.1:9:90").
struct Numbers {
  std::vector<double> values{};
  std::string spelled{};  // empty: number by number

  Numbers() = default;
  Numbers(std::initializer_list<double> list) : values(list) {}
  Numbers(std::vector<double> list) : values(std::move(list)) {}
  bool empty() const { return values.empty(); }
  std::size_t size() const { return values.size(); }
  auto begin() const { return values.begin(); }
  auto end() const { return values.end(); }
  friend bool operator==(const Numbers& a, const Numbers& b) { return a.values == b.values; }
};

/// Lists one after the other: "0,1;0,0.5".
struct Rows {
  std::vector<std::vector<double>> values{};

  bool empty() const { return values.empty(); }
};

/// Numbers of any shape: an array, or the file (".npy" or "HDF5[:/dataset]") it is in.
struct ArrayInput {
  std::string name{};  // empty: none, or an array without a name
  std::shared_ptr<const Array> array{};

  ArrayInput() = default;
  ArrayInput(Array given) : array(std::make_shared<const Array>(std::move(given))) {}
  bool given() const { return array != nullptr || !name.empty(); }
  /// In messages.
  std::string what() const { return name.empty() ? "the array" : name; }
  /// Throws Error if the file was not loaded.
  const Array& get() const;
};

/// A matrix of weights for each head: of a kind (attention/weights.hpp), or given.
struct WeightInput {
  std::optional<WeightKind> kind{};  // none and no array: the identity
  ArrayInput given{};

  WeightInput() = default;
  WeightInput(WeightKind k) : kind(k) {}
  WeightInput(Array array) : given(std::move(array)) {}
  bool is_given() const { return given.given(); }
  bool identity() const { return !is_given() && drawn() == WeightKind::identity; }
  /// Depends on a seed.
  bool random() const;
  WeightKind drawn() const { return kind.value_or(WeightKind::identity); }
};

/// A training problem: itself, or the file, directory or example it comes from.
struct ProblemInput {
  std::string name{};
  std::shared_ptr<const training::Problem> problem{};

  bool given() const { return problem != nullptr || !name.empty(); }
  /// Throws Error if there is none or it was not loaded.
  const training::Problem& get() const;
};

/// What a run left: its arrays by their paths in result.h5 ("/snapshots/positions").
struct RunInput {
  std::string name{};  // directory or result.h5
  std::map<std::string, Array> arrays{};

  bool has(const std::string& path) const { return arrays.count(path) > 0; }
};

/// A trained model with its tokenizer: itself, or the file or folder it is in.
struct ModelInput {
  std::string name{};
  std::shared_ptr<const models::Model> model{};
  std::shared_ptr<const models::Tokenizer> tokenizer{};  // null: texts are numbers of tokens

  bool given() const { return model != nullptr || !name.empty(); }
  /// Throws Error if there is none or it was not loaded.
  const models::Model& get() const;
};

/// What a model is made of, without its weights: itself, or the config.json that says it.
struct ArchitectureInput {
  std::string name{};
  std::shared_ptr<const models::Architecture> architecture{};

  bool given() const { return architecture != nullptr || !name.empty(); }
  const models::Architecture& get() const;
};

/// A text: itself, or the file it is in.
struct TextInput {
  std::string name{};
  std::shared_ptr<const std::string> text{};

  TextInput() = default;
  TextInput(std::string given) : text(std::make_shared<const std::string>(std::move(given))) {}
  bool given() const { return text != nullptr || !name.empty(); }
  const std::string& get() const;
};

}  // namespace attractor::lab
