// Byte-pair encoding: a stretch of text is cut into symbols, and the pair of neighbours that comes
// first in the list of merges is joined, again and again (the leftmost of equal ones). Ways in use:
//
//   bytes      every byte is a symbol, spelled as a printable character; stretches are cut by the
//              expression of GPT-2, Llama 3 or Qwen2       GPT-2, Llama 3, Qwen
//   pieces     every character is a symbol, a space is U+2581 and stands before the text too; what
//              the vocabulary lacks is written in bytes <0xNN>, if it has those   Llama, Mistral
//   scores     as pieces, but the best pair is the one whose join has the highest score  llama2.c
//
// Cost: n log n for a stretch of n symbols.
// Sennrich, Haddow, Birch, arXiv 1508.07909.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attractor/text/added_tokens.hpp"
#include "attractor/text/cut_words.hpp"

namespace attractor::text {

struct BytePairSetup {
  std::vector<std::string> vocabulary{};  // by id, as it is spelled in the file
  /// Pairs in their order: ids of both, and of what they become.
  struct Merge {
    std::uint32_t left, right, joined;
  };
  std::vector<Merge> merges{};
  std::vector<float> scores{};  // by id, for llama2.c; then there are no merges
  bool bytes = true;            // every byte a symbol, or every character
  Cut cut = Cut::gpt2;          // bytes
  bool composed = false;        // text in normal form first (Qwen)
  bool space_first = false;     // a space before the text
  bool mark_spaces = false;     // pieces: a space is U+2581
  bool whole_words = false;     // a stretch that is in the vocabulary is not taken apart (Llama 3)
  std::optional<std::uint32_t> unknown{};
  std::vector<AddedToken> added{};
  Frame frame{};
};

class BytePairs final : public models::Tokenizer {
 public:
  explicit BytePairs(BytePairSetup setup);

  models::Encoded encode(std::string_view text) const override;
  std::string decode(std::span<const std::uint32_t> ids) const override;
  std::size_t size() const override { return setup_.vocabulary.size(); }

 private:
  struct Join {
    double order;  // the smallest goes first
    std::uint32_t joined;
  };
  std::vector<std::uint32_t> symbols(std::string_view stretch) const;
  std::optional<Join> join(std::uint32_t left, std::uint32_t right) const;
  void merge(std::vector<std::uint32_t>& symbols) const;
  void add_stretch(std::string_view stretch, models::Encoded& out) const;

  BytePairSetup setup_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::unordered_map<std::uint64_t, Join> joins_;
  std::vector<std::optional<std::uint32_t>> bytes_;  // the symbol of each byte
};

/// The printable character that spells a byte (GPT-2's table).
char32_t spelled_byte(unsigned char byte);

}  // namespace attractor::text
