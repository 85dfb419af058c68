#include "attractor/models/readings/head_fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/base/numbers.hpp"

namespace attractor::models {
namespace {

/// The pairs of a head that count: seen, and of two tokens.
struct Pair {
  std::size_t i, j;
  double logit, cosine;  // within their row
};

struct HeadPairs {
  std::size_t n = 0;
  std::vector<Pair> all{};
  std::vector<double> row_logit{}, row_cosine{};  // means
};

HeadPairs centred(std::span<const double> logits, std::span<const double> cosines, std::size_t n,
                  const std::function<bool(std::size_t, std::size_t)>& sees) {
  HeadPairs p{
      .n = n, .all = {}, .row_logit = std::vector(n, kNan), .row_cosine = std::vector(n, kNan)};
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = p.all.size();
    double l = 0, c = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i || !sees(i, j)) continue;
      p.all.push_back({i, j, logits[i * n + j], cosines[i * n + j]});
      l += logits[i * n + j];
      c += cosines[i * n + j];
    }
    const auto count = static_cast<double>(p.all.size() - first);
    if (count < 2) {  // a row of one pair says nothing
      p.all.resize(first);
      continue;
    }
    p.row_logit[i] = l / count;
    p.row_cosine[i] = c / count;
    for (std::size_t k = first; k < p.all.size(); ++k) {
      p.all[k].logit -= p.row_logit[i];
      p.all[k].cosine -= p.row_cosine[i];
    }
  }
  return p;
}

/// Takes the mean of each group of pairs away from the residuals.
template <class Group>
void take_means(const HeadPairs& p, std::size_t groups, const Group& group,
                std::vector<double>& rest) {
  std::vector<double> sum(groups, 0.0), count(groups, 0.0);
  for (std::size_t k = 0; k < p.all.size(); ++k) {
    sum[group(p.all[k])] += rest[k];
    count[group(p.all[k])] += 1;
  }
  for (std::size_t k = 0; k < p.all.size(); ++k) {
    const std::size_t g = group(p.all[k]);
    rest[k] -= sum[g] / count[g];
  }
}

struct Parts {
  bool cosine, position, key;
};

/// What these parts explain of the variance within rows. Each round takes away what a part still
/// explains of the residuals.
double explained(const HeadPairs& p, double total, const Parts& parts) {
  constexpr int kRounds = 25;
  std::vector<double> rest;
  double squares = 0;
  for (const Pair& pair : p.all) {
    rest.push_back(pair.logit);
    squares += pair.cosine * pair.cosine;
  }
  for (int round = 0; round < kRounds; ++round) {
    if (parts.cosine && squares > 0) {
      double along = 0;
      for (std::size_t k = 0; k < rest.size(); ++k) along += rest[k] * p.all[k].cosine;
      for (std::size_t k = 0; k < rest.size(); ++k) rest[k] -= along / squares * p.all[k].cosine;
    }
    if (parts.position)
      take_means(
          p, 2 * p.n, [&](const Pair& q) { return q.j + p.n - q.i; }, rest);
    if (parts.key)
      take_means(
          p, p.n, [](const Pair& q) { return q.j; }, rest);
    take_means(
        p, p.n, [](const Pair& q) { return q.i; }, rest);
  }
  double left = 0;
  for (const double r : rest) left += r * r;
  return 1 - left / total;
}

/// Of pairs of different tokens: own logits are symmetric by themselves.
double antisymmetry(std::span<const double> logits, std::size_t n) {
  if (n < 3) return kNan;
  std::vector<double> row(n, 0.0), column(n, 0.0);
  double all = 0;
  const auto others = static_cast<double>(n - 1), count = static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      row[i] += logits[i * n + j] / others;
      column[j] += logits[i * n + j] / others;
      all += logits[i * n + j] / (count * others);
    }
  // Least squares of row and column effects where the diagonal is missing (round robin).
  const double left = count * (count - 2);
  const auto effect = [&](double own, double other) {
    return others * (others * own + other) / left - others / (count - 2) * all;
  };
  const auto entry = [&](std::size_t i, std::size_t j) {
    return logits[i * n + j] - all - effect(row[i], column[i]) - effect(column[j], row[j]);
  };
  double squares = 0, difference = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const double a = entry(i, j), b = entry(j, i);
      squares += a * a;
      difference += (a - b) * (a - b) / 4;
    }
  return squares > 0 ? difference / squares : kNan;
}

}  // namespace

HeadFit fit_head(std::span<const double> logits, std::span<const double> cosines, std::size_t n,
                 const std::function<bool(std::size_t, std::size_t)>& sees) {
  const HeadPairs p = centred(logits, cosines, n, sees);
  double ll = 0, lc = 0, cc = 0;
  for (const Pair& q : p.all) {
    ll += q.logit * q.logit;
    lc += q.logit * q.cosine;
    cc += q.cosine * q.cosine;
  }
  HeadFit fit{.beta = kNan,
              .error = kNan,
              .r2 = kNan,
              .position = kNan,
              .key = kNan,
              .together = kNan,
              .antisymmetric = antisymmetry(logits, n),
              .own = kNan,
              .deviation = kNan};
  // Cosines of states in single precision vary by 1e-7 when nothing does.
  const auto pairs = static_cast<double>(p.all.size());
  if (p.all.empty() || !(cc > 1e-12 * pairs)) return fit;
  fit.deviation = std::sqrt(ll / pairs);
  fit.beta = lc / cc;
  double clustered = 0, rows = 0;
  for (std::size_t k = 0; k < p.all.size();) {
    const std::size_t i = p.all[k].i;
    double score = 0;
    for (; k < p.all.size() && p.all[k].i == i; ++k)
      score += p.all[k].cosine * (p.all[k].logit - fit.beta * p.all[k].cosine);
    clustered += score * score;
    rows += 1;
  }
  fit.error = std::sqrt(clustered * rows / std::max(rows - 1, 1.0)) / cc;
  double own = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isnan(p.row_logit[i]))
      own += (logits[i * n + i] - p.row_logit[i] - fit.beta * (1 - p.row_cosine[i])) / rows;
  fit.own = own;
  if (!(ll > 0)) return fit;
  fit.r2 = lc * lc / (cc * ll);
  fit.position = explained(p, ll, {.cosine = false, .position = true, .key = false});
  fit.key = explained(p, ll, {.cosine = false, .position = false, .key = true});
  fit.together = explained(p, ll, {.cosine = true, .position = true, .key = true});
  return fit;
}

HeadUse use_of_head(std::span<const double> chances, std::size_t n,
                    const std::function<bool(std::size_t, std::size_t)>& sees) {
  HeadUse use;
  std::vector<double> taken(n, 0.0), seen_by(n, 0.0);
  double rows = 0, several = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0, entropy = 0;
    std::size_t count = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (!sees(i, j)) continue;
      ++count;
      seen_by[j] += 1;
      const double chance = chances[i * n + j];
      sum += chance;
      taken[j] += chance;
      if (chance > 0) entropy -= chance * std::log(chance);
    }
    if (!(sum > 0)) continue;
    // Tokens that were left out took some: what is left counts as the whole.
    entropy = entropy / sum + std::log(sum);
    rows += 1;
    use.entropy += entropy;
    use.own += chances[i * n + i] / sum;
    if (count > 1) {
      use.entropy_ratio += entropy / std::log(static_cast<double>(count));
      several += 1;
    }
  }
  use.entropy /= std::max(rows, 1.0);
  use.own /= std::max(rows, 1.0);
  use.entropy_ratio = several > 0 ? use.entropy_ratio / several : kNan;
  for (std::size_t j = 0; j < n; ++j)
    if (const double share = taken[j] / std::max(seen_by[j], 1.0); share > use.sink) {
      use.sink = share;
      use.sink_token = j;
    }
  return use;
}

}  // namespace attractor::models
