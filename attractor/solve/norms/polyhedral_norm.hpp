// The two norms whose balls are polytopes.
#pragma once

namespace attractor::solve {

enum class PolyhedralNorm { largest, sum };  // |w|_inf, |w|_1

}  // namespace attractor::solve
