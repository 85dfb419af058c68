#include "attractor/text/byte_pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>

#include "attractor/text/unicode.hpp"

namespace attractor::text {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581

std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) {
  return static_cast<std::uint64_t>(left) << 32U | right;
}

std::string with_spaces_marked(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c == ' ')
      out += kSpace;
    else
      out += c;
  return out;
}

bool printable(unsigned char b) { return (b >= 33 && b <= 126) || (b >= 161 && b != 173); }

}  // namespace

char32_t spelled_byte(unsigned char byte) {
  if (printable(byte)) return byte;
  char32_t next = 256;  // the others, in order
  for (unsigned b = 0; b < byte; ++b)
    if (!printable(static_cast<unsigned char>(b))) ++next;
  return next;
}

BytePairs::BytePairs(BytePairSetup setup) : setup_(std::move(setup)), bytes_(256) {
  for (std::size_t id = 0; id < setup_.vocabulary.size(); ++id)
    ids_.emplace(setup_.vocabulary[id], static_cast<std::uint32_t>(id));
  for (std::size_t k = 0; k < setup_.merges.size(); ++k) {
    const auto& [left, right, joined] = setup_.merges[k];
    joins_.emplace(pair_of(left, right), Join{static_cast<double>(k), joined});
  }
  for (unsigned b = 0; b < 256; ++b) {
    const std::string spelled = setup_.bytes ? utf8(spelled_byte(static_cast<unsigned char>(b)))
                                             : fmt::format("<0x{:02X}>", b);
    if (const auto at = ids_.find(spelled); at != ids_.end()) bytes_[b] = at->second;
  }
}

std::optional<BytePairs::Join> BytePairs::join(std::uint32_t left, std::uint32_t right) const {
  if (setup_.scores.empty()) {
    const auto at = joins_.find(pair_of(left, right));
    return at == joins_.end() ? std::nullopt : std::optional(at->second);
  }
  const auto at = ids_.find(setup_.vocabulary[left] + setup_.vocabulary[right]);
  if (at == ids_.end()) return {};
  return Join{-static_cast<double>(setup_.scores[at->second]), at->second};
}

/// Joins neighbours in place: a heap of pairs, and links between the symbols that are left.
void BytePairs::merge(std::vector<std::uint32_t>& symbols) const {
  struct Candidate {
    double order;
    std::size_t left, right;
    std::uint32_t a, b, joined;
    bool operator<(const Candidate& other) const {  // the top of a heap is the largest
      return order != other.order ? order > other.order : left > other.left;
    }
  };
  const std::size_t n = symbols.size();
  std::vector<std::size_t> before(n), after(n);
  std::vector<bool> gone(n, false);
  std::priority_queue<Candidate> heap;
  const auto consider = [&](std::size_t left, std::size_t right) {
    if (const std::optional<Join> j = join(symbols[left], symbols[right]))
      heap.push({j->order, left, right, symbols[left], symbols[right], j->joined});
  };
  for (std::size_t k = 0; k < n; ++k) before[k] = k - 1, after[k] = k + 1;
  for (std::size_t k = 0; k + 1 < n; ++k) consider(k, k + 1);
  while (!heap.empty()) {
    const Candidate c = heap.top();
    heap.pop();
    if (gone[c.left] || gone[c.right] || symbols[c.left] != c.a || symbols[c.right] != c.b ||
        after[c.left] != c.right)
      continue;  // one of them has been joined meanwhile
    symbols[c.left] = c.joined;
    gone[c.right] = true;
    after[c.left] = after[c.right];
    if (after[c.left] < n) before[after[c.left]] = c.left;
    if (c.left > 0) consider(before[c.left], c.left);
    if (after[c.left] < n) consider(c.left, after[c.left]);
  }
  std::size_t kept = 0;
  for (std::size_t k = 0; k < n; ++k)
    if (!gone[k]) symbols[kept++] = symbols[k];
  symbols.resize(kept);
}

std::vector<std::uint32_t> BytePairs::symbols(std::string_view stretch) const {
  std::vector<std::uint32_t> all;
  const auto add_bytes = [&](std::string_view text) {
    for (const char c : text)
      if (const auto id = bytes_[static_cast<unsigned char>(c)])
        all.push_back(*id);
      else if (setup_.unknown)
        all.push_back(*setup_.unknown);
  };
  if (setup_.bytes) {
    add_bytes(stretch);
    return all;
  }
  for (const char32_t c : characters(stretch)) {
    const std::string character = utf8(c);
    if (const auto at = ids_.find(character); at != ids_.end())
      all.push_back(at->second);
    else
      add_bytes(character);
  }
  return all;
}

void BytePairs::add_stretch(std::string_view stretch, models::Encoded& out) const {
  std::vector<std::uint32_t> all = symbols(stretch);
  if (setup_.whole_words) {
    std::string spelled;
    for (const std::uint32_t id : all) spelled += setup_.vocabulary[id];
    if (const auto at = ids_.find(spelled); at != ids_.end()) all = {at->second};
  }
  merge(all);
  for (const std::uint32_t id : all) append(out, id, setup_.vocabulary[id]);
}

models::Encoded BytePairs::encode(std::string_view text) const {
  models::Encoded out;
  for (const AddedToken& token : setup_.frame.before) append(out, token.id, token.content, true);
  bool first = true;
  split_at_added(
      text, setup_.added,
      [&](std::string_view part) {
        std::string whole = setup_.composed ? utf8(composed(characters(part))) : std::string(part);
        if (setup_.space_first && first && !(setup_.bytes && whole.starts_with(' ')))
          whole.insert(0, " ");
        first = false;
        if (setup_.mark_spaces) whole = with_spaces_marked(whole);
        if (!setup_.bytes) return add_stretch(whole, out);
        for (const std::string& word : cut_words(whole, setup_.cut)) add_stretch(word, out);
      },
      [&](const AddedToken& token) {
        append(out, token.id, token.content);
        first = false;
      });
  for (const AddedToken& token : setup_.frame.behind) append(out, token.id, token.content, true);
  return out;
}

std::string BytePairs::decode(std::span<const std::uint32_t> ids) const {
  std::string text;
  for (const std::uint32_t id : ids) {
    const std::string& piece = setup_.vocabulary.at(id);
    if (setup_.bytes) {
      for (const char32_t c : characters(piece))
        for (unsigned b = 0; b < 256; ++b)
          if (spelled_byte(static_cast<unsigned char>(b)) == c) text += static_cast<char>(b);
      continue;
    }
    const auto byte = std::find(bytes_.begin(), bytes_.end(), std::optional(id));
    if (byte != bytes_.end()) {
      text += static_cast<char>(byte - bytes_.begin());
      continue;
    }
    std::string spaced = piece;
    for (std::size_t at = spaced.find(kSpace); at != std::string::npos; at = spaced.find(kSpace))
      spaced.replace(at, kSpace.size(), " ");
    text += spaced;
  }
  return text;
}

}  // namespace attractor::text
