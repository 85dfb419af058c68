// A model and its tokenizer, from what lies on disk:
//
//   a folder            config.json with *.safetensors (or their index) or model.onnx,
//   onnx/model.onnx model.safetensors   its config.json beside it model.onnx          its
//   config.json beside it or one folder up model.bin           llama2.c; its tokenizer behind it in
//   the file, or tokenizer.bin beside it
//
// Pickles (pytorch_model.bin) may run code when they are read and are refused.
#pragma once

#include <filesystem>
#include <memory>

#include "attractor/files/models/tokenizer_file.hpp"
#include "attractor/models/model.hpp"

namespace attractor {

struct LoadedModel {
  std::shared_ptr<const models::Model> model;
  TokenizerPointer tokenizer;  // null: there is none
};

/// with_head: also an untied head.
LoadedModel read_model(const std::filesystem::path& place, bool with_head = false);

}  // namespace attractor
