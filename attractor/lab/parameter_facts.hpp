// A parameter described for who does not read C++: signatures, help and forms of other front ends
// are made from it.
//
//   {"name": "merge-radius", "group": ..., "help": ..., "kind": "float?", "default": null,
//    "allowed": "auto, off, or ...", "choices": [], "special": ["off"], "array": false, ...}
//
// kind: float, int, str, bool, word (one of `choices`), numbers, rows, texts, array, weights (a
// word of `choices` or an array), problem, run; a ? behind it: may be left to the program, which is
// null here and `none` as a word. default: as JSON; null also for an array that is not there.
#pragma once

#include "attractor/lab/json.hpp"
#include "attractor/lab/parameter.hpp"

namespace attractor::lab {

Json described(const Parameter& parameter);
/// Those of a list, in its order.
Json described(const ParameterList& list);

}  // namespace attractor::lab
