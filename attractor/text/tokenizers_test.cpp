#include <gtest/gtest.h>

#include "attractor/text/byte_pairs.hpp"
#include "attractor/text/cut_words.hpp"
#include "attractor/text/unicode.hpp"
#include "attractor/text/word_pieces.hpp"

namespace attractor::text {
namespace {

using Words = std::vector<std::string>;

// ---- Unicode.

TEST(Unicode, CharactersGoThereAndBack) {
  const std::string text = "a\u00e9\u4e2d\U0001f600";
  EXPECT_EQ(characters(text).size(), 4U);
  EXPECT_EQ(utf8(characters(text)), text);
  EXPECT_EQ(characters("a\xff\xc3"), U"a\uFFFD\uFFFD");
  EXPECT_EQ(characters("\xed\xa0\x80").find(U'\xd800'),
            std::u32string::npos);  // half a surrogate pair
}

TEST(Unicode, FormsAndKinds) {
  EXPECT_EQ(decomposed(U"\u00e9"), U"e\u0301");
  EXPECT_EQ(composed(U"e\u0301"), U"\u00e9");
  EXPECT_EQ(lower(U"\u00c9\u0416\u0130"), U"\u00e9\u0436i\u0307");
  EXPECT_TRUE(is_letter(U'\u00e9') && is_letter(U'\u4e2d') && !is_letter(U'1') && !is_letter(U'_'));
  EXPECT_TRUE(is_number(U'1') && is_number(U'\u00bd') && !is_number(U'a'));
  EXPECT_TRUE(is_space(U' ') && is_space(U'\n') && is_space(U'\u00a0') && !is_space(U'\u200b'));
  EXPECT_TRUE(is_control(U'\u200b') && is_control(U'\x01') && !is_control(U'a'));
  EXPECT_TRUE(is_han(U'\u4e2d') && !is_han(U'\u3042'));
}

// ---- WordPiece.

WordPieceSetup small_bert() {
  WordPieceSetup s;
  s.vocabulary = {"[PAD]", "[UNK]", "[CLS]",  "[SEP]",  "[MASK]", "hello", "world",
                  "##s",   "un",    "##aff",  "##able", "!",      ",",     "don",
                  "'",     "t",     "\u4e2d", "\u6587", "cafe"};
  s.unknown = 1;
  s.added = {{"[MASK]", 4}};
  s.frame = {.before = {{"[CLS]", 2}}, .behind = {{"[SEP]", 3}}};
  return s;
}

TEST(WordPieces, TakeWordsApartGreedily) {
  const WordPieces t(small_bert());
  EXPECT_EQ(t.encode("Hello, WORLDS!").pieces,
            (Words{"[CLS]", "hello", ",", "world", "##s", "!", "[SEP]"}));
  EXPECT_EQ(t.encode("unaffable").pieces, (Words{"[CLS]", "un", "##aff", "##able", "[SEP]"}));
  EXPECT_EQ(t.encode("unaffablex hello").pieces, (Words{"[CLS]", "[UNK]", "hello", "[SEP]"}));
  EXPECT_EQ(t.encode("don't").pieces, (Words{"[CLS]", "don", "'", "t", "[SEP]"}));
  EXPECT_EQ(t.encode("caf\u00e9 cafe\u0301").pieces, (Words{"[CLS]", "cafe", "cafe", "[SEP]"}));
  EXPECT_EQ(t.encode("\u4e2d\u6587").pieces, (Words{"[CLS]", "\u4e2d", "\u6587", "[SEP]"}));
  EXPECT_EQ(t.encode("hello[MASK]world").pieces,
            (Words{"[CLS]", "hello", "[MASK]", "world", "[SEP]"}));
  EXPECT_EQ(t.encode("he\x01llo\u200b\tworld\u00a0").pieces,
            (Words{"[CLS]", "hello", "world", "[SEP]"}));
  EXPECT_EQ(t.encode("").pieces, (Words{"[CLS]", "[SEP]"}));
  const models::Encoded e = t.encode("hello");
  EXPECT_EQ(e.ids, (std::vector<std::uint32_t>{2, 5, 3}));
  EXPECT_EQ(e.special, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(t.decode(std::vector<std::uint32_t>{5, 6, 7}), "hello worlds");
  EXPECT_EQ(t.encode(std::string(101, 'h')).pieces, (Words{"[CLS]", "[UNK]", "[SEP]"}));
}

TEST(WordPieces, KeepCaseAndAccentsWhereTheModelDoes) {
  WordPieceSetup s = small_bert();
  s.lower_case = s.strip_accents = false;
  EXPECT_EQ(WordPieces(s).encode("hello Hello").pieces,
            (Words{"[CLS]", "hello", "[UNK]", "[SEP]"}));
}

// ---- Words.

TEST(CutWords, OfGpt2) {
  const auto cut = [](const char* text) { return cut_words(text, Cut::gpt2); };
  EXPECT_EQ(cut("Hello world's 12 ca!?"), (Words{"Hello", " world", "'s", " 12", " ca", "!?"}));
  EXPECT_EQ(cut("a  b"), (Words{"a", " ", " b"}));
  EXPECT_EQ(cut("a \n b  "), (Words{"a", " \n", " b", "  "}));
  EXPECT_EQ(cut("x1y\u00e9"), (Words{"x", "1", "y\u00e9"}));
  EXPECT_EQ(cut("we'll I'D"), (Words{"we", "'ll", " I", "'", "D"}));
  EXPECT_EQ(cut("\n\nx"), (Words{"\n", "\n", "x"}));
  EXPECT_TRUE(cut("").empty());
}

TEST(CutWords, OfLlama3AndQwen2) {
  EXPECT_EQ(cut_words("I'D say 12345", Cut::llama3), (Words{"I", "'D", " say", " ", "123", "45"}));
  EXPECT_EQ(cut_words("say 12", Cut::qwen2), (Words{"say", " ", "1", "2"}));
  EXPECT_EQ(cut_words("a.b\n\n c  d", Cut::qwen2), (Words{"a", ".b", "\n\n", " c", " ", " d"}));
  EXPECT_EQ(cut_words("x  \n  y", Cut::llama3), (Words{"x", "  \n", " ", " y"}));
  EXPECT_EQ(cut_words("end.\n", Cut::llama3), (Words{"end", ".\n"}));
  EXPECT_EQ(cut_of("\\w+"), std::nullopt);
}

// ---- Byte pairs.

TEST(BytePairs, SpellBytesAsGpt2Does) {
  EXPECT_EQ(spelled_byte('a'), U'a');
  EXPECT_EQ(spelled_byte(' '), U'\u0120');
  EXPECT_EQ(spelled_byte('\n'), U'\u010a');
  EXPECT_EQ(spelled_byte(0), U'\u0100');
  EXPECT_EQ(spelled_byte(255), U'\u00ff');
  EXPECT_EQ(spelled_byte(173), U'\u0143');
}

BytePairSetup small_gpt2() {
  BytePairSetup s;
  for (unsigned b = 0; b < 256; ++b)
    s.vocabulary.push_back(utf8(spelled_byte(static_cast<unsigned char>(b))));
  const auto merge = [&](std::uint32_t left, std::uint32_t right) {
    s.vocabulary.push_back(s.vocabulary[left] + s.vocabulary[right]);
    const auto made = static_cast<std::uint32_t>(s.vocabulary.size() - 1);
    s.merges.push_back({left, right, made});
    return made;
  };
  const std::uint32_t lo = merge('l', 'o'), low = merge(lo, 'w'), er = merge('e', 'r');
  merge(low, er);
  merge(' ', low);
  s.vocabulary.push_back("<|end|>");
  s.added = {{"<|end|>", static_cast<std::uint32_t>(s.vocabulary.size() - 1)}};
  return s;
}

TEST(BytePairs, JoinTheFirstPairOfTheListFirst) {
  const BytePairs t(small_gpt2());
  EXPECT_EQ(t.encode("lower").pieces, (Words{"lower"}));
  EXPECT_EQ(t.encode("low low").pieces, (Words{"low", "\u0120low"}));
  EXPECT_EQ(t.encode("slow").pieces, (Words{"s", "low"}));
  EXPECT_EQ(t.encode("lolo").pieces, (Words{"lo", "lo"}));
  EXPECT_EQ(t.encode("low<|end|>x").pieces, (Words{"low", "<|end|>", "x"}));
  const std::string any = "\u00e9 low\n\xff";
  EXPECT_EQ(t.decode(t.encode("\u00e9 low\n").ids), "\u00e9 low\n");
  (void)t.encode(any);
}

TEST(BytePairs, OfLongStretchesTakeNoLongerThanTheirLengthAllows) {
  BytePairSetup s = small_gpt2();
  s.cut = Cut::none;
  std::string text;
  for (int k = 0; k < 200000; ++k) text += "low";
  EXPECT_EQ(BytePairs(s).encode(text).ids.size(), 200000U);
}

TEST(BytePairs, InPiecesMarkSpacesAndFallBackToBytes) {
  BytePairSetup s;
  s.bytes = false;
  s.cut = Cut::none;
  s.mark_spaces = s.space_first = true;
  s.vocabulary = {"<unk>", "<s>", "\u2581", "a", "b", "\u2581a", "ab", "<0xC3>", "<0xA9>"};
  s.merges = {{2, 3, 5}, {3, 4, 6}};
  s.frame = {.before = {{"<s>", 1}}, .behind = {}};
  const BytePairs t(s);
  EXPECT_EQ(t.encode("ab a").pieces, (Words{"<s>", "\u2581a", "b", "\u2581a"}));
  EXPECT_EQ(t.encode("\u00e9").pieces, (Words{"<s>", "\u2581", "<0xC3>", "<0xA9>"}));
  EXPECT_EQ(t.decode(t.encode("b \u00e9 ab").ids), "<s> b \u00e9 ab");
}

TEST(BytePairs, ByScoresJoinTheBestPair) {
  BytePairSetup s;
  s.bytes = false;
  s.cut = Cut::none;
  s.vocabulary = {"<unk>", "a", "b", "c", "ab", "bc", "abc"};
  s.scores = {0, 0, 0, 0, -1, -0.5F, -3};
  EXPECT_EQ(BytePairs(s).encode("abc").pieces, (Words{"abc"}));  // bc first, then a with it
  s.vocabulary.back() = "x";
  EXPECT_EQ(BytePairs(s).encode("abc").pieces, (Words{"a", "bc"}));
}

TEST(BytePairs, WholeWordsAreLeftWhereTheModelSaysSo) {
  BytePairSetup s = small_gpt2();
  s.vocabulary.push_back("xyz");
  EXPECT_EQ(BytePairs(s).encode("xyz").pieces, (Words{"x", "y", "z"}));
  s.whole_words = true;
  EXPECT_EQ(BytePairs(s).encode("xyz").pieces, (Words{"xyz"}));
}

}  // namespace
}  // namespace attractor::text
