// Work on what a stranger made, done in a process apart: if it crashes, never ends or eats memory
// there, that is an Error here. Parent and child talk over a channel of numbers and texts.
//
//   Apart child("x.h5", {}, [](Channel& parent) { parent.put(answer_to(parent.text())); });
//   child.channel().put("question");
//   ... = child.channel().number();
//
// The child has no signals of the terminal, dies with its parent, and leaves by _exit: nothing that
// the library it runs has registered is called.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace attractor {

struct ApartLimits {
  double seconds = 20;                         // without a sign of life
  std::size_t bytes = std::size_t{512} << 20;  // beyond what the process has already
};

/// One end. Who waits longer than the limit, or for one that is gone, gets ChannelLost.
class Channel {
 public:
  Channel(int descriptor, double seconds) : descriptor_(descriptor), seconds_(seconds) {}

  void put(std::uint64_t number) { put_bytes(&number, sizeof number); }
  void put(double number) { put_bytes(&number, sizeof number); }
  void put(std::string_view text);
  void put(std::span<const double> numbers);

  std::uint64_t number();
  double real();
  std::string text(std::size_t most = std::size_t{1} << 24);
  void reals(std::span<double> out, double seconds);

 private:
  void put_bytes(const void* from, std::size_t size);
  void get_bytes(void* to, std::size_t size, double seconds);

  int descriptor_;
  double seconds_;
};

struct ChannelLost {
  bool late;  // else: the other end is gone
};

class Apart {
 public:
  /// `what` begins every sentence about a child that failed. serve() runs in the child.
  Apart(std::string what, const ApartLimits& limits, const std::function<void(Channel&)>& serve);
  ~Apart();
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  /// What `talk` says to the child and hears of it; a child that is lost becomes an Error, from
  /// then on for ever.
  void ask(const std::function<void(Channel&)>& talk);

 private:
  [[noreturn]] void lost(bool late);
  int end();

  std::string what_, failure_{};
  double seconds_;
  pid_t child_ = -1;
  int descriptor_ = -1;
};

}  // namespace attractor
