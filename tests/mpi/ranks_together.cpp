// Run by several ranks: every call of ranks.hpp against what it promises. Ends with status 1 and
// the line of the first broken promise.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "attractor/ranks/ranks.hpp"

namespace {

using namespace attractor;

void require(bool kept, int line) {
  if (kept) return;
  std::fprintf(stderr, "rank %zu: broken promise at line %d\n", ranks::rank(), line);
  ranks::abort(1);
}
#define REQUIRE(promise) require(promise, __LINE__)

void numbers(std::size_t me, std::size_t count) {
  const double mine = static_cast<double>(me);
  REQUIRE(ranks::largest(mine) == static_cast<double>(count - 1));
  REQUIRE(ranks::largest(-mine) == 0);
  REQUIRE(std::isnan(ranks::largest(me == count - 1 ? NAN : 1e300)));
  REQUIRE(ranks::largest(me == 0 ? INFINITY : -INFINITY) == INFINITY);
  // In another order than that of the ranks the small one would survive, or not.
  const auto term = [](std::size_t r) { return r == 0 ? 1 : r % 2 == 1 ? 1e16 : -1e16; };
  double expected = 0;
  for (std::size_t r = 0; r < count; ++r) expected += term(r);
  REQUIRE(ranks::sum(term(me)) == expected);
}

void arrays(std::size_t me, std::size_t count) {
  std::vector<double> all;
  for (std::size_t r = 0; r < count; ++r) all.insert(all.end(), r, static_cast<double>(r));
  const std::vector<double> mine(me, static_cast<double>(me));  // rank 0 has none
  REQUIRE(ranks::all_gather(mine) == all);
  REQUIRE(ranks::gather(mine) == (me == 0 ? all : std::vector<double>{}));
  const std::string text("a\0b", 3);
  REQUIRE(ranks::broadcast(me == 0 ? text : std::string(10 * me, 'x')) == text);
  REQUIRE(ranks::broadcast(me == 0 ? std::string() : text).empty());
  std::vector<double> shared(1000, static_cast<double>(me));
  ranks::broadcast(shared);
  REQUIRE(shared == std::vector<double>(1000, 0.0));
}

// Blocks of unequal sizes, small and large, all the way round.
void ring(std::size_t me, std::size_t count) {
  for (const std::size_t unit : {std::size_t{0}, std::size_t{3}, std::size_t{300'000}}) {
    std::vector<double> present(unit * (me + 1), static_cast<double>(me)), next;
    for (std::size_t step = 1; step <= count; ++step) {
      const std::size_t from = (me + count * 2 - step) % count;
      next.assign(unit * (from + 1), -1.0);
      ranks::Shift shift(present, next);
      shift.nudge();
      shift.finish();
      REQUIRE(next == std::vector<double>(unit * (from + 1), static_cast<double>(from)));
      std::swap(present, next);
    }
  }
}

// Everyone sends three messages to rank 0, which takes them as they come.
void messages(std::size_t me, std::size_t count) {
  if (me > 0) {
    for (int tag : {7, 8, 8}) {
      const std::vector<std::byte> message(me * (tag == 7 ? 1'000'000 : 0), std::byte{1});
      ranks::send(0, tag, message);
    }
    REQUIRE(ranks::receive(0, 9).size() == me);
    return;
  }
  for (std::size_t left = 3 * (count - 1); left > 0;) {
    const auto envelope = ranks::probe();
    if (!envelope) continue;
    const auto message = ranks::receive(envelope->from, envelope->tag);
    REQUIRE(message.size() == envelope->bytes);
    REQUIRE(message.size() == (envelope->tag == 7 ? envelope->from * 1'000'000 : 0));
    --left;
  }
  REQUIRE(!ranks::probe());
  for (std::size_t r = 1; r < count; ++r) ranks::send(r, 9, std::vector<std::byte>(r));
}

}  // namespace

int main(int argc, char** argv) {
  const ranks::Session session(argc, argv);
  const std::size_t me = ranks::rank(), count = ranks::count();
  if (argc != 2 || count != static_cast<std::size_t>(std::atoi(argv[1]))) ranks::abort(2);
  REQUIRE(me < count && ranks::neighbours() == count);
  numbers(me, count);
  arrays(me, count);
  ring(me, count);
  messages(me, count);
  ranks::barrier();
}
