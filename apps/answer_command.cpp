#include "apps/answer_command.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/progress_bar.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/experiment/run_directory.hpp"

namespace attractor::apps {

using namespace attractor::experiment;

void add_answer_options(CLI::App& command, AnswerOptions& options) {
  add_path(command, "out", options.out, "DIR",
           "new directory for page, figures, result.h5 and summary.json");
  const Parameter threads{.name = "threads",
                          .group = "Run",
                          .help = "threads, 0: all cores; never changes a result",
                          .target = &options.threads,
                          .most = 4096};
  add_parameter(command, threads, [threads](const std::string& text) { threads.set(text); });
  command.add_flag("--json", options.json, "print one JSON object, nothing else")->group("Run");
  command.add_flag("--quiet", options.quiet, "no progress bar")->group("Run");
}

int answer(const AnswerOptions& options, const Question& question, const Ask& ask) {
  set_threads(options.threads);
  catch_interrupts();
  const auto begin = std::chrono::steady_clock::now();
  std::optional<RunDirectory> directory;
  if (options.out)
    directory.emplace(
        RunDirectory::create(*options.out, question.now,
                             {.name = question.program.substr(std::string("attractor ").size()),
                              .command = question.command(),
                              .started_in = std::filesystem::current_path().string()}));
  const auto ask_it = [&] {
    ProgressBar bar(!options.quiet);
    try {
      return ask({.stop = interrupted, .report = [&](double done, const std::string& note) {
                    if (bar.due()) bar.show(done, note);
                  }});
    } catch (...) {
      if (directory) directory->abandon();
      throw;
    }
  };
  const Answer answer = ask_it();
  if (interrupted()) {
    if (directory) directory->abandon();
    fmt::print(stderr, "attractor: interrupted; nothing was kept\n");
    return kInterrupted;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (directory) {
    try {
      write_answer(answer, question, seconds, directory->path());
    } catch (...) {
      directory->abandon();
      throw;
    }
    directory->close();
  }
  if (options.json) {
    fmt::print("{}\n", summary(answer, question, seconds).dump(2));
  } else {
    fmt::print("{}", text(answer));
    if (directory) fmt::print("\nPage: {}\n", (directory->path() / "index.html").string());
  }
  if (answer.not_delivered.empty()) return kOk;
  fmt::print(stderr, "attractor: {}\n", answer.not_delivered);
  return kNotDelivered;
}

}  // namespace attractor::apps
