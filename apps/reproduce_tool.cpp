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
#include "apps/tool.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/threads.hpp"
#include "papers/catalogue.hpp"
#include "papers/gallery.hpp"
#include "papers/reproduce.hpp"

namespace attractor::apps {
namespace {

namespace fs = std::filesystem;
using namespace attractor::papers;

struct ReproduceOptions {
  std::string id, out;
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

/// Nothing in it but what this program puts into galleries.
bool is_gallery(const fs::path& directory) {
  const auto known = [](const fs::path& file) {
    const std::string name = file.filename().string();
    const std::vector<Entry>& all = catalogue();
    return name == "index.html" || name == "summary.json" ||
           (fs::is_directory(file) &&
            std::any_of(all.begin(), all.end(), [&](const Entry& e) { return e.id == name; }));
  };
  const fs::directory_iterator files(directory);
  return std::all_of(begin(files), end(files),
                     [&](const fs::directory_entry& file) { return known(file.path()); });
}

/// Before any work: the directory is there, empty and ours to write.
void make_fresh(const ReproduceOptions& options) {
  const fs::path out = options.out;
  if (fs::exists(out)) {
    const bool gallery = fs::is_directory(out) && is_gallery(out);
    if (gallery && options.overwrite)
      for (const fs::directory_entry& file : fs::directory_iterator(out))
        fs::remove_all(file.path());
    else if (!fs::is_directory(out) || !fs::is_empty(out))
      throw Error(fmt::format("{} exists and is not an empty directory; choose another --out{}",
                              out.string(), gallery ? ", or --overwrite it" : ""));
  }
  make_directory(out);
  write_file(out / "index.html", "the gallery is being made\n");
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

int run(const ReproduceOptions& options) {
  if (options.list) return print_list(options.run.json);
  if (options.id.empty())
    throw Error("name an experiment, or all; attractor reproduce --list shows them");
  const std::vector<Entry> entries = chosen(options.id);
  require_out(options.out, options.overwrite);
  if (!options.out.empty()) make_fresh(options);
  set_threads(options.run.threads);
  catch_interrupts();
  std::vector<Verdict> verdicts;
  const double share = 1 / static_cast<double>(entries.size());
  ProgressBar bar(!options.run.quiet);
  for (const Entry& entry : entries) {
    const double begin = share * static_cast<double>(verdicts.size());
    const Verdict verdict = verdict_of(entry, options, share, begin, bar);
    bar.clear();
    if (interrupted()) {
      fmt::print(stderr, "attractor: interrupted in {}; verdicts before it stand\n", entry.id);
      return kInterrupted;
    }
    if (!options.run.json) print(verdict);
    verdicts.push_back(verdict);
  }
  if (!options.out.empty()) write_gallery(verdicts, options.quick, options.out);
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

}  // namespace

Tool reproduce_tool() {
  return {
      .name = "reproduce",
      .about = "Run the papers' figures and claims again, each with a verdict",
      .examples =
          "  attractor reproduce --list\n"
          "  attractor reproduce phase-circle --quick --out phases\n"
          "  attractor reproduce all --quick --out gallery\n"
          "A verdict that differs is a result, not an error: exit status 0. 3: one could not be "
          "run.",
      .make = [] { return std::make_unique<OptionsCall<ReproduceOptions>>(); }};
}

}  // namespace attractor::apps
