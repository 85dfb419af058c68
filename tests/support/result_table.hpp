// A table of an answer, by its name.
#pragma once

#include <string>

#include "attractor/base/error.hpp"
#include "attractor/commands/result.hpp"

namespace attractor::lab {

inline const Table& table(const Result& answer, const std::string& name) {
  for (const Table& t : answer.tables)
    if (t.name == name) return t;
  throw Error("no table " + name);
}

}  // namespace attractor::lab
