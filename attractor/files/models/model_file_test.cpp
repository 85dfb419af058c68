#include "attractor/files/models/model_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "attractor/base/file.hpp"
#include "attractor/files/models/llama2c.hpp"
#include "attractor/files/models/model_config.hpp"
#include "attractor/files/models/onnx_weights.hpp"
#include "attractor/models/pass.hpp"
#include "tests/support/model_files.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

namespace fs = std::filesystem;

class ModelFolder : public testing::Test {
 protected:
  ModelFolder()
      : folder_(fs::path(testing::TempDir()) / ("model_file_test_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~ModelFolder() override { fs::remove_all(folder_); }
  fs::path write(const std::string& name, const std::string& content) const {
    write_file(folder_ / name, content);
    return folder_ / name;
  }
  fs::path folder_;
};

// ---- Configurations.

std::string said_of(const std::string& config) {
  return refusal([&] { parse_model_config(config, "config.json"); });
}

TEST(ModelConfig, ReadsFamilies) {
  const models::Architecture b = parse_model_config(small_bert_config(), "c");
  EXPECT_EQ(b.family, models::Family::bert);
  EXPECT_EQ(b.head_dim, 4U);
  EXPECT_EQ(b.place, models::NormPlace::post);
  const models::Architecture l = parse_model_config(
      R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
          "num_key_value_heads": 2, "intermediate_size": 100, "vocab_size": 1000, "rope_theta": 5e5,
          "max_position_embeddings": 131072, "tie_word_embeddings": true,
          "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                           "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})",
      "c");
  EXPECT_EQ(l.keys(), 16U);
  EXPECT_TRUE(l.tied && l.gated && l.causal && !l.query_bias);
  EXPECT_EQ(l.scaling.kind, RotaryScaling::Kind::llama3);
  EXPECT_EQ(l.scaling.original_positions, 8192);
  EXPECT_EQ(l.theta, 5e5);
}

TEST(ModelConfig, RefusesWhatItDoesNotKnowByName) {
  EXPECT_SAYS(said_of(R"({"model_type": "mamba"})"),
              "model_type 'mamba' is unknown; allowed: bert, albert");
  EXPECT_SAYS(said_of("[]"), "is no configuration of a model");
  EXPECT_SAYS(said_of(R"({"model_type": "bert"})"), "has no 'hidden_size'");
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = small_bert_config();
    text.replace(text.find(from), from.size(), to);
    return said_of(text);
  };
  EXPECT_SAYS(changed("\"hidden_size\": 8", "\"hidden_size\": -8"),
              "'hidden_size' = -8 is not allowed");
  EXPECT_SAYS(changed("\"hidden_size\": 8", "\"hidden_size\": 1e30"),
              "'hidden_size' = 1e+30 is not allowed");
  EXPECT_SAYS(changed("\"hidden_size\": 8", "\"hidden_size\": 9"),
              "2 heads do not divide the hidden size 9");
  EXPECT_SAYS(changed("\"hidden_size\": 8", "\"hidden_size\": 800000"),
              "hidden size = 800000 is not allowed");
  EXPECT_SAYS(changed("\"gelu\"", "\"mish\""), "'hidden_act' = 'mish' is unknown");
  EXPECT_SAYS(changed("\"gelu\"", "7"), "'hidden_act' is no text");
  EXPECT_SAYS(changed("{", "{\"position_embedding_type\": \"relative_key\", "),
              "'position_embedding_type'");
  EXPECT_SAYS(
      said_of(
          R"({"model_type": "qwen2", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
                          "intermediate_size": 8, "vocab_size": 9, "use_sliding_window": true})"),
      "'use_sliding_window' is true");
}

// ---- Folders.

TEST_F(ModelFolder, ReadsSafetensorsBesideTheirConfiguration) {
  write("config.json", small_bert_config());
  write("model.safetensors", safetensors_of(small_bert_tensors()));
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n##c\n");
  const LoadedModel m = read_model(folder_);
  ASSERT_NE(m.tokenizer, nullptr);
  EXPECT_EQ(m.tokenizer->encode("a bc").ids, (std::vector<std::uint32_t>{2, 4, 5, 6, 3}));
  models::Pass pass(*m.model, m.tokenizer->encode("a bc").ids);
  while (!pass.done()) pass.step();
  EXPECT_EQ(pass.state().rows, 5U);
  EXPECT_EQ(read_model(folder_ / "model.safetensors").model->words, m.model->words);
}

TEST_F(ModelFolder, SaysWhatIsMissingOrTooMuch) {
  EXPECT_SAYS(refusal([&] { read_model(folder_ / "x"); }), "no such file or folder");
  EXPECT_SAYS(refusal([&] { read_model(folder_); }), "has no config.json");
  write("config.json", small_bert_config());
  EXPECT_SAYS(refusal([&] { read_model(folder_); }), "has no weights; looked for *.safetensors");
  write("pytorch_model.bin", "x");
  EXPECT_SAYS(refusal([&] { read_model(folder_); }), "its weights are a pickle");
  TensorMapText tensors = small_bert_tensors();
  const auto said = [&](const TensorMapText& t) {
    write("model.safetensors", safetensors_of(t));
    return refusal([&] { read_model(folder_); });
  };
  EXPECT_EQ(said(tensors), "");
  TensorMapText fewer = tensors;
  fewer.erase("encoder.layer.1.output.dense.bias");
  EXPECT_SAYS(said(fewer),
              "has no tensor 'encoder.layer.1.output.dense.bias', which a model of type bert with "
              "2 layers has");
  TensorMapText more = tensors;
  more["encoder.layer.0.attention.self.sinks"] = {{2}, {1, 2}};
  EXPECT_SAYS(said(more),
              "tensor 'encoder.layer.0.attention.self.sinks' has no place in a model of type bert");
  TensorMapText other = tensors;
  other["encoder.layer.0.intermediate.dense.bias"] = {{11}, std::vector<float>(11, 0.0F)};
  EXPECT_SAYS(said(other), "has the shape (11); its configuration needs (12)");
  TensorMapText bad = tensors;
  bad["encoder.layer.0.intermediate.dense.bias"].data[3] = NAN;
  EXPECT_SAYS(said(bad),
              "'encoder.layer.0.intermediate.dense.bias' holds a number that is not finite");
  TensorMapText heads = tensors;
  heads["cls.predictions.bias"] = {{1}, {0}};
  EXPECT_EQ(said(heads), "");  // a head for a task
}

// ---- ONNX.

TEST_F(ModelFolder, ReadsOnnxAndNamesMatricesAfterTheirNodes) {
  write("config.json", small_bert_config());
  for (const bool halves : {false, true}) {
    write("model.onnx", onnx_of(small_bert_tensors(), halves));
    const LoadedModel m = read_model(folder_);
    const std::vector<float> up = m.model->layers[1].up.weights.unpacked();
    const std::vector<float> exact =
        small_bert_tensors()["encoder.layer.1.intermediate.dense.weight"].data;
    for (std::size_t k = 0; k < up.size(); ++k) EXPECT_NEAR(up[k], exact[k], halves ? 1e-3 : 0);
  }
  // In parts, as large files are cut.
  const std::string whole = onnx_of(small_bert_tensors(), false);
  write("p0", whole.substr(0, 1000));
  write("p1", whole.substr(1000));
  const OnnxWeights parts({folder_ / "p0", folder_ / "p1"});
  EXPECT_EQ(parts.names().size(), OnnxWeights({folder_ / "model.onnx"}).names().size());
}

TEST_F(ModelFolder, RefusesBrokenOnnx) {
  const auto said = [&](const std::string& bytes) {
    const fs::path file = write("m.onnx", bytes);
    return refusal([&] { OnnxWeights w({file}); });
  };
  EXPECT_SAYS(said(""), "it has no graph");
  EXPECT_SAYS(said(std::string("\x3a\xff\xff\xff\xff\x0f", 6)), "is shorter than a field of it");
  EXPECT_SAYS(said(std::string("\x3a\x02\x0b\x00", 4)), "has the wire type 3");
  EXPECT_SAYS(said(std::string(20, '\xff')), "has a number of more than 64 bits");
  EXPECT_SAYS(said(proto(7, 2, proto(5, 2, onnx_tensor("w", {1000000}, 1, "abcd")))),
              "tensor 'w' of shape (1000000) needs 4000000 bytes in one piece and has 4");
  EXPECT_SAYS(
      said(proto(7, 2, proto(5, 2, onnx_tensor("w", {1}, 1, "abcd") + proto(14, 0, "\x01")))),
      "is in another file");
  EXPECT_SAYS(
      said(proto(7, 2, proto(5, 2, onnx_tensor("w", {1ULL << 40U, 1ULL << 40U}, 1, "abcd")))),
      "has more than 4294967296 numbers");
}

// ---- llama2.c.

TEST_F(ModelFolder, ReadsLlama2cWithItsTokenizer) {
  const std::string model = small_llama2c(), pieces = llama2c_pieces();
  write("m.bin", model + pieces);
  const LoadedModel m = read_model(folder_ / "m.bin");
  EXPECT_EQ(m.model->architecture.position, models::Positions::rotary_pairs);
  ASSERT_NE(m.tokenizer, nullptr);
  EXPECT_EQ(m.tokenizer->encode("ab").ids, (std::vector<std::uint32_t>{1, 3, 6}));
  write("alone.bin", model);
  EXPECT_EQ(read_model(folder_ / "alone.bin").tokenizer, nullptr);
  write("tokenizer.bin", pieces);
  EXPECT_NE(read_model(folder_ / "alone.bin").tokenizer, nullptr);
  EXPECT_TRUE(is_llama2c(folder_ / "m.bin"));
  EXPECT_FALSE(is_llama2c(folder_ / "tokenizer.bin"));
  write("short.bin", model.substr(0, model.size() - 1));
  EXPECT_SAYS(refusal([&] { read_model(folder_ / "short.bin"); }), "bytes, the file has");
  write("long.bin", model + pieces + "x");
  EXPECT_SAYS(refusal([&] { read_model(folder_ / "long.bin"); }),
              "1 bytes follow the last of 8 pieces");
  write("head.bin", std::string(28, '\x7f'));
  EXPECT_SAYS(refusal([&] { read_model(folder_ / "head.bin"); }), "are no header of llama2.c");
}

// ---- Tokenizers.

std::string said_of_tokenizer(const std::string& text) {
  return refusal([&] { parse_tokenizer_json(text, "tokenizer.json"); });
}

TEST(TokenizerFile, ReadsBytePairsWithSpacesMarked) {
  const TokenizerPointer t = parse_tokenizer_json(
      R"({"added_tokens": [{"id": 5, "content": "<s>", "special": true}],
          "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
             {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
          "pre_tokenizer": null,
          "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
             {"Sequence": {"id": "A", "type_id": 0}}]},
          "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true,
             "vocab": {"<unk>": 0, "▁": 1, "a": 2, "b": 3, "▁a": 4}, "merges": ["▁ a"]}})",
      "t");
  EXPECT_EQ(t->encode("a bz").ids, (std::vector<std::uint32_t>{5, 4, 1, 3, 0}));
}

TEST(TokenizerFile, RefusesWhatItDoesNotKnowByName) {
  EXPECT_SAYS(said_of_tokenizer("{}"), "has no 'model'");
  EXPECT_SAYS(said_of_tokenizer(R"({"model": {"type": "Unigram", "vocab": {"a": 0}}})"),
              "its model 'Unigram' is unknown; allowed: WordPiece, BPE");
  EXPECT_SAYS(
      said_of_tokenizer(R"({"model": {"type": "BPE", "vocab": {"a": 4000000000}, "merges": []}})"),
      "4000000000 is no number of a token");
  EXPECT_SAYS(
      said_of_tokenizer(R"({"model": {"type": "BPE", "vocab": {"a": 3000000}, "merges": []}})"),
      "has the number 3000000 in a vocabulary of 1");
  EXPECT_SAYS(
      said_of_tokenizer(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}})"),
      "token 0 is both 'a' and 'b'");
  EXPECT_SAYS(
      said_of_tokenizer(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})"),
      "token 'b' is not in the vocabulary");
  EXPECT_SAYS(said_of_tokenizer(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [7]}})"),
              "7 is no pair to merge");
  EXPECT_SAYS(
      said_of_tokenizer(
          R"({"normalizer": {"type": "NFKC"}, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})"),
      "its normalizer 'NFKC' is unknown for BPE");
  EXPECT_SAYS(
      said_of_tokenizer(
          R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\w+"}, "behavior": "Isolated"},
                                    "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})"),
      "it cuts words by '\\w+', which is unknown");
  EXPECT_SAYS(
      said_of_tokenizer(
          R"({"normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
                                    "model": {"type": "WordPiece", "unk_token": "a", "vocab": {"a": 0}}})"),
      "its normalizer 'Lowercase' is unknown for WordPiece");
}

}  // namespace
}  // namespace attractor
