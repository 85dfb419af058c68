// Text as tokens of a model. What is here is the face; WordPiece, byte pairs and their like stand
// in text/, which knows Unicode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attractor::models {

struct Encoded {
  std::vector<std::uint32_t> ids{};
  std::vector<std::string> pieces{};  // as the vocabulary spells them
  std::vector<bool> special{};        // put there by the tokenizer, not by the text
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual Encoded encode(std::string_view text) const = 0;
  virtual std::string decode(std::span<const std::uint32_t> ids) const = 0;
  virtual std::size_t size() const = 0;
};

}  // namespace attractor::models
