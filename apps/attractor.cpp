// The program. Each subcommand is one file; errors become exit status 2 here and nowhere else.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <new>

#include "apps/exit_status.hpp"
#include "apps/flow_command.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/version.hpp"

namespace {

using namespace attractor::apps;

int complain(std::string_view sentence) {
  fmt::print(stderr, "attractor: {}\n", sentence);
  return kBadInput;
}

// CLI11 puts the option first and its text may span lines; one sentence is enough.
int complain_about_usage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::string text = error.what();
  for (char& c : text)
    if (c == '\n') c = ' ';
  return complain(text + "; see --help");
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then an ordinary write error
  CLI::App app{"Attractor: a laboratory for the dynamics of attention."};
  app.set_version_flag("--version", std::string("attractor ") + attractor::kVersion);
  app.require_subcommand(1);
  app.footer(
      "Example:\n  attractor flow --tokens 64 --dim 3 --beta 40 --time inf --out collapse\n\n"
      "Exit status: 0 done, 2 bad input, 3 the numerics could not deliver, 130 interrupted.");
  const std::function<int()> flow = add_flow_command(app);
  try {
    app.parse(argc, argv);
    return flow();
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
