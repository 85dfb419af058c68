// Tokens that are taken as they stand wherever they occur in a text ("[MASK]", "<|endoftext|>"),
// and those that are put around it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attractor/models/tokenizer.hpp"

namespace attractor::text {

struct AddedToken {
  std::string content;
  std::uint32_t id;
};

/// Calls `plain` for the stretches between added tokens and `added` for those, in order. Of two
/// that begin at one place the longer one is taken.
void split_at_added(std::string_view text, const std::vector<AddedToken>& tokens,
                    const std::function<void(std::string_view)>& plain,
                    const std::function<void(const AddedToken&)>& added);

/// What stands before and behind every text.
struct Frame {
  std::vector<AddedToken> before{}, behind{};
};

void append(models::Encoded& to, std::uint32_t id, std::string piece, bool special = false);

}  // namespace attractor::text
