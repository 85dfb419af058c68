// WordPiece, the tokenizer of BERT: text is cleaned (control characters go, Chinese characters
// stand alone, accents and capitals go where the model was trained so), cut at spaces and
// punctuation, and each word is taken apart greedily into the longest pieces of the vocabulary,
// those inside a word being spelled with "##". A word that cannot be taken apart, or is longer than
// `longest` characters, is the unknown token.
// Schuster, Nakajima 2012; Devlin et al. arXiv 1810.04805.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "attractor/text/added_tokens.hpp"

namespace attractor::text {

struct WordPieceSetup {
  std::vector<std::string> vocabulary{};  // by id
  std::uint32_t unknown = 0;
  std::string inside = "##";
  std::size_t longest = 100;
  bool clean = true, split_han = true, strip_accents = true, lower_case = true;
  std::vector<AddedToken> added{};
  Frame frame{};
};

class WordPieces final : public models::Tokenizer {
 public:
  explicit WordPieces(WordPieceSetup setup);

  models::Encoded encode(std::string_view text) const override;
  std::string decode(std::span<const std::uint32_t> ids) const override;
  std::size_t size() const override { return setup_.vocabulary.size(); }

 private:
  std::u32string normal(std::string_view text) const;
  void add_word(std::u32string_view word, models::Encoded& out) const;

  WordPieceSetup setup_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace attractor::text
