#include "attractor/files/models/tokenizer_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "attractor/models/tokenizer.hpp"

namespace attractor {
namespace {

/// Pieces as an old file of llama2.c spells them: <unk>, <s>, </s>, the 256 bytes as characters in
/// UTF-8, then what was learned.
std::string old_file(const std::vector<std::string>& learned) {
  std::vector<std::string> pieces = {"<unk>", "\n<s>\n", "\n</s>\n"};
  for (unsigned b = 0; b < 256; ++b)
    pieces.push_back(b < 128 ? std::string(1, static_cast<char>(b))
                             : std::string{static_cast<char>(0xC0U | b >> 6U),
                                           static_cast<char>(0x80U | (b & 63U))});
  pieces.insert(pieces.end(), learned.begin(), learned.end());
  std::string file;
  const auto add = [&](auto number) {
    char bytes[sizeof(number)];
    std::memcpy(bytes, &number, sizeof(number));
    file.append(bytes, sizeof(number));
  };
  add(std::int32_t{8});
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    add(k < 259 ? 0.0F : -static_cast<float>(k));
    add(static_cast<std::int32_t>(pieces[k].size()));
    file += pieces[k];
  }
  return file;
}

TEST(OldLlama2cTokenizer, TakesCharactersThatWereLearnedAndBytesForTheRest) {
  // 259 " ", 260 "!", 261 "ï"; "é" was not learned.
  const TokenizerPointer tokenizer =
      parse_llama2c_tokenizer(old_file({" ", "!", "\u00ef"}), 262, "file");
  const models::Encoded text = tokenizer->encode("\u00ef!\u00e9");
  EXPECT_EQ(text.ids, (std::vector<std::uint32_t>{1, 259, 261, 260, 3 + 0xC3, 3 + 0xA9}));
}

}  // namespace
}  // namespace attractor
