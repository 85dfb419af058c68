// A model from named tensors, as Hugging Face calls them. The names may stand behind a prefix
// ("bert.", "transformer.", "encoder.bert."), which is found by looking for the embeddings. Every
// shape is compared with the architecture before the tensor is read; a tensor that is missing, has
// another shape, or that nothing here uses (another architecture under a known name) gets one
// sentence that names it.
#pragma once

#include "attractor/models/model.hpp"
#include "attractor/models/tensor_source.hpp"

namespace attractor::models {

/// with_head: also an untied head, which only writing text needs.
Model assemble(const Architecture& architecture, const TensorSource& source,
               bool with_head = false);

}  // namespace attractor::models
