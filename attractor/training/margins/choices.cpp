#include "attractor/training/margins/choices.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "attractor/base/random.hpp"

namespace attractor::training {
namespace {

using Choice = std::vector<std::size_t>;

class Enumeration {
 public:
  Enumeration(const Objective& objective, const AttSvm& svm, std::uint64_t limit,
              const std::function<bool()>& stop, std::span<const double> v)
      : inputs_(objective.problem().inputs),
        tokens_(objective.problem().tokens),
        svm_(svm),
        limit_(limit),
        stop_(stop),
        v_(v) {}

  LocalChoices run() {
    result_.complete = true;
    Choice prefix;
    extend(prefix);
    return std::move(result_);
  }

 private:
  void extend(Choice& prefix) {
    for (std::size_t t = 0; t < tokens_ && result_.complete; ++t) {
      if (result_.examined >= limit_ || (stop_ && stop_())) {
        result_.complete = false;
        return;
      }
      prefix.push_back(t);
      ++result_.examined;
      if (prefix.size() < inputs_) {
        if (svm_.feasible(prefix)) extend(prefix);
      } else {
        MaxMargin best = svm_.solve(prefix, v_);
        if (best.locally_optimal) result_.found.push_back(std::move(best));
      }
      prefix.pop_back();
    }
  }

  std::size_t inputs_, tokens_;
  const AttSvm& svm_;
  std::uint64_t limit_;
  const std::function<bool()>& stop_;
  std::span<const double> v_;
  LocalChoices result_;
};

void sort_by_norm(std::vector<MaxMargin>& found) {
  std::stable_sort(found.begin(), found.end(),
                   [](const MaxMargin& a, const MaxMargin& b) { return a.norm < b.norm; });
}

// The tokens that random weights select. A trained v stays as it is.
Choice random_choice(const Objective& objective, const Stream& stream, std::uint64_t start) {
  std::vector<double> state = objective.start();
  for (const Block& b : objective.blocks())
    for (std::size_t k = b.begin; k < b.begin + b.size && b.name != "v"; ++k)
      state[k] = stream.normal(start, k);
  Evaluation e;
  objective.evaluate(state, e);
  return e.chosen;
}

}  // namespace

LocalChoices enumerate_local_choices(const Objective& objective, const AttSvm& svm,
                                     std::uint64_t limit, const std::function<bool()>& stop,
                                     std::span<const double> v) {
  LocalChoices result = Enumeration(objective, svm, limit, stop, v).run();
  sort_by_norm(result.found);
  return result;
}

LocalChoices search_local_choices(const Objective& objective, const AttSvm& svm,
                                  std::uint64_t starts, std::uint64_t seed,
                                  const std::function<bool()>& stop, std::span<const double> v) {
  LocalChoices result;
  std::set<Choice> seen;
  const Stream stream(seed, "search of token choices");
  const std::size_t tokens = objective.problem().tokens;
  for (std::uint64_t start = 0; start < starts && !(stop && stop()); ++start) {
    std::optional<Choice> next =
        start == 0 ? best_tokens(objective, v) : random_choice(objective, stream, start);
    while (next && seen.insert(*next).second) {
      MaxMargin here = svm.solve(*next, v);
      ++result.examined;
      next.reset();
      if (here.locally_optimal) {
        result.found.push_back(std::move(here));
      } else if (here.feasible()) {  // every input takes its best neighbour
        next = here.chosen;
        const std::vector<double> scores = first_order_scores(objective, here.chosen, v);
        for (const TokenMargin& t : here.neighbours)
          if (scores[t.input * tokens + t.token] >= scores[t.input * tokens + (*next)[t.input]])
            (*next)[t.input] = t.token;
      }
    }
  }
  sort_by_norm(result.found);
  return result;
}

}  // namespace attractor::training
