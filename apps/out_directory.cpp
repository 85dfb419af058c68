#include "apps/out_directory.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "attractor/base/error.hpp"

namespace attractor::apps {
namespace {

namespace fs = std::filesystem;
using lab::DirectoryError;

std::string what_to_type(const DirectoryError& error, const std::string& directory) {
  switch (error.holds) {
    case DirectoryError::Holds::finished_run:
      return "choose another --out, or --overwrite it";
    case DirectoryError::Holds::unfinished_run:
      if (!error.command.empty())
        return fmt::format(
            "continue it with attractor {} --resume {}, choose another --out, or --overwrite it",
            error.command, directory);
      return "choose another --out, or --overwrite it";
    case DirectoryError::Holds::older_run:
      return "start again with another --out";
    case DirectoryError::Holds::no_directory:
    case DirectoryError::Holds::other_files:
      break;
  }
  return "choose another --out";
}

}  // namespace

std::string told(const DirectoryError& error, const std::string& directory) {
  return fmt::format("{}; {}", error.what(), what_to_type(error, directory));
}

void require_elsewhere(const std::string& out, const fs::path& input) {
  std::error_code ignored;
  const std::string place = fs::weakly_canonical(out, ignored).string() + "/";
  if ((fs::weakly_canonical(input, ignored).string() + "/").starts_with(place))
    throw Error(
        fmt::format("{} is read by this run and lies in the directory that --overwrite replaces; "
                    "choose another --out",
                    input.string()));
}

lab::RunDirectory create_directory(const std::string& out, bool overwrite,
                                   const lab::ParameterList& parameters, lab::RunOrigin origin) {
  if (overwrite)
    for (const lab::InputFile& input : origin.inputs.files())
      require_elsewhere(out, fs::path(origin.started_in) / input.name);
  return in_words_of_flags(out, [&] {
    return lab::RunDirectory::create(out, parameters, std::move(origin),
                                     overwrite ? lab::Existing::replaced : lab::Existing::kept);
  });
}

lab::RunDirectory resume_directory(const std::string& resume, const lab::ParameterList& parameters,
                                   const std::string& command) {
  return in_words_of_flags(resume,
                           [&] { return lab::RunDirectory::resume(resume, parameters, command); });
}

void require_out(const std::string& out, bool overwrite) {
  if (overwrite && out.empty()) throw Error("--overwrite has no effect without --out");
}

}  // namespace attractor::apps
