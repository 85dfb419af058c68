#include "attractor/files/models/model_file.hpp"

#include <fmt/format.h>

#include <optional>
#include <system_error>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/arrays/safetensors.hpp"
#include "attractor/files/models/llama2c.hpp"
#include "attractor/files/models/model_config.hpp"
#include "attractor/files/models/onnx_weights.hpp"
#include "attractor/models/assemble.hpp"

namespace attractor {
namespace {

namespace fs = std::filesystem;

/// Where the parts of a model are.
struct ModelPlace {
  fs::path weights, config;  // config: empty for llama2.c
  fs::path folder;           // of the tokenizer
};

std::optional<fs::path> weights_in(const fs::path& folder) {
  for (const char* name : {"model.safetensors.index.json", "model.safetensors"})
    if (fs::exists(folder / name)) return folder / name;
  std::vector<fs::path> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors") others.push_back(entry.path());
  if (others.size() > 1)
    throw Error(fmt::format("{}: has {} files of safetensors and no index of them; name one",
                            folder.string(), others.size()));
  if (others.size() == 1) return others.front();
  for (const char* name : {"model.onnx", "onnx/model.onnx"})
    if (fs::exists(folder / name)) return folder / name;
  return {};
}

ModelPlace place_of(const fs::path& given) {
  std::error_code ignored;  // a name that is too long does not exist either
  if (!fs::exists(given, ignored))
    throw Error(fmt::format("{}: no such file or folder", given.string()));
  if (fs::is_directory(given)) {
    if (!fs::exists(given / "config.json"))
      throw Error(
          fmt::format("{}: has no config.json; a folder of a model has one", given.string()));
    const std::optional<fs::path> weights = weights_in(given);
    if (!weights && fs::exists(given / "pytorch_model.bin"))
      throw Error(fmt::format(
          "{}: its weights are a pickle (pytorch_model.bin), which may run code when it is read; "
          "save them as safetensors",
          given.string()));
    if (!weights)
      throw Error(
          fmt::format("{}: has no weights; looked for *.safetensors, model.safetensors.index.json, "
                      "model.onnx and onnx/model.onnx",
                      given.string()));
    return {*weights, given / "config.json", given};
  }
  const fs::path folder = given.parent_path();
  const std::string extension = given.extension().string();
  if (extension == ".onnx" || extension == ".safetensors" ||
      given.filename().string().ends_with(".index.json")) {
    for (const fs::path& beside : {folder, folder / ".."})
      if (fs::exists(beside / "config.json")) return {given, beside / "config.json", beside};
    throw Error(fmt::format("{}: has no config.json beside it", given.string()));
  }
  return {given, {}, folder};
}

LoadedModel read_llama2c(const ModelPlace& place, bool with_head) {
  const Llama2c file(place.weights);
  LoadedModel loaded{.model = std::make_shared<models::Model>(
                         models::assemble(file.architecture(), file, with_head)),
                     .tokenizer = nullptr};
  const std::size_t pieces = file.architecture().vocabulary;
  if (const std::string rest = file.rest(); !rest.empty())
    loaded.tokenizer = parse_llama2c_tokenizer(rest, pieces, place.weights.string());
  else if (const fs::path beside = place.folder / "tokenizer.bin"; fs::exists(beside))
    loaded.tokenizer =
        parse_llama2c_tokenizer(read_file(beside, std::size_t{16} << 20), pieces, beside.string());
  return loaded;
}

std::unique_ptr<models::TensorSource> source_of(const fs::path& weights) {
  if (weights.extension() == ".onnx")
    return std::make_unique<OnnxWeights>(std::vector<fs::path>{weights});
  return std::make_unique<Safetensors>(weights);
}

}  // namespace

LoadedModel read_model(const fs::path& given, bool with_head) {
  const ModelPlace place = place_of(given);
  if (place.config.empty()) return read_llama2c(place, with_head);
  const models::Architecture architecture = read_model_config(place.config);
  const std::unique_ptr<models::TensorSource> source = source_of(place.weights);
  LoadedModel loaded{
      .model = std::make_shared<models::Model>(models::assemble(architecture, *source, with_head)),
      .tokenizer = read_tokenizer(place.folder)};
  const std::size_t vocabulary = architecture.vocabulary;
  if (loaded.tokenizer && loaded.tokenizer->size() > vocabulary)
    throw Error(fmt::format("{}: the tokenizer has {} tokens, the model {}", given.string(),
                            loaded.tokenizer->size(), vocabulary));
  return loaded;
}

}  // namespace attractor
