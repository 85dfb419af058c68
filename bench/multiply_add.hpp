// Fused multiply-adds and nothing else, with the widest vectors of the processor: the peak of one
// thread.
#pragma once

#include <cstddef>

namespace attractor {

/// Twelve independent chains, `rounds` long; the flops done. `sum` keeps them from being left out.
double multiply_add_f64(std::size_t rounds, double& sum);
double multiply_add_f32(std::size_t rounds, double& sum);

}  // namespace attractor
