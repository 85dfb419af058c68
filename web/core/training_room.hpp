// The training room: keys as points of a plane with scores and labels, and what training makes of
// them: the way of p, the winners and since when, the Att-SVM margin with its certificate, and the
// basins.
#pragma once

#include "attractor/lab/json.hpp"

namespace attractor::web {

/// request: "inputs": [{"label": 1, "tokens": [{"x", "y", "score"}...]}...], the same number of
/// tokens in each; "start": [x, y]; "settings" of select by name. The problem has keys (x, y), and
/// label times score as a third coordinate that attention does not see and the head reads (as
/// training/examples.hpp has it).
lab::Json train(const lab::Json& request);

/// The same with the margin of the best tokens and of the choice that `chosen` names, without
/// training: what must follow a drag.
lab::Json margins(const lab::Json& request);

/// The same with starts on a grid of side x side: which choice each ends with.
lab::Json basins(const lab::Json& request);

/// An example by name (training/examples.hpp) as such a request; throws Error where its keys do not
/// lie in a plane.
lab::Json example_problem(const lab::Json& request);

}  // namespace attractor::web
