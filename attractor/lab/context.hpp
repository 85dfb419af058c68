// What the one who starts a run may want of it while it goes on: to stop it, to hear of it, to keep
// what it has done so far. One shape for every command; an empty one is a run that nobody watches.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace attractor::lab {

/// Keeps one checkpoint: in a file (files/checkpoint_file.hpp), in memory, in a browser.
class CheckpointStore {
 public:
  /// New bytes, which take the place of the old ones when they are complete.
  class Writing {
   public:
    virtual ~Writing() = default;
    virtual void write(std::span<const std::byte> bytes) = 0;
    virtual void commit() = 0;
  };

  virtual ~CheckpointStore() = default;
  virtual std::unique_ptr<Writing> replace() = 0;
  /// Nothing if there is none yet.
  virtual std::optional<std::string> read() const = 0;
  /// In messages.
  virtual std::string name() const = 0;
};

struct Context {
  std::shared_ptr<CheckpointStore> checkpoints{};  // none: a run that is stopped is lost
  double checkpoint_seconds = 10;                  // between checkpoints
  std::function<bool()> stop{};
  std::function<void(double done, const std::string& note)> report{};  // done < 0: end unknown
  std::function<bool()> due{};  // whether a report would be shown now; empty: always

  bool stopped() const { return stop && stop(); }
  void tell(double done, const std::string& note) const {
    if (report && (!due || due())) report(done, note);
  }
  /// For notes that take longer to write than the steps they are about.
  void tell(double done, const std::function<std::string()>& note) const {
    if (report && (!due || due())) report(done, note());
  }
};

}  // namespace attractor::lab
