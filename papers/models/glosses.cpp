#include "papers/models/glosses.hpp"

#include <algorithm>
#include <numeric>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/random.hpp"
#include "attractor/models/pass.hpp"
#include "attractor/models/tokenizer.hpp"
#include "papers/fetched.hpp"

namespace attractor::papers {
namespace {

constexpr std::size_t kLongest = 32;

struct Line {
  double label;
  std::string text;
};

std::vector<Line> all_lines() {
  const std::string all =
      read_file(fetched_folder() / "glosses" / "glosses.txt", std::size_t{1} << 26U);
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\n', begin), all.size());
    const std::size_t tab = all.find('\t', begin);
    if (tab < end)
      lines.push_back({all.substr(begin, tab - begin) == "animal" ? 1.0 : -1.0,
                       all.substr(tab + 1, end - tab - 1)});
    begin = end + 1;
  }
  if (lines.empty()) throw Error("the file of glosses has no line with a label and a gloss");
  return lines;
}

std::vector<std::size_t> random_order(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Stream stream(seed, "glosses");
  for (std::size_t k = count; k > 1; --k) std::swap(order[k - 1], order[stream.below(k, 0, k)]);
  return order;
}

/// Ids cut to what is kept; those that the tokenizer put before and behind stay.
models::Encoded cut(models::Encoded text) {
  const auto added =
      static_cast<std::size_t>(std::count(text.special.begin(), text.special.end(), true));
  const std::size_t most = kLongest + added;
  if (text.ids.size() <= most) return text;
  const std::size_t tail = text.special.back() ? 1 : 0;
  const auto shorten = [&](auto& list) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(most - tail),
               list.end() - static_cast<std::ptrdiff_t>(tail));
  };
  shorten(text.ids), shorten(text.pieces), shorten(text.special);
  return text;
}

std::vector<double> states_of(const models::Model& model, const models::Encoded& text,
                              std::size_t layer) {
  models::Pass pass(model, text.ids);
  while (pass.passed() < layer) pass.step();
  std::vector<double> rows;
  for (std::size_t i = 0; i < text.ids.size(); ++i)
    if (!text.special[i])
      rows.insert(rows.end(), pass.state().row(i), pass.state().row(i) + pass.state().columns);
  return rows;
}

}  // namespace

GlossSet glosses(const lab::ModelInput& model, std::size_t count, std::size_t layer,
                 std::uint64_t seed) {
  const std::vector<Line> lines = all_lines();
  std::vector<std::size_t> order = random_order(lines.size(), seed);
  if (count > 0 && count < order.size()) order.resize(count);
  const std::size_t held_out = order.size() / 5, trained = order.size() - held_out;
  GlossSet set;
  set.train.dim = set.test.dim = model.get().architecture.width;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Line& line = lines[order[k]];
    const models::Encoded text = cut(model.tokenizer->encode(line.text));
    const std::vector<double> rows = states_of(model.get(), text, layer);
    if (rows.empty()) continue;
    add_input(k < trained ? set.train : set.test, rows, line.label);
    set.tokens += static_cast<double>(rows.size() / set.train.dim);
    if (k >= trained) continue;
    std::vector<std::string>& pieces = set.pieces.emplace_back();
    for (std::size_t i = 0; i < text.ids.size(); ++i)
      if (!text.special[i]) pieces.push_back(text.pieces[i]);
  }
  set.tokens /= static_cast<double>(set.train.size() + set.test.size());
  return set;
}

}  // namespace attractor::papers
