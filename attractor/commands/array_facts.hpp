// What the arrays of a result are: the names of their dimensions, unit and meaning, by the format
// of the result and the path of the array in result.h5 (docs/report_format.md). Files do not hold
// them; whoever shows arrays with names (xarray, a browser) looks them up here. Arrays of one
// result that share a dimension share its length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attractor::lab {

struct ArrayFacts {
  std::vector<std::string> dimensions{};  // one for each of the array
  std::string unit{}, meaning{};          // empty: none, or nothing more to say than its name does
};

/// An array without facts has a dimension named after its group ("/checks/ours": checks), others
/// after itself with a number.
ArrayFacts array_facts(std::string_view format, std::string_view path, std::size_t rank);

}  // namespace attractor::lab
