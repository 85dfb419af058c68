// The ranks of MPI's world.
#define OMPI_SKIP_MPICXX 1  // only the C interface
#define MPICH_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/ranks/ranks.hpp"

namespace attractor::ranks {
namespace {

constexpr std::size_t kMost = std::numeric_limits<int>::max();  // MPI counts in int
constexpr int kRing = 32767;                                    // the tag of Shift

// Known from Session on; alone, no call of MPI is made, which may not even have been started.
int size = 1, own = 0, near = 1;

int as_count(std::size_t items) {
  if (items > kMost)
    throw Error(fmt::format("a message of {} items; at most {} are allowed", items, kMost));
  return static_cast<int>(items);
}

// What Open MPI's mpirun, Slurm's srun and MPICH's launchers leave in the environment.
bool started_as_rank() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr ||
         std::getenv("PMI_RANK") != nullptr;
}

int count_neighbours() {
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int here = 1;
  MPI_Comm_size(machine, &here);
  MPI_Comm_free(&machine);
  return here;
}

// How many numbers each rank has, and where they begin among all.
struct Layout {
  std::vector<int> sizes, begins;
  std::size_t total;
};

Layout layout_of(std::size_t mine) {
  const std::uint64_t here = mine;
  std::vector<std::uint64_t> all(count());
  MPI_Allgather(&here, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  Layout layout{{}, {}, 0};
  for (const std::uint64_t size_there : all) {
    layout.sizes.push_back(as_count(size_there));
    layout.begins.push_back(as_count(layout.total));
    layout.total += size_there;
  }
  return layout;
}

void broadcast_bytes(void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  for (std::size_t done = 0; done < bytes; done += kMost)
    MPI_Bcast(at + done, as_count(std::min(kMost, bytes - done)), MPI_BYTE, 0, MPI_COMM_WORLD);
}

}  // namespace

// MPI is left alone where nobody started ranks: on a login node it may not even work.
Session::Session(int& argc, char**& argv) {
  if (!started_as_rank()) return;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  near = count_neighbours();
  if (size > 1 && provided < MPI_THREAD_FUNNELED)
    throw Error("this MPI does not let a rank use threads; MPI_THREAD_FUNNELED is needed");
}
Session::~Session() {
  size = near = 1;
  own = 0;
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) MPI_Finalize();
}

std::size_t count() { return static_cast<std::size_t>(size); }
std::size_t rank() { return static_cast<std::size_t>(own); }
std::size_t neighbours() { return static_cast<std::size_t>(near); }

void abort(int status) {
  if (size > 1) MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

void barrier() {
  if (size > 1) MPI_Barrier(MPI_COMM_WORLD);
}

std::string broadcast(std::string bytes) {
  if (size == 1) return bytes;
  std::uint64_t length = bytes.size();
  broadcast_bytes(&length, sizeof length);
  bytes.resize(length);
  broadcast_bytes(bytes.data(), bytes.size());
  return bytes;
}

void broadcast(std::span<double> numbers) {
  if (size > 1) broadcast_bytes(numbers.data(), numbers.size_bytes());
}

double largest(double mine) {
  if (size == 1) return mine;
  const bool none = std::isnan(mine);
  // MPI_MAX may lose a NaN.
  std::array<double, 2> pair{none ? 1.0 : 0.0, none ? -kInfinity : mine};
  MPI_Allreduce(MPI_IN_PLACE, pair.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return pair[0] > 0 ? kNan : pair[1];
}

double sum(double mine) {
  const std::vector<double> all = all_gather({&mine, 1});
  return std::accumulate(all.begin(), all.end(), 0.0);
}

std::vector<double> gather(std::span<const double> mine) {
  if (size == 1) return {mine.begin(), mine.end()};
  const Layout layout = layout_of(mine.size());
  std::vector<double> all(own == 0 ? layout.total : 0);
  MPI_Gatherv(mine.data(), as_count(mine.size()), MPI_DOUBLE, all.data(), layout.sizes.data(),
              layout.begins.data(), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

std::vector<double> all_gather(std::span<const double> mine) {
  if (size == 1) return {mine.begin(), mine.end()};
  const Layout layout = layout_of(mine.size());
  std::vector<double> all(layout.total);
  MPI_Allgatherv(mine.data(), as_count(mine.size()), MPI_DOUBLE, all.data(), layout.sizes.data(),
                 layout.begins.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  return all;
}

void send(std::size_t to, int tag, std::span<const std::byte> message) {
  assert(to < count() && to != rank() && tag >= 0 && tag < kRing);
  MPI_Send(message.data(), as_count(message.size()), MPI_BYTE, as_count(to), tag, MPI_COMM_WORLD);
}

std::vector<std::byte> receive(std::size_t from, int tag) {
  assert(from < count() && from != rank());
  MPI_Status status;
  MPI_Probe(as_count(from), tag, MPI_COMM_WORLD, &status);
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  std::vector<std::byte> message(static_cast<std::size_t>(bytes));
  MPI_Recv(message.data(), bytes, MPI_BYTE, status.MPI_SOURCE, tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return message;
}

std::optional<Envelope> probe() {
  if (size == 1) return std::nullopt;
  int arrived = 0, bytes = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, &status);
  if (arrived == 0) return std::nullopt;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  return Envelope{static_cast<std::size_t>(status.MPI_SOURCE), status.MPI_TAG,
                  static_cast<std::size_t>(bytes)};
}

struct Shift::Transfer {
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

Shift::Shift(std::span<const double> to_next, std::span<double> from_previous)
    : transfer_(std::make_unique<Transfer>()) {
  if (size == 1) {
    std::copy(to_next.begin(), to_next.end(), from_previous.begin());
    return;
  }
  const int next = (own + 1) % size, previous = (own + size - 1) % size;
  MPI_Irecv(from_previous.data(), as_count(from_previous.size()), MPI_DOUBLE, previous, kRing,
            MPI_COMM_WORLD, &transfer_->requests[0]);
  MPI_Isend(to_next.data(), as_count(to_next.size()), MPI_DOUBLE, next, kRing, MPI_COMM_WORLD,
            &transfer_->requests[1]);
}

Shift::~Shift() { finish(); }

// Without an MPI call now and then a large message stands still.
void Shift::nudge() {
  int done = 0;
  if (size > 1) MPI_Testall(2, transfer_->requests.data(), &done, MPI_STATUSES_IGNORE);
}

void Shift::finish() {
  if (size > 1) MPI_Waitall(2, transfer_->requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace attractor::ranks
