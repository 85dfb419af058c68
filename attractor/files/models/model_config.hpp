// Hugging Face's config.json as an Architecture: bert, albert, gpt2, llama, mistral, qwen2, qwen3.
// What is not said has the value that the family usually has; what is said and would change the
// forward pass in a way that is not known here is refused with its name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attractor/models/architecture.hpp"

namespace attractor {

models::Architecture parse_model_config(std::string_view text, const std::string& name);
models::Architecture read_model_config(const std::filesystem::path& file);

}  // namespace attractor
