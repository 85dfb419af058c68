#include "attractor/files/models/tokenizer_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/bounded_json.hpp"
#include "attractor/text/byte_pairs.hpp"
#include "attractor/text/word_pieces.hpp"

namespace attractor {
namespace {

using nlohmann::json;
using text::AddedToken;
using text::BytePairSetup;
using text::WordPieceSetup;

constexpr std::size_t kTokenizerBytes = std::size_t{32} << 20;
constexpr std::size_t kMostPieces = 4000000;

/// One tokenizer.json.
class TokenizerJson {
 public:
  TokenizerJson(const json& all, const std::string& name) : all_(all), name_(name) {}

  TokenizerPointer tokenizer() {
    const json& model = member(all_, "model");
    // Old files leave the type of byte pairs out.
    const std::string type = word(model, "type", model.contains("merges") ? "BPE" : "");
    read_vocabulary(member(model, "vocab"));
    read_added();
    if (type == "WordPiece") return word_pieces(model);
    if (type == "BPE") return byte_pairs(model);
    refuse(fmt::format("its model '{}' is unknown; allowed: WordPiece, BPE", shown_text(type)));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(fmt::format("{}: {}", name_, what));
  }
  const json& member(const json& from, const char* key) const {
    const auto at = from.is_object() ? from.find(key) : from.end();
    if (!from.is_object() || at == from.end()) refuse(fmt::format("has no '{}'", key));
    return *at;
  }
  std::string word(const json& from, const char* key, const char* otherwise) const {
    const auto at = from.is_object() ? from.find(key) : from.end();
    if (!from.is_object() || at == from.end() || at->is_null()) return otherwise;
    if (!at->is_string()) refuse(fmt::format("'{}' is no text", key));
    return at->get<std::string>();
  }
  bool flag(const json& from, const char* key, bool otherwise) const {
    const auto at = from.is_object() ? from.find(key) : from.end();
    if (!from.is_object() || at == from.end() || at->is_null()) return otherwise;
    if (!at->is_boolean()) refuse(fmt::format("'{}' is neither true nor false", key));
    return at->get<bool>();
  }
  std::uint32_t id(const json& value) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= kMostPieces)
      refuse(fmt::format("{} is no number of a token", shown_text(value.dump())));
    return value.get<std::uint32_t>();
  }

  // ---- Vocabulary.

  void place(const std::string& piece, std::uint32_t at) {
    if (at >= pieces_.size()) pieces_.resize(at + 1);
    if (!pieces_[at].empty() && pieces_[at] != piece)
      refuse(fmt::format("token {} is both '{}' and '{}'", at, shown_text(pieces_[at]),
                         shown_text(piece)));
    pieces_[at] = piece;
    ids_[piece] = at;
  }

  void read_vocabulary(const json& vocabulary) {
    if (!vocabulary.is_object() || vocabulary.empty())
      refuse("its vocabulary is empty or no object");
    const std::size_t most = 2 * vocabulary.size() + 1000;  // holes are few
    for (const auto& [piece, number] : vocabulary.items()) {
      const std::uint32_t at = id(number);
      if (at > most)
        refuse(fmt::format("token '{}' has the number {} in a vocabulary of {}", shown_text(piece),
                           at, vocabulary.size()));
      place(piece, at);
    }
    most_ = most;
  }

  void read_added() {
    const auto list = all_.find("added_tokens");
    if (list == all_.end() || list->is_null()) return;
    if (!list->is_array()) refuse("'added_tokens' is no list");
    for (const json& token : *list) {
      const std::string content = word(token, "content", "");
      const std::uint32_t at = id(member(token, "id"));
      if (content.empty() || at > most_ + 100000)
        refuse("has an added token without content or number");
      place(content, at);
      added_.push_back({content, at});
    }
  }

  std::uint32_t token(const std::string& piece) const {
    const auto at = ids_.find(piece);
    if (at == ids_.end())
      refuse(fmt::format("token '{}' is not in the vocabulary", shown_text(piece)));
    return at->second;
  }

  // ---- What stands around a text.

  text::Frame frame() const {
    text::Frame frame;
    const auto at = all_.find("post_processor");
    if (at != all_.end() && !at->is_null()) add_frame(*at, frame);
    return frame;
  }

  void add_frame(const json& step, text::Frame& frame) const {
    const std::string type = word(step, "type", "");
    if (type == "ByteLevel") return;
    if (type == "Sequence") {
      for (const json& part : member(step, "processors")) add_frame(part, frame);
      return;
    }
    if (type == "BertProcessing" || type == "RobertaProcessing") {
      for (const char* key : {"cls", "sep"}) {
        const json& pair = member(step, key);
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string())
          refuse(fmt::format("'{}' of its post_processor is no token", key));
        const std::string piece = pair[0].get<std::string>();
        (std::string_view(key) == "cls" ? frame.before : frame.behind)
            .push_back({piece, token(piece)});
      }
      return;
    }
    if (type != "TemplateProcessing")
      refuse(fmt::format(
          "its post_processor '{}' is unknown; allowed: TemplateProcessing, BertProcessing, "
          "RobertaProcessing, ByteLevel",
          shown_text(type)));
    bool behind = false;
    for (const json& part : member(step, "single")) {
      if (part.is_object() && part.contains("Sequence")) {
        behind = true;
        continue;
      }
      const std::string piece = word(member(part, "SpecialToken"), "id", "");
      (behind ? frame.behind : frame.before).push_back({piece, token(piece)});
    }
  }

  // ---- WordPiece.

  TokenizerPointer word_pieces(const json& model) {
    WordPieceSetup setup;
    setup.unknown = token(word(model, "unk_token", "[UNK]"));
    setup.inside = word(model, "continuing_subword_prefix", "##");
    const json& normal = member(all_, "normalizer");
    if (const std::string type = word(normal, "type", ""); type != "BertNormalizer")
      refuse(fmt::format("its normalizer '{}' is unknown for WordPiece; allowed: BertNormalizer",
                         shown_text(type)));
    if (const std::string type = word(member(all_, "pre_tokenizer"), "type", "");
        type != "BertPreTokenizer")
      refuse(
          fmt::format("its pre_tokenizer '{}' is unknown for WordPiece; allowed: BertPreTokenizer",
                      shown_text(type)));
    setup.clean = flag(normal, "clean_text", true);
    setup.split_han = flag(normal, "handle_chinese_chars", true);
    setup.lower_case = flag(normal, "lowercase", true);
    setup.strip_accents = flag(normal, "strip_accents", setup.lower_case);
    if (const auto at = model.find("max_input_chars_per_word"); at != model.end())
      setup.longest = std::min<std::size_t>(id(*at), 10000);
    setup.frame = frame();
    setup.added = std::move(added_);
    setup.vocabulary = std::move(pieces_);
    return std::make_shared<text::WordPieces>(std::move(setup));
  }

  // ---- Byte pairs.

  void read_normalizer(const json& step, BytePairSetup& setup) const {
    if (step.is_null()) return;
    const std::string type = word(step, "type", "");
    if (type == "Sequence") {
      for (const json& part : member(step, "normalizers")) read_normalizer(part, setup);
    } else if (type == "NFC") {
      setup.composed = true;
    } else if (type == "Prepend" && word(step, "prepend", "") == "\xe2\x96\x81") {
      setup.space_first = true;
    } else if (type == "Replace" && word(step, "content", "") == "\xe2\x96\x81" &&
               word(member(step, "pattern"), "String", "") == " ") {
      setup.mark_spaces = true;
    } else {
      refuse(
          fmt::format("its normalizer '{}' is unknown for BPE; allowed: NFC, and spaces as U+2581",
                      shown_text(type)));
    }
  }

  void read_pre_tokenizer(const json& step, BytePairSetup& setup) const {
    if (step.is_null()) return;
    const std::string type = word(step, "type", "");
    if (type == "Sequence") {
      for (const json& part : member(step, "pretokenizers")) read_pre_tokenizer(part, setup);
    } else if (type == "ByteLevel") {
      setup.bytes = true;
      if (flag(step, "add_prefix_space", false)) setup.space_first = true;
      if (flag(step, "use_regex", true)) setup.cut = text::Cut::gpt2;
    } else if (type == "Split") {
      const std::string expression = word(member(step, "pattern"), "Regex", "");
      const std::optional<text::Cut> cut = text::cut_of(expression);
      if (!cut || word(step, "behavior", "") != "Isolated" || flag(step, "invert", false))
        refuse(fmt::format(
            "it cuts words by '{}', which is unknown; allowed: the expressions of GPT-2, Llama 3 "
            "and Qwen2",
            shown_text(expression)));
      setup.cut = *cut;
    } else if (type == "Metaspace") {
      setup.mark_spaces = true;
      setup.space_first =
          word(step, "prepend_scheme", "always") != "never" && flag(step, "add_prefix_space", true);
    } else {
      refuse(fmt::format(
          "its pre_tokenizer '{}' is unknown for BPE; allowed: ByteLevel, Split, Metaspace",
          shown_text(type)));
    }
  }

  void read_merges(const json& merges, BytePairSetup& setup) const {
    if (!merges.is_array()) refuse("its merges are no list");
    for (const json& merge : merges) {
      std::string left, right;
      if (merge.is_string()) {
        const std::string& both = merge.get_ref<const std::string&>();
        const std::size_t space = both.find(' ');
        if (space != std::string::npos)
          left = both.substr(0, space), right = both.substr(space + 1);
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        left = merge[0].get<std::string>(), right = merge[1].get<std::string>();
      }
      if (left.empty() || right.empty())
        refuse(fmt::format("{} is no pair to merge",
                           shown_text(merge.dump(-1, ' ', true, json::error_handler_t::replace))));
      setup.merges.push_back({token(left), token(right), token(left + right)});
    }
  }

  TokenizerPointer byte_pairs(const json& model) {
    BytePairSetup setup;
    setup.cut = text::Cut::none;
    setup.bytes = false;
    if (const auto at = all_.find("normalizer"); at != all_.end()) read_normalizer(*at, setup);
    if (const auto at = all_.find("pre_tokenizer"); at != all_.end())
      read_pre_tokenizer(*at, setup);
    setup.whole_words = flag(model, "ignore_merges", false);
    if (const std::string unknown = word(model, "unk_token", ""); !unknown.empty())
      setup.unknown = token(unknown);
    read_merges(member(model, "merges"), setup);
    setup.frame = frame();
    setup.added = std::move(added_);
    setup.vocabulary = std::move(pieces_);
    return std::make_shared<text::BytePairs>(std::move(setup));
  }

  const json& all_;
  const std::string& name_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::vector<AddedToken> added_;
  std::size_t most_ = 0;
};

template <class T>
T taken(std::string_view& bytes, const std::string& name) {
  if (bytes.size() < sizeof(T)) throw Error(fmt::format("{}: ends inside a piece", name));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

}  // namespace

TokenizerPointer parse_tokenizer_json(std::string_view text, const std::string& name) {
  const json all = bounded_json(text, name);
  if (!all.is_object()) throw Error(fmt::format("{}: is no tokenizer: it is no object", name));
  return TokenizerJson(all, name).tokenizer();
}

TokenizerPointer parse_vocabulary(std::string_view text, const std::string& name, bool cased) {
  WordPieceSetup setup;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string piece(text.substr(0, end));
    if (piece.ends_with('\r')) piece.pop_back();
    setup.vocabulary.push_back(std::move(piece));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (setup.vocabulary.size() > kMostPieces)
      throw Error(fmt::format("{}: has more than {} pieces", name, kMostPieces));
  }
  const auto token = [&](const std::string& piece) {
    const auto at = std::find(setup.vocabulary.begin(), setup.vocabulary.end(), piece);
    if (at == setup.vocabulary.end()) throw Error(fmt::format("{}: has no piece {}", name, piece));
    return AddedToken{piece, static_cast<std::uint32_t>(at - setup.vocabulary.begin())};
  };
  setup.unknown = token("[UNK]").id;
  setup.lower_case = setup.strip_accents = !cased;
  setup.frame = {.before = {token("[CLS]")}, .behind = {token("[SEP]")}};
  return std::make_shared<text::WordPieces>(std::move(setup));
}

namespace {

/// Old files of llama2.c spell the piece of byte b as character b in UTF-8, like pieces that were
/// learned: "!" and "ï" are there twice.
std::string spelled_like_a_character(unsigned byte) {
  if (byte < 128) return {static_cast<char>(byte)};
  return {static_cast<char>(0xC0U | byte >> 6U), static_cast<char>(0x80U | (byte & 63U))};
}

}  // namespace

TokenizerPointer parse_llama2c_tokenizer(std::string_view bytes, std::size_t vocabulary,
                                         const std::string& name) {
  BytePairSetup setup;
  setup.bytes = false;
  setup.cut = text::Cut::none;
  setup.space_first = true;
  const auto longest = taken<std::int32_t>(bytes, name);
  if (longest < 1 || longest > 10000)
    throw Error(
        fmt::format("{}: its longest piece has {} bytes; allowed: 1 to 10000", name, longest));
  for (std::size_t k = 0; k < vocabulary; ++k) {
    const auto score = taken<float>(bytes, name);
    const auto length = taken<std::int32_t>(bytes, name);
    if (length < 0 || length > longest || static_cast<std::size_t>(length) > bytes.size())
      throw Error(fmt::format("{}: piece {} has {} bytes; {} are left, and none has more than {}",
                              name, k, length, bytes.size(), longest));
    if (!std::isfinite(score))
      throw Error(fmt::format("{}: the score of piece {} is not finite", name, k));
    std::string piece(bytes.substr(0, static_cast<std::size_t>(length)));
    if (k >= 3 && k < 259 && piece == spelled_like_a_character(static_cast<unsigned>(k - 3)))
      piece = fmt::format("<0x{:02X}>", k - 3);
    setup.vocabulary.push_back(std::move(piece));
    setup.scores.push_back(score);
    bytes.remove_prefix(static_cast<std::size_t>(length));
  }
  if (!bytes.empty())
    throw Error(
        fmt::format("{}: {} bytes follow the last of {} pieces", name, bytes.size(), vocabulary));
  if (vocabulary < 3) throw Error(fmt::format("{}: {} pieces are too few", name, vocabulary));
  setup.frame = {.before = {{"<s>", 1}}, .behind = {}};
  return std::make_shared<text::BytePairs>(std::move(setup));
}

TokenizerPointer read_tokenizer(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  if (const fs::path file = folder / "tokenizer.json"; fs::exists(file))
    return parse_tokenizer_json(read_file(file, kTokenizerBytes), file.string());
  if (const fs::path file = folder / "vocab.txt"; fs::exists(file)) {
    bool cased = false;
    if (const fs::path config = folder / "tokenizer_config.json"; fs::exists(config)) {
      const json all = bounded_json(read_file(config, 1 << 20), config.string());
      if (const auto at = all.find("do_lower_case"); at != all.end() && at->is_boolean())
        cased = !at->get<bool>();
    }
    return parse_vocabulary(read_file(file, kTokenizerBytes), file.string(), cased);
  }
  return nullptr;
}

}  // namespace attractor
