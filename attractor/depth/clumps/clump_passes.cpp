#include "attractor/depth/clumps/clump_passes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "attractor/base/threads.hpp"
#include "attractor/kernels/clumps/clump_products.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

using kernels::add_product;

constexpr std::size_t kBlockRows = 256;     // of a block that stays in the second cache
constexpr std::size_t kPieceTokens = 2048;  // tokens of a piece

std::size_t whole_columns(std::size_t count) {
  constexpr std::size_t kWidth = kernels::kColumnBlock;
  return (count + kWidth - 1) / kWidth * kWidth;
}

/// Column b: c_a - c_b, wide x columns.
std::vector<double> ways(const ClumpTables& t, std::size_t a) {
  std::vector<double> way(t.wide * t.columns, 0.0);
  for (std::size_t b = 0; b < t.clumps; ++b)
    for (std::size_t c = 0; c < t.wide; ++c)
      way[c * t.columns + b] = t.centre(a)[c] - t.centre(b)[c];
  return way;
}

/// Rows of a block of tokens.
struct RowBlock {
  std::size_t begin, rows;
  std::vector<double> seen;  // t_i towards each clump, rows x columns
};

void see(const GatheredClumps& g, std::span<const double> way, RowBlock& block) {
  const ClumpTables& t = g.tables;
  const double* offsets = &g.offsets[block.begin * t.wide];
  block.seen.assign(block.rows * t.columns, 0.0);
  add_product({block.rows, t.wide, t.columns}, {offsets, t.wide, 1}, way.data(), t.columns,
              block.seen.data(), t.columns);
  for (std::size_t i = 0; i < block.rows; ++i) {
    double squared = 0;
    for (std::size_t c = 0; c < t.wide; ++c)
      squared += offsets[i * t.wide + c] * offsets[i * t.wide + c];
    kernels::exponentials({&block.seen[i * t.columns], t.columns}, 0.5 * squared, -g.beta);
  }
}

void each_block(const ClumpPiece& piece, RowBlock& block, const std::function<void()>& body) {
  for (block.begin = piece.begin; block.begin < piece.end; block.begin += kBlockRows) {
    block.rows = std::min(kBlockRows, piece.end - block.begin);
    body();
  }
}

/// What a piece adds to M0, M1 and S of its clump.
struct PieceMoments {
  std::vector<double> mass, first;
  double spread = 0;
};

PieceMoments piece_moments(const GatheredClumps& g, const ClumpPiece& piece) {
  const ClumpTables& t = g.tables;
  PieceMoments sum{std::vector<double>(t.columns, 0.0),
                   std::vector<double>(t.columns * t.wide, 0.0)};
  const std::vector<double> way = ways(t, piece.clump);
  RowBlock block{};
  each_block(piece, block, [&] {
    see(g, way, block);
    for (std::size_t i = 0; i < block.rows; ++i) {
      double* row = &block.seen[i * t.columns];
      const double m = g.masses[block.begin + i];
      for (std::size_t b = 0; b < t.columns; ++b) sum.mass[b] += row[b] *= m;
      double squared = 0;
      for (std::size_t c = 0; c < t.wide; ++c) {
        const double xi = g.offsets[(block.begin + i) * t.wide + c];
        squared += xi * xi;
      }
      sum.spread += row[piece.clump] * squared;
    }
    add_product({t.columns, block.rows, t.wide}, {block.seen.data(), 1, t.columns},
                &g.offsets[block.begin * t.wide], t.wide, sum.first.data(), t.wide);
  });
  return sum;
}

/// Adds what tokens [begin, end) are to M2 of their clump, wide x wide.
void add_second_moment(const GatheredClumps& g, std::size_t begin, std::size_t end,
                       std::span<double> matrix) {
  const std::size_t wide = g.tables.wide;
  std::vector<double> weighted;
  for (std::size_t at = begin; at < end; at += kBlockRows) {
    const std::size_t rows = std::min(kBlockRows, end - at);
    const double* offsets = &g.offsets[at * wide];
    weighted.resize(rows * wide);
    for (std::size_t i = 0; i < rows; ++i) {
      double squared = 0;
      for (std::size_t c = 0; c < wide; ++c)
        squared += offsets[i * wide + c] * offsets[i * wide + c];
      const double u = g.masses[at + i] * std::exp(-0.5 * g.beta * squared);
      for (std::size_t c = 0; c < wide; ++c) weighted[i * wide + c] = u * offsets[i * wide + c];
    }
    add_product({wide, rows, wide}, {weighted.data(), 1, wide}, offsets, wide, matrix.data(), wide);
  }
}

/// What the rows of one clump are made of.
struct RowTables {
  std::size_t a = 0;
  bool own_one = false, others_one = false, any_one = false;
  std::vector<double> way;          // columns c_a - c_b
  std::vector<double> pull, mass;   // columns x wide: E (M0 (c_b - c_a) + M1); E M0
  std::vector<double> second;       // sum of E M2, of those at order 1
  std::vector<double> first, back;  // wide x columns: beta E M1; columns x wide: c_b - c_a. Order 1
};

RowTables tables_for(const GatheredClumps& g, const ClumpPlan& plan, std::size_t a) {
  const ClumpTables& t = g.tables;
  RowTables rows{.a = a, .way = ways(t, a)};
  rows.pull.assign(t.columns * t.wide, 0.0);
  rows.mass.assign(t.columns, 0.0);
  rows.own_one = plan.at(a, a, t.clumps) == ClumpOrder::one;
  for (std::size_t b = 0; b < t.clumps; ++b)
    rows.others_one |= b != a && plan.at(a, b, t.clumps) == ClumpOrder::one;
  rows.any_one = rows.own_one || rows.others_one;
  if (rows.any_one) rows.second.assign(t.wide * t.wide, 0.0);
  if (rows.others_one) {
    rows.first.assign(t.wide * t.columns, 0.0);
    rows.back.assign(t.columns * t.wide, 0.0);
  }
  for (std::size_t b = 0; b < t.clumps; ++b) {
    const ClumpOrder order = plan.at(a, b, t.clumps);
    if (order == ClumpOrder::direct) continue;
    const double e = plan.coupling[a * t.clumps + b], m0 = t.m0(b, a);
    const double* m1 = t.m1(b, a);
    rows.mass[b] = e * m0;
    for (std::size_t c = 0; order == ClumpOrder::one && c < t.wide * t.wide; ++c)
      rows.second[c] += e * t.second[b * t.wide * t.wide + c];
    for (std::size_t c = 0; c < t.wide; ++c) {
      const double towards = -rows.way[c * t.columns + b];
      rows.pull[b * t.wide + c] = e * (m0 * towards + m1[c]);
      if (b == a || order != ClumpOrder::one) continue;
      rows.first[c * t.columns + b] = g.beta * e * m1[c];
      rows.back[b * t.wide + c] = towards;
    }
  }
  return rows;
}

/// Adds beta <xi, M1> E t of other clumps: to pulls, and to the partition sums of rows.
void add_first_order(const GatheredClumps& g, const RowTables& tables, const RowBlock& block,
                     double* pull, std::span<double> partition) {
  const ClumpTables& t = g.tables;
  std::vector<double> tilt(block.rows * t.columns, 0.0);
  add_product({block.rows, t.wide, t.columns}, {&g.offsets[block.begin * t.wide], t.wide, 1},
              tables.first.data(), t.columns, tilt.data(), t.columns);
  for (std::size_t i = 0; i < block.rows; ++i)
    for (std::size_t b = 0; b < t.columns; ++b)
      partition[i] += tilt[i * t.columns + b] *= block.seen[i * t.columns + b];
  add_product({block.rows, t.columns, t.wide}, {tilt.data(), t.columns, 1}, tables.back.data(),
              t.wide, pull, t.wide);
}

void block_rows(const GatheredClumps& g, const RowTables& tables, RowBlock& block, double* pull,
                double* weight) {
  const ClumpTables& t = g.tables;
  const std::size_t a = tables.a;
  const double* offsets = &g.offsets[block.begin * t.wide];
  see(g, tables.way, block);
  add_product({block.rows, t.columns, t.wide}, {block.seen.data(), t.columns, 1},
              tables.pull.data(), t.wide, pull, t.wide);
  std::vector<double> partition(block.rows, 0.0), turned;
  for (std::size_t i = 0; i < block.rows; ++i)
    for (std::size_t b = 0; b < t.columns; ++b)
      if (b != a) partition[i] += block.seen[i * t.columns + b] * tables.mass[b];
  if (tables.others_one) add_first_order(g, tables, block, pull, partition);
  if (tables.any_one) {
    turned.assign(block.rows * t.wide, 0.0);
    add_product({block.rows, t.wide, t.wide}, {offsets, t.wide, 1}, tables.second.data(), t.wide,
                turned.data(), t.wide);
  }
  const double* m1 = t.m1(a, a);
  for (std::size_t i = 0; i < block.rows; ++i) {
    const double* xi = offsets + i * t.wide;
    const double seen = block.seen[i * t.columns + a];
    double own = tables.mass[a];
    if (tables.own_one) {
      double tilt = 0;
      for (std::size_t c = 0; c < t.wide; ++c) tilt += xi[c] * m1[c];
      own += g.beta * tilt;
    }
    for (std::size_t c = 0; tables.any_one && c < t.wide; ++c)
      pull[i * t.wide + c] += seen * g.beta * turned[i * t.wide + c];
    const double all = partition[i] + seen * own;
    for (std::size_t c = 0; c < t.wide; ++c) pull[i * t.wide + c] -= all * xi[c];
    // Its own weight as it is, not as expanded: what is left out of the row vanishes as a whole.
    weight[i] = all - (tables.mass[a] > 0 ? g.masses[block.begin + i] : 0);
  }
}

}  // namespace

GatheredClumps gather_clumps(const ClumpSources& sources, const ClumpPartition& partition) {
  const std::size_t dim = sources.task.dim, k = partition.count();
  GatheredClumps g{.dim = dim, .beta = sources.task.beta};
  ClumpTables& t = g.tables;
  t.clumps = k;
  t.wide = whole_columns(dim);
  t.columns = whole_columns(k);
  t.centres.assign(k * t.wide, 0.0);
  t.radius.assign(k, 0.0);
  t.spread.assign(k, 0.0);
  g.offsets.assign(partition.begin.back() * t.wide, 0.0);
  g.masses.resize(partition.begin.back());
  for (std::size_t a = 0; a < k; ++a)
    for (std::size_t at = partition.begin[a]; at < partition.begin[a + 1]; at += kPieceTokens)
      g.pieces.push_back({a, at, std::min(at + kPieceTokens, partition.begin[a + 1])});
  parallel_for(k, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t a = first; a < last; ++a) {
      const double* origin = &sources.points[partition.order[partition.begin[a]] * dim];
      double* centre = &t.centres[a * t.wide];
      double mass = 0;
      for (std::size_t at = partition.begin[a]; at < partition.begin[a + 1]; ++at) {
        const std::uint32_t i = partition.order[at];
        g.masses[at] = sources.masses[i];
        mass += g.masses[at];
        for (std::size_t c = 0; c < dim; ++c)
          centre[c] += g.masses[at] * (sources.points[i * dim + c] - origin[c]);
      }
      for (std::size_t c = 0; c < dim; ++c) centre[c] = origin[c] + centre[c] / mass;
      double widest = 0;
      for (std::size_t at = partition.begin[a]; at < partition.begin[a + 1]; ++at) {
        double squared = 0;
        for (std::size_t c = 0; c < dim; ++c) {
          const double xi = sources.points[partition.order[at] * dim + c] - centre[c];
          g.offsets[at * t.wide + c] = xi;
          squared += xi * xi;
        }
        widest = std::max(widest, squared);
      }
      t.radius[a] = std::sqrt(widest);
    }
  });
  return g;
}

void sum_moments(GatheredClumps& g) {
  ClumpTables& t = g.tables;
  std::vector<PieceMoments> parts(g.pieces.size());
  parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) parts[p] = piece_moments(g, g.pieces[p]);
  });
  t.mass.assign(t.clumps * t.columns, 0.0);
  t.first.assign(t.clumps * t.columns * t.wide, 0.0);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::size_t a = g.pieces[p].clump;
    for (std::size_t b = 0; b < t.columns; ++b) t.mass[a * t.columns + b] += parts[p].mass[b];
    for (std::size_t c = 0; c < t.columns * t.wide; ++c)
      t.first[a * t.columns * t.wide + c] += parts[p].first[c];
    t.spread[a] += parts[p].spread;
  }
  t.second.assign(t.clumps * t.wide * t.wide, 0.0);
  t.stretch.assign(t.clumps, 0.0);
  parallel_for(t.clumps, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) {
      const auto matrix = std::span(t.second).subspan(a * t.wide * t.wide, t.wide * t.wide);
      for (const ClumpPiece& piece : g.pieces)
        if (piece.clump == a) add_second_moment(g, piece.begin, piece.end, matrix);
      t.stretch[a] = norm(matrix);
    }
  });
}

void sum_rows(const GatheredClumps& g, const ClumpPlan& plan, std::span<double> pull,
              std::span<double> weight) {
  const ClumpTables& t = g.tables;
  std::fill(pull.begin(), pull.end(), 0.0);
  parallel_for(g.pieces.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const std::size_t a = g.pieces[p].clump;
      const RowTables tables = tables_for(g, plan, a);
      RowBlock block{};
      each_block(g.pieces[p], block, [&] {
        block_rows(g, tables, block, &pull[block.begin * t.wide], &weight[block.begin]);
      });
    }
  });
}

}  // namespace attractor::depth
