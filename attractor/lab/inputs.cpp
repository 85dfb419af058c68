#include "attractor/lab/inputs.hpp"

#include <fmt/format.h>

#include "attractor/base/error.hpp"

namespace attractor::lab {
namespace {

[[noreturn]] void not_loaded(const std::string& name) {
  throw Error(fmt::format("{} was named, but not loaded", name));
}

}  // namespace

const Array& ArrayInput::get() const {
  if (!array) not_loaded(what());
  return *array;
}

bool WeightInput::random() const {
  return !is_given() && kind && *kind != WeightKind::identity && *kind != WeightKind::qk &&
         *kind != WeightKind::minus_qk;
}

const training::Problem& ProblemInput::get() const {
  if (!given()) throw Error("the problem is missing; name a file, a directory or example:NAME");
  if (!problem) not_loaded(name);
  return *problem;
}

const models::Model& ModelInput::get() const {
  if (!given())
    throw Error("the model is missing; name a folder with config.json, or a file of weights");
  if (!model) not_loaded(name);
  return *model;
}

const models::Architecture& ArchitectureInput::get() const {
  if (!architecture) not_loaded(name);
  return *architecture;
}

const std::string& TextInput::get() const {
  if (!text) not_loaded(name);
  return *text;
}

}  // namespace attractor::lab
