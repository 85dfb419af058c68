#include "attractor/lab/flow/flow_distributed.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>

#include "attractor/base/error.hpp"
#include "attractor/depth/distributed_flow.hpp"
#include "attractor/ranks/ranks.hpp"

namespace attractor::lab {

void check_distributed(const FlowSetup& p, std::size_t tokens, std::size_t dim, double merge_radius,
                       std::size_t ranks) {
  if (!is_plain(p))
    throw Error(
        fmt::format("{} ranks can share sa and usa with one head, full mask, norm post and no "
                    "noise only; run this on one rank",
                    ranks));
  if (p.precision != Precision::f64)
    throw Error("precision single runs on one rank; give precision double");
  const depth::Engine engine = engine_of(p, tokens, dim).value_or(depth::Engine::dense);
  if (engine != depth::Engine::dense)
    throw Error(
        fmt::format("engine {} runs on one rank, not on {}; give engine dense or fewer ranks",
                    name(engine), ranks));
  if (merge_radius > 0)
    throw Error(fmt::format("{} ranks do not coalesce tokens; give merge-radius off", ranks));
  if (tokens < ranks)
    throw Error(fmt::format("{} tokens cannot be shared by {} ranks; at most one rank a token",
                            tokens, ranks));
}

std::vector<double> own_tokens(std::span<const double> tokens, std::size_t dim) {
  const auto [begin, end] = depth::block_of(tokens.size() / dim, ranks::rank(), ranks::count());
  const std::span<const double> own = tokens.subspan(begin * dim, (end - begin) * dim);
  return {own.begin(), own.end()};
}

flow::Progress gathered(const flow::Progress& mine) {
  flow::Progress whole = mine;
  whole.state = ranks::gather(mine.state);
  return whole;
}

flow::Progress scattered(flow::Progress p, std::size_t dim) {
  const auto bits = [](std::uint64_t count) { return std::bit_cast<double>(count); };
  const auto count = [](double bits_of) { return std::bit_cast<std::uint64_t>(bits_of); };
  std::array<double, 12> all = {p.time.mantissa(),
                                p.time.exponent(),
                                p.started ? 1.0 : 0.0,
                                p.log_unit,
                                p.step,
                                bits(p.steps),
                                bits(p.rejected),
                                bits(p.next_output),
                                bits(p.stalled),
                                bits(p.state.size()),
                                p.loosened,
                                p.balanced};
  ranks::broadcast(all);
  p.state.resize(count(all[9]));
  ranks::broadcast(p.state);
  return {.state = own_tokens(p.state, dim),
          .time = flow::Time(all[0], all[1]),
          .started = all[2] == 1,
          .log_unit = all[3],
          .step = all[4],
          .steps = count(all[5]),
          .rejected = count(all[6]),
          .next_output = count(all[7]),
          .stalled = count(all[8]),
          .loosened = all[10],
          .balanced = all[11]};
}

}  // namespace attractor::lab
