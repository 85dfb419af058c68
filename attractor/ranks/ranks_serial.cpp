// One rank.

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <stdexcept>

#include "attractor/base/error.hpp"
#include "attractor/ranks/ranks.hpp"

namespace attractor::ranks {

// Each copy would do the whole task and write the same files.
Session::Session(int&, char**&) {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* size = std::getenv(variable);
    if (size != nullptr && std::atoi(size) > 1)
      throw Error(
          fmt::format("started as {} ranks, but this program was built without MPI; build "
                      "it with: cmake --preset mpi && cmake --build --preset mpi",
                      size));
  }
}
Session::~Session() = default;

std::size_t count() { return 1; }
std::size_t rank() { return 0; }
std::size_t neighbours() { return 1; }

void abort(int status) { std::_Exit(status); }

void barrier() {}
std::string broadcast(std::string bytes) { return bytes; }
void broadcast(std::span<double>) {}
double largest(double mine) { return mine; }
double sum(double mine) { return mine; }
std::vector<double> gather(std::span<const double> mine) { return {mine.begin(), mine.end()}; }
std::vector<double> all_gather(std::span<const double> mine) { return gather(mine); }

void send(std::size_t, int, std::span<const std::byte>) {
  throw std::logic_error("ranks::send: there is no other rank");
}
std::vector<std::byte> receive(std::size_t, int) {
  throw std::logic_error("ranks::receive: there is no other rank");
}
std::optional<Envelope> probe() { return std::nullopt; }

struct Shift::Transfer {};

Shift::Shift(std::span<const double> to_next, std::span<double> from_previous) {
  assert(to_next.size() == from_previous.size());
  std::copy(to_next.begin(), to_next.end(), from_previous.begin());
}
Shift::~Shift() = default;
void Shift::nudge() {}
void Shift::finish() {}

}  // namespace attractor::ranks
