#include "attractor/text/added_tokens.hpp"

#include <utility>

namespace attractor::text {

void split_at_added(std::string_view text, const std::vector<AddedToken>& tokens,
                    const std::function<void(std::string_view)>& plain,
                    const std::function<void(const AddedToken&)>& added) {
  std::size_t begin = 0;
  std::vector<std::size_t> next;  // where each of them occurs next
  for (const AddedToken& token : tokens) next.push_back(text.find(token.content));
  for (;;) {
    std::size_t best = tokens.size();
    for (std::size_t k = 0; k < tokens.size(); ++k) {
      if (next[k] != std::string_view::npos && next[k] < begin)
        next[k] = text.find(tokens[k].content, begin);
      if (next[k] == std::string_view::npos) continue;
      if (best == tokens.size() || next[k] < next[best] ||
          (next[k] == next[best] && tokens[k].content.size() > tokens[best].content.size()))
        best = k;
    }
    const std::size_t end = best == tokens.size() ? text.size() : next[best];
    if (end > begin) plain(text.substr(begin, end - begin));
    if (best == tokens.size()) return;
    added(tokens[best]);
    begin = end + tokens[best].content.size();
  }
}

void append(models::Encoded& to, std::uint32_t id, std::string piece, bool special) {
  to.ids.push_back(id);
  to.pieces.push_back(std::move(piece));
  to.special.push_back(special);
}

}  // namespace attractor::text
