#include "attractor/text/word_pieces.hpp"

#include <algorithm>

#include "attractor/text/unicode.hpp"

namespace attractor::text {
namespace {

/// BERT counts all of ASCII that is no letter, digit or space as punctuation.
bool cuts(char32_t c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
         (c >= 123 && c <= 126) || is_punctuation(c);
}

}  // namespace

WordPieces::WordPieces(WordPieceSetup setup) : setup_(std::move(setup)) {
  for (std::size_t id = 0; id < setup_.vocabulary.size(); ++id)
    ids_.emplace(setup_.vocabulary[id], static_cast<std::uint32_t>(id));
}

std::u32string WordPieces::normal(std::string_view text) const {
  std::u32string clean;
  for (const char32_t c : characters(text)) {
    const bool space = c == U'\t' || c == U'\n' || c == U'\r' || is_space(c);
    if (setup_.clean && !space && (c == 0 || c == 0xfffd || is_control(c))) continue;
    if (setup_.split_han && is_han(c)) {
      clean += {U' ', c, U' '};
      continue;
    }
    clean.push_back(setup_.clean && space ? U' ' : c);
  }
  if (setup_.strip_accents) {
    clean = decomposed(clean);
    clean.erase(std::remove_if(clean.begin(), clean.end(), is_mark), clean.end());
  }
  return setup_.lower_case ? lower(clean) : clean;
}

void WordPieces::add_word(std::u32string_view word, models::Encoded& out) const {
  const auto unknown = [&] { append(out, setup_.unknown, setup_.vocabulary[setup_.unknown]); };
  if (word.size() > setup_.longest) return unknown();
  models::Encoded pieces;
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t end = word.size();
    auto found = ids_.end();
    for (; end > begin; --end) {
      const std::string piece =
          (begin > 0 ? setup_.inside : "") + utf8(word.substr(begin, end - begin));
      if ((found = ids_.find(piece)) != ids_.end()) break;
    }
    if (found == ids_.end()) return unknown();
    append(pieces, found->second, found->first);
    begin = end;
  }
  for (std::size_t k = 0; k < pieces.ids.size(); ++k)
    append(out, pieces.ids[k], std::move(pieces.pieces[k]));
}

models::Encoded WordPieces::encode(std::string_view text) const {
  models::Encoded out;
  for (const AddedToken& token : setup_.frame.before) append(out, token.id, token.content, true);
  split_at_added(
      text, setup_.added,
      [&](std::string_view part) {
        const std::u32string all = normal(part);
        std::size_t begin = 0;
        const auto flush = [&](std::size_t end) {
          if (end > begin) add_word(std::u32string_view(all).substr(begin, end - begin), out);
          begin = end;
        };
        for (std::size_t at = 0; at < all.size(); ++at) {
          if (!is_space(all[at]) && !cuts(all[at])) continue;
          flush(at);
          if (is_space(all[at]))
            begin = at + 1;
          else
            flush(at + 1);
        }
        flush(all.size());
      },
      [&](const AddedToken& token) { append(out, token.id, token.content); });
  for (const AddedToken& token : setup_.frame.behind) append(out, token.id, token.content, true);
  return out;
}

std::string WordPieces::decode(std::span<const std::uint32_t> ids) const {
  std::string text;
  for (const std::uint32_t id : ids) {
    const std::string& piece = setup_.vocabulary.at(id);
    if (piece.starts_with(setup_.inside))
      text += piece.substr(setup_.inside.size());
    else
      text += (text.empty() ? "" : " ") + piece;
  }
  return text;
}

}  // namespace attractor::text
