// The program. Each subcommand is one file; errors become exit status 2 here and nowhere else.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <new>

#include "apps/command_line.hpp"
#include "apps/exit_status.hpp"
#include "apps/film_command.hpp"
#include "apps/problem_command.hpp"
#include "apps/reproduce_command.hpp"
#include "apps/sweep_command.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/version.hpp"
#include "attractor/ranks/ranks.hpp"

namespace {

using namespace attractor::apps;

// One line, whatever the offending value holds. All ranks refuse alike; rank 0 says so.
int complain(std::string_view sentence) {
  if (attractor::ranks::rank() > 0) return kBadInput;
  std::string line;
  for (char c : sentence) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  std::fputs(fmt::format("attractor: {}\n", line).c_str(), stderr);  // never throws
  return kBadInput;
}

int complain_about_usage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    text = text.substr(0, text.find(':')) +
           (text.find("Most") != text.npos ? " is given more than once" : " needs a value");
  return complain(text + "; see --help");
}

// CLI11 only says that a subcommand is missing; say what was typed instead.
void require_command(const CLI::App& app, int argc, char** argv) {
  const std::vector<const CLI::App*> commands = app.get_subcommands({});
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  const std::string word = argc > 1 ? argv[1] : "";
  const bool known = word == "-h" || word == "--help" || word == "--version" ||
                     std::find(names.begin(), names.end(), word) != names.end();
  if (known) return;
  throw attractor::Error(
      fmt::format("{}; commands: {}; see --help",
                  word.empty() ? "a command is missing" : fmt::format("'{}' is no command", word),
                  fmt::join(names, ", ")));
}

void require_one_rank(const std::string& command) {
  const std::size_t count = attractor::ranks::count();
  if (count > 1 && command != "flow" && command != "sweep")
    throw attractor::Error(
        fmt::format("{} runs on one rank, not on {}; ranks share the work of flow and sweep only",
                    command, count));
}

using Commands = std::map<std::string, std::function<int()>>;

int run(CLI::App& app, int argc, char** argv, const Commands& commands) {
  try {
    require_command(app, argc, argv);
    app.parse(argc, argv);
    const std::string command = app.get_subcommands().front()->get_name();
    require_one_rank(command);
    return commands.at(command)();
  } catch (const CLI::ParseError& error) {
    return complain_about_usage(app, error);
  } catch (const attractor::Error& error) {
    return complain(error.what());
  } catch (const std::bad_alloc&) {
    return complain(
        "not enough memory for this many tokens and dimensions; lower --tokens or --dim");
  } catch (const std::exception& error) {
    return complain(error.what());
  }
}

int run_program(int argc, char** argv) {
  CLI::App app{"Attractor: a laboratory for the dynamics of attention."};
  app.set_version_flag("--version", std::string("attractor ") + attractor::kVersion);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n  attractor flow --tokens 64 --dim 3 --beta 40 --time inf --out collapse\n"
      "  attractor select data.json --optimizer flow --log10-time 100\n\n"
      "Exit status: 0 done, 2 bad input, 3 the numerics could not deliver, 130 interrupted.");
  Commands commands = add_commands(app);
  commands["film"] = add_film_command(app);
  commands["merge"] = add_merge_command(app);
  commands["problem"] = add_problem_command(app);
  commands["reproduce"] = add_reproduce_command(app);
  commands["sweep"] = add_sweep_command(app);
  const int status = run(app, argc, argv, commands);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return complain(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then an ordinary write error
  try {
    const attractor::ranks::Session session(argc, argv);
    // What all ranks would print, rank 0 prints.
    if (attractor::ranks::rank() > 0 && std::freopen("/dev/null", "w", stdout) == nullptr)
      return kNotDelivered;
    return run_program(argc, argv);
  } catch (const attractor::Error& error) {
    return complain(error.what());
  }
}
