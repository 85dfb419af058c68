// 2,000 files of weights and tokenizers, changed at random: refused with one sentence, or read,
// within 64 MB and four times the bytes of the tensors, whatever a header says.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <new>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/random.hpp"
#include "attractor/files/arrays/safetensors.hpp"
#include "attractor/files/models/model_file.hpp"
#include "attractor/models/pass.hpp"
#include "tests/support/memory_limit.hpp"
#include "tests/support/model_files.hpp"

namespace attractor {
namespace {

namespace fs = std::filesystem;

/// One to four changes: a byte, a stretch cut out or doubled, the end cut off, a number made huge.
std::string changed(std::string bytes, std::uint64_t seed) {
  const Stream stream(seed, "hostile files");
  std::uint64_t draw = 0;
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(stream.below(std::max<std::size_t>(bound, 1), 0, draw++));
  };
  // Half of the changes fall into the header.
  const auto place = [&] {
    return below(below(2) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 600));
  };
  for (std::size_t k = below(4) + 1; k > 0 && !bytes.empty(); --k) {
    const std::size_t at = place();
    switch (below(6)) {
      case 0:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << below(8)));
        break;
      case 2:
        bytes.erase(at, below(40) + 1);
        break;
      case 3:
        bytes.insert(at, bytes.substr(place(), below(40) + 1));
        break;
      case 4:
        bytes.resize(at);
        break;
      default:
        if (const std::size_t digit = bytes.find_first_of("0123456789", at);
            digit != std::string::npos)
          bytes.insert(digit, below(2) == 0 ? "99999999999" : "-1e");
        else
          bytes.replace(at, std::min<std::size_t>(8, bytes.size() - at), std::string(8, '\xff'));
    }
  }
  return bytes;
}

constexpr std::size_t kMegabyte = 1024 * 1024;

/// What reading may take for tensors of so many bytes.
std::size_t budget(std::size_t tensor_bytes) { return 64 * kMegabyte + 4 * tensor_bytes; }

class HostileModels : public testing::Test {
 protected:
  HostileModels()
      : folder_(fs::path(testing::TempDir()) / ("hostile_models_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    write_file(folder_ / "config.json", small_bert_config());
  }
  ~HostileModels() override { fs::remove_all(folder_); }

  static void use(const fs::path& read) {
    const LoadedModel m = read_model(read, true);
    models::Pass pass(*m.model, std::vector<std::uint32_t>{1, 2, 3});
    pass.step();
    if (m.tokenizer) (void)m.tokenizer->encode("a bc ab caf\xc3\xa9 12");
  }

  /// How many of 500 changed files were refused.
  int refused(const std::string& name, const std::string& good, const fs::path& read) {
    int count = 0;
    write_file(folder_ / name, good);
    use(read);  // threads and what they keep are there from now on
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
      std::ofstream(folder_ / name, std::ios::binary) << changed(good, seed);
      const MemoryLimit limit(budget(good.size()));
      try {
        use(read);
      } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        EXPECT_LT(text.size(), 400U) << text;
        ++count;
      } catch (const std::bad_alloc&) {
        ADD_FAILURE() << name << ", seed " << seed << " takes more memory than its tensors";
      }
    }
    return count;
  }
  fs::path folder_;
};

// The limit does limit, and a file of many tensors keeps to it.
TEST_F(HostileModels, TensorsOfManyMegabytesAreReadWithinTheBudget) {
  constexpr std::size_t kEntries = 6 * kMegabyte;
  const std::string bytes =
      safetensors_of({{"weight", {{kEntries}, std::vector<float>(kEntries, 1.0F)}}});
  std::ofstream(folder_ / "large.safetensors", std::ios::binary) << bytes;
  std::vector<float> read;
  {
    const MemoryLimit limit(budget(bytes.size()));
    const Safetensors file(folder_ / "large.safetensors");
    read.resize(kEntries);
    file.read("weight", read);
    void* more =
        ::mmap(nullptr, budget(bytes.size()), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(more, MAP_FAILED);
  }
  EXPECT_EQ(read.back(), 1.0F);
}

TEST_F(HostileModels, Safetensors) {
  EXPECT_GT(refused("model.safetensors", safetensors_of(small_bert_tensors()), folder_), 250);
}

TEST_F(HostileModels, Onnx) {
  EXPECT_GT(refused("model.onnx", onnx_of(small_bert_tensors(), true), folder_), 250);
}

TEST_F(HostileModels, Llama2c) {
  EXPECT_GT(refused("m.bin", small_llama2c() + llama2c_pieces(), folder_ / "m.bin"), 150);
}

TEST_F(HostileModels, Tokenizers) {
  write_file(folder_ / "model.safetensors", safetensors_of(small_bert_tensors()));
  const std::string good =
      R"({"version": "1.0", "added_tokens": [{"id": 2, "content": "[CLS]", "special": true}],
          "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                         "strip_accents": null, "lowercase": true},
          "pre_tokenizer": {"type": "BertPreTokenizer"},
          "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
             {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]},
          "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100,
             "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4, "b": 5, "##c": 6}}})";
  EXPECT_GT(refused("tokenizer.json", good, folder_), 250);
}

}  // namespace
}  // namespace attractor
