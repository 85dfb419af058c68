#include "attractor/study/sweep.hpp"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/ranks/ranks.hpp"
#include "attractor/study/measure.hpp"
#include "attractor/study/run_settings.hpp"

namespace attractor::lab {
namespace {

/// What the workers of one process share.
class Workshop {
 public:
  Workshop(const Study& study, const SweepContext& context, const std::string& journal)
      : study_(study),
        context_(context),
        finished_(read_journals(context.directory, study.units())),
        schedule_(study, context.shard, finished_),
        journal_(context.directory, journal),
        inputs_(context.inputs) {}

  /// Takes units until none is left, one is interrupted, or something went wrong.
  void work() noexcept {
    std::size_t unit = 0;
    while (take(unit)) {
      try {
        UnitResult result;
        const bool ended = run_unit(
            study_, unit, context_.files_from, [this] { return stopping(); }, result);
        const std::lock_guard lock(mutex_);
        if (!ended)
          stopped_ = true;
        else
          commit(result, true);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!trouble_) trouble_ = std::current_exception();
      }
      changed_.notify_all();
    }
  }

  /// A unit to hand to another rank, if there is one now.
  std::optional<std::size_t> hand_out() {
    const std::lock_guard lock(mutex_);
    return over() ? std::nullopt : schedule_.next();
  }

  void take_in(const UnitResult& result) {
    {
      const std::lock_guard lock(mutex_);
      commit(result, false);
    }
    changed_.notify_all();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }

  bool ended() {
    const std::lock_guard lock(mutex_);
    return over();
  }

  /// Every unit is there; throws what went wrong.
  bool complete() {
    const std::lock_guard lock(mutex_);
    if (trouble_) std::rethrow_exception(trouble_);
    return schedule_.done();
  }

  bool stopping() const { return context_.stop && context_.stop(); }

 private:
  bool over() const { return stopped_ || trouble_ || schedule_.done() || stopping(); }

  bool take(std::size_t& unit) {
    std::unique_lock lock(mutex_);
    while (!over()) {
      if (const auto next = schedule_.next()) {
        unit = *next;
        return true;
      }
      changed_.wait_for(lock, std::chrono::milliseconds(100));
    }
    return false;
  }

  void commit(const UnitResult& result, bool ours) {
    if (ours) {
      inputs_.require_unchanged();  // the unit has read them: it counts if they are what they were
      journal_.append(result);
    }
    schedule_.finished(result);
    if (context_.report) context_.report(schedule_.completed(), schedule_.most());
  }

  const Study& study_;
  const SweepContext& context_;
  const std::map<std::size_t, UnitResult> finished_;
  Schedule schedule_;
  Journal journal_;
  InputFiles inputs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::exception_ptr trouble_;
};

// ---- Among ranks. A worker sends the line of what it has finished, or nothing for a start, or
// kStopped; it is answered with a unit or kNoMore.

constexpr int kReport = 1, kOrder = 2;
constexpr std::string_view kStopped = "stopped";
constexpr std::size_t kNoMore = static_cast<std::size_t>(-1);

void send_text(std::size_t to, int tag, std::string_view text) {
  ranks::send(to, tag, std::as_bytes(std::span(text.data(), text.size())));
}

void send_order(std::size_t to, std::size_t unit) {
  ranks::send(to, kOrder, std::as_bytes(std::span(&unit, 1)));
}

void serve(Workshop& workshop) {
  std::size_t away = ranks::count() - 1;
  std::deque<std::size_t> idle;
  while (away > 0) {
    while (const auto envelope = ranks::probe()) {
      const std::vector<std::byte> bytes = ranks::receive(envelope->from, envelope->tag);
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      UnitResult result;
      if (text == kStopped)
        workshop.stop();
      else if (parse_journal_line(text, result))
        workshop.take_in(result);
      idle.push_back(envelope->from);
    }
    for (std::size_t k = idle.size(); k > 0; --k) {
      const std::size_t rank = idle.front();
      idle.pop_front();
      const bool ended = workshop.ended();
      const auto unit = ended ? std::nullopt : workshop.hand_out();
      if (unit || ended) send_order(rank, unit.value_or(kNoMore));
      if (ended)
        --away;
      else if (!unit)
        idle.push_back(rank);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void work_for_rank_0(const Study& study, const SweepContext& context) {
  Journal journal(context.directory, fmt::format("rank-{}", ranks::rank()));
  InputFiles inputs = context.inputs;
  std::string line;
  for (;;) {
    send_text(0, kReport, line);
    const std::vector<std::byte> order = ranks::receive(0, kOrder);
    std::size_t unit = kNoMore;
    std::memcpy(&unit, order.data(), sizeof unit);
    if (unit == kNoMore) return;
    UnitResult result;
    if (run_unit(study, unit, context.files_from, context.stop, result)) {
      inputs.require_unchanged();
      journal.append(result);
      line = journal_line(result);
    } else {
      line = kStopped;
    }
  }
}

bool run_among_ranks(const Study& study, const SweepContext& context) {
  bool complete = false;
  if (ranks::rank() == 0) {
    Workshop workshop(study, context, "rank-0");
    std::thread own([&] { workshop.work(); });
    serve(workshop);
    own.join();
    complete = workshop.complete();
  } else {
    work_for_rank_0(study, context);  // an Error leaves the other ranks waiting: main() ends them
  }
  return ranks::largest(complete ? 1 : 0) == 1;
}

}  // namespace

bool run_unit(const Study& study, std::size_t unit, const std::string& files_from,
              const std::function<bool()>& stop, UnitResult& result) {
  result = {.unit = unit};
  const Settings settings = study.settings(unit / study.replicates, unit % study.replicates);
  Outcome outcome;
  try {
    outcome = run_settings(command_named(study.command), settings, files_from, {.stop = stop});
  } catch (const Error& error) {
    outcome.failure = error.what();
  } catch (const std::bad_alloc&) {
    outcome.failure = "not enough memory";
  }
  if (outcome.interrupted) return false;
  result.failure = outcome.failure;
  if (!result.failure.empty()) return true;
  std::vector<std::string> names = study.measures;
  if (names.empty()) {
    names = plain_measures(outcome.summary);
    for (const std::string& name : study.measured_by_figures()) names.push_back(name);
  }
  if (study.stop) names.push_back(study.stop->measure);
  for (const std::string& name : names) result.measures[name] = measure(outcome.summary, name);
  return true;
}

bool run_sweep(const Study& study, const SweepContext& context) {
  if (ranks::count() > 1) return run_among_ranks(study, context);
  Workshop workshop(study, context, "process");
  const std::size_t workers = context.workers > 0 ? context.workers : threads();
  if (workers == 1)
    workshop.work();  // a unit has all threads
  else
    parallel_for(workers, 1, [&](std::size_t, std::size_t) { workshop.work(); });
  return workshop.complete();
}

}  // namespace attractor::lab
