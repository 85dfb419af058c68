// Tokenizers as they lie beside models: Hugging Face's tokenizer.json (WordPiece and BPE), BERT's
// vocab.txt (one piece a line), llama2.c's tokenizer.bin (score, length and bytes of each piece).
// Whatever a file asks for that is not known here (another normaliser, another expression to cut
// words, another kind of model) is refused with a sentence that names it: tokens that are almost
// right would give numbers that are wrong.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "attractor/models/tokenizer.hpp"

namespace attractor {

using TokenizerPointer = std::shared_ptr<const models::Tokenizer>;

/// The text of a tokenizer.json; `name` is what messages call it.
TokenizerPointer parse_tokenizer_json(std::string_view text, const std::string& name);
/// The text of a vocab.txt, in lower case unless `cased`.
TokenizerPointer parse_vocabulary(std::string_view text, const std::string& name, bool cased);
/// The bytes of a tokenizer.bin of so many pieces.
TokenizerPointer parse_llama2c_tokenizer(std::string_view bytes, std::size_t vocabulary,
                                         const std::string& name);

/// The one beside a model: tokenizer.json, else vocab.txt; null if there is none.
TokenizerPointer read_tokenizer(const std::filesystem::path& folder);

}  // namespace attractor
