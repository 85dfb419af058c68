// Processes that share one task, called ranks: rank() of count(). With MPI (the mpi preset) they
// are those that mpirun or srun has started; without it there is one, and every call below does
// what it does among one.
//
// Calls marked "together" are made by all ranks in the same order. Sums are taken in the order of
// the ranks, so a result depends on how many there are, never on who was first. Only the thread
// that made the Session may call.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attractor::ranks {

/// Made once, first thing in main(). The destructor waits for all ranks (see abort). Throws Error
/// when several copies of a program built without MPI were started as ranks.
class Session {
 public:
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

/// Before the first Session: 1 and 0.
std::size_t count();
std::size_t rank();
/// Ranks on this machine, among which its cores are shared.
std::size_t neighbours();

/// Ends all ranks at once: the only way out for a rank that fails alone.
[[noreturn]] void abort(int status);

// ---- Together.

void barrier();
/// What rank 0 passes, everywhere.
std::string broadcast(std::string bytes);
void broadcast(std::span<double> numbers);
/// The largest of all; NaN if one of them is NaN.
double largest(double mine);
double sum(double mine);
/// All numbers in the order of ranks; gather: on rank 0, empty elsewhere.
std::vector<double> gather(std::span<const double> mine);
std::vector<double> all_gather(std::span<const double> mine);

// ---- From one rank to another, never to itself. Messages of one pair of ranks and one tag arrive
// in the order in which they were sent. At most 2^31 - 1 bytes; tags from 0 to 32766.

/// May wait until the other rank receives.
void send(std::size_t to, int tag, std::span<const std::byte> message);
/// Waits for the message.
std::vector<std::byte> receive(std::size_t from, int tag);

struct Envelope {
  std::size_t from;
  int tag;
  std::size_t bytes;
};
/// A message that has arrived and waits to be received, of any sender and tag; does not wait.
std::optional<Envelope> probe();

// ---- Round the ring, together: a block to the next rank while one comes from the previous rank.

/// Under way from its construction to finish(); neither span may be touched in between.
class Shift {
 public:
  Shift(std::span<const double> to_next, std::span<double> from_previous);
  ~Shift();  // finishes
  Shift(const Shift&) = delete;
  Shift& operator=(const Shift&) = delete;

  /// Lets the transfer go on; called now and then while computing.
  void nudge();
  void finish();

 private:
  struct Transfer;
  std::unique_ptr<Transfer> transfer_;
};

}  // namespace attractor::ranks
