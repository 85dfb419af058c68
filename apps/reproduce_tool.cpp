// `reproduce`: the catalogue of published results (papers/catalogue.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/exit_status.hpp"
#include "apps/interrupt.hpp"
#include "apps/out_directory.hpp"
#include "apps/progress_bar.hpp"
#include "apps/terminal.hpp"
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/files/checkpoint_file.hpp"
#include "attractor/lab/pieces.hpp"
#include "papers/catalogue.hpp"
#include "papers/gallery.hpp"
#include "papers/reproduce.hpp"

namespace attractor::apps {
namespace {

namespace fs = std::filesystem;
using namespace attractor::papers;

struct ReproduceOptions {
  std::string id, out, resume;
  bool list = false, quick = false, overwrite = false;
  RunOptions run{};
};

void add(ReproduceOptions& o, lab::ParameterList& l) {
  l.group("Run");
  std::vector<std::string> ids = {"all"};
  for (const Entry& e : catalogue()) ids.push_back(e.id);
  l.add("id", o.id, "an experiment of --list, or all").allow("a name").suggest(ids).first();
  l.add("list", o.list, "what there is");
  l.add("quick", o.quick, "smaller sizes: seconds instead of minutes");
  l.add("out", o.out, "new directory for a page each and the gallery")
      .allow("a directory")
      .not_empty();
  l.add("overwrite", o.overwrite, "replace the gallery that out holds already");
  l.add("resume", o.resume, "continue a gallery that was ended in any way")
      .allow("its directory")
      .not_empty();
  add_threads(o.run, l);
  add_json(o.run, l);
  add_quiet(o.run, l);
}

int print_list(bool as_json) {
  if (as_json) {
    fmt::print("{}\n", catalogue_json().dump(2));
    return kOk;
  }
  for (const Entry& e : catalogue())
    fmt::print("  {:<24} {}\n  {:<24} {}\n", e.id, e.title, "", e.source);
  return kOk;
}

std::vector<Entry> chosen(const std::string& id) {
  if (id == "all") return catalogue();
  return {entry_named(id)};
}

/// What a gallery is made of, as its run.toml keeps it.
lab::ParameterList stored(ReproduceOptions& o) {
  lab::ParameterList l;
  l.add("id", o.id, "an experiment, or all");
  l.add("quick", o.quick, "smaller sizes");
  return l;
}

/// Nothing in it but what this program puts into galleries.
bool is_gallery(const fs::path& directory) {
  const auto known = [](const fs::path& file) {
    const std::string name = file.filename().string();
    const std::vector<Entry>& all = catalogue();
    return name == "index.html" || name == "summary.json" || name == "run.toml" ||
           name == "checkpoint.bin" ||
           (fs::is_directory(file) &&
            std::any_of(all.begin(), all.end(), [&](const Entry& e) { return e.id == name; }));
  };
  const fs::directory_iterator files(directory);
  return std::all_of(begin(files), end(files),
                     [&](const fs::directory_entry& file) { return known(file.path()); });
}

/// Before any work: the directory is there, empty and ours to write.
lab::RunDirectory make_fresh(ReproduceOptions& options) {
  const fs::path out = options.out;
  if (options.overwrite && fs::is_directory(out)) {
    if (!is_gallery(out))
      throw Error(
          fmt::format("{} holds other files than a gallery; choose another --out", out.string()));
    for (const fs::directory_entry& file : fs::directory_iterator(out)) fs::remove_all(file.path());
  }
  lab::RunDirectory directory =
      create_directory(options.out, false, stored(options),
                       {.name = "reproduce",
                        .command = fmt::format("attractor reproduce {}{}", options.id,
                                               options.quick ? " --quick" : ""),
                        .started_in = fs::current_path().string()});
  write_file(out / "index.html", "the gallery is being made\n");
  return directory;
}

/// --out or --resume, if there is one; what was resumed is in the options then.
std::optional<lab::RunDirectory> directory_of(ReproduceOptions& options) {
  require_out(options.out, options.overwrite);
  if (options.resume.empty()) {
    chosen(options.id);
    return options.out.empty() ? std::nullopt : std::optional(make_fresh(options));
  }
  if (!options.id.empty() || !options.out.empty() || options.quick)
    throw Error(
        fmt::format("--resume takes the experiments from {}; give no others", options.resume));
  options.out = options.resume;
  return resume_directory(options.resume, stored(options), "reproduce");
}

std::string how_to_go_on(const ReproduceOptions& options) {
  return "attractor reproduce --resume " + lab::shell_word(options.out);
}

Verdict verdict_of(const Entry& entry, const ReproduceOptions& options, double share, double begin,
                   ProgressBar& bar) {
  const Effort effort{
      .quick = options.quick,
      .context = {.stop = interrupted, .report = [&](double done, const std::string& note) {
                    if (bar.due())
                      bar.show(begin + share * done, fmt::format("{}: {}", entry.id, note));
                  }}};
  return reproduce(entry, effort, options.out);
}

void print(const Verdict& v) {
  fmt::print("{:<24} {} ({:.1f} s)\n", v.id, v.words, v.seconds);
  std::fflush(stdout);
}

/// Those that a run before this one has finished stand as they are. Ends early if interrupted.
std::vector<Verdict> all_verdicts(const ReproduceOptions& options, lab::Pieces& pieces) {
  const std::vector<Entry> entries = chosen(options.id);
  const double share = 1 / static_cast<double>(entries.size());
  std::vector<Verdict> verdicts;
  ProgressBar bar(!options.run.quiet);
  for (const Entry& entry : entries) {
    std::optional<Verdict> verdict = pieces.find<Verdict>(entry.id);
    if (!verdict) {
      const double begin = share * static_cast<double>(verdicts.size());
      verdict = verdict_of(entry, options, share, begin, bar);
      bar.clear();
      if (interrupted()) break;
      if (!verdict->failed && !verdict->skipped) pieces.keep(entry.id, *verdict);
    }
    if (!options.run.json) print(*verdict);
    verdicts.push_back(std::move(*verdict));
  }
  pieces.save();
  return verdicts;
}

int say_interrupted(const ReproduceOptions& options, std::size_t done) {
  say(fmt::format("interrupted after {} of {}; {}", done, chosen(options.id).size(),
                  options.out.empty() ? "verdicts above stand (no --out)"
                                      : "continue with: " + how_to_go_on(options)));
  return kInterrupted;
}

int deliver(const ReproduceOptions& options, const std::vector<Verdict>& verdicts) {
  if (options.run.json) {
    Json all = Json::array();
    for (const Verdict& v : verdicts) all.push_back(json(v));
    fmt::print("{}\n", all.dump(2));
  } else if (!options.out.empty()) {
    fmt::print("\nGallery: {}\n", (fs::path(options.out) / "index.html").string());
  }
  const bool failed =
      std::any_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.failed; });
  return failed ? kNotDelivered : kOk;
}

int run(const ReproduceOptions& given) {
  if (given.list) return print_list(given.run.json);
  ReproduceOptions options = given;
  if (options.id.empty() && options.resume.empty())
    throw Error("name an experiment, or all; attractor reproduce --list shows them");
  std::optional<lab::RunDirectory> directory = directory_of(options);
  set_threads(options.run.threads);
  catch_interrupts();
  std::vector<Verdict> verdicts;
  try {
    lab::Pieces pieces({.checkpoints = directory ? std::make_shared<lab::CheckpointFile>(
                                                       directory->path() / "checkpoint.bin")
                                                 : nullptr,
                        .checkpoint_seconds = 0,
                        .stop = interrupted},
                       fmt::format("{} {}", options.id, options.quick));
    verdicts = all_verdicts(options, pieces);
    if (verdicts.size() < chosen(options.id).size())
      return say_interrupted(options, verdicts.size());
    if (directory) write_gallery(verdicts, options.quick, options.out);
  } catch (const Error& error) {
    if (!directory) throw;
    throw Error(fmt::format("{}; to go on: {}", error.what(), how_to_go_on(options)));
  }
  if (directory) directory->close();
  return deliver(options, verdicts);
}

}  // namespace

Tool reproduce_tool() {
  return {
      .name = "reproduce",
      .about = "Run the papers' figures and claims again, each with a verdict",
      .examples =
          "  attractor reproduce --list\n"
          "  attractor reproduce phase-circle --quick --out phases\n"
          "  attractor reproduce all --quick --out gallery\n"
          "After Ctrl-C or a crash, attractor reproduce --resume gallery goes on. "
          "A verdict that differs is a result, not an error: exit status 0. 3: one could not be "
          "run. Entries about trained models read what tools/models fetches; without it they are "
          "skipped, by name.",
      .make = [] { return std::make_unique<OptionsCall<ReproduceOptions>>(); }};
}

}  // namespace attractor::apps
