#include "attractor/text/cut_words.hpp"

#include <algorithm>
#include <array>

#include "attractor/text/unicode.hpp"

namespace attractor::text {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt2Short =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

class Cutter {
 public:
  Cutter(std::u32string text, Cut cut) : text_(std::move(text)), cut_(cut) {}

  std::vector<std::string> words() {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::max(at + 1, cut_ == Cut::gpt2 ? gpt2(at) : newer(at));
      all.push_back(utf8(std::u32string_view(text_).substr(at, end - at)));
      at = end;
    }
    return all;
  }

 private:
  template <class Is>
  std::size_t while_(std::size_t at, const Is& is, std::size_t most = ~std::size_t{0}) const {
    for (std::size_t k = 0; at < text_.size() && k < most && is(text_[at]); ++k) ++at;
    return at;
  }
  static bool is_other(char32_t c) { return !is_space(c) && !is_letter(c) && !is_number(c); }
  static bool is_break(char32_t c) { return c == U'\r' || c == U'\n'; }
  char32_t peek(std::size_t at) const { return at < text_.size() ? text_[at] : U'\0'; }
  bool has(std::size_t at) const { return at < text_.size(); }

  /// 's and its like; where it ends, or `at`.
  std::size_t contraction(std::size_t at, bool any_case) const {
    if (peek(at) != U'\'') return at;
    static constexpr std::array<std::u32string_view, 7> kEnds = {U"s", U"t",  U"re", U"ve",
                                                                 U"m", U"ll", U"d"};
    for (const std::u32string_view end : kEnds) {
      std::u32string next = text_.substr(at + 1, end.size());
      if ((any_case ? lower(next) : next) == end) return at + 1 + end.size();
    }
    return at;
  }

  /// Spaces: all of them at the end of the text, else all but the last.
  std::size_t spaces(std::size_t at) const {
    const std::size_t end = while_(at, is_space);
    return end == text_.size() || end == at + 1 ? end : end - 1;
  }

  std::size_t gpt2(std::size_t at) const {
    if (const std::size_t end = contraction(at, false); end > at) return end;
    const std::size_t from = peek(at) == U' ' ? at + 1 : at;
    if (has(from) && is_letter(text_[from])) return while_(from, is_letter);
    if (has(from) && is_number(text_[from])) return while_(from, is_number);
    if (has(from) && is_other(text_[from])) return while_(from, is_other);
    return spaces(at);
  }

  std::size_t newer(std::size_t at) const {
    if (const std::size_t end = contraction(at, true); end > at) return end;
    const bool may_lead = !is_break(text_[at]) && !is_letter(text_[at]) && !is_number(text_[at]);
    const std::size_t word = may_lead ? at + 1 : at;
    if (has(word) && is_letter(text_[word])) return while_(word, is_letter);
    if (is_number(text_[at])) return while_(at, is_number, cut_ == Cut::llama3 ? 3 : 1);
    const std::size_t from = text_[at] == U' ' ? at + 1 : at;
    if (has(from) && is_other(text_[from])) return while_(while_(from, is_other), is_break);
    // \s*[\r\n]+: up to the last break among these spaces.
    const std::size_t end = while_(at, is_space);
    for (std::size_t k = end; k > at; --k)
      if (is_break(text_[k - 1])) return k;
    return spaces(at);
  }

  std::u32string text_;
  Cut cut_;
};

}  // namespace

std::vector<std::string> cut_words(std::string_view text, Cut cut) {
  if (cut == Cut::none)
    return text.empty() ? std::vector<std::string>{} : std::vector{std::string(text)};
  return Cutter(characters(text), cut).words();
}

std::optional<Cut> cut_of(std::string_view expression) {
  if (expression == kGpt2 || expression == kGpt2Short) return Cut::gpt2;
  if (expression == kLlama3) return Cut::llama3;
  if (expression == kQwen2) return Cut::qwen2;
  return {};
}

}  // namespace attractor::text
