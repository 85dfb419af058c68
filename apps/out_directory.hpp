// Run directories as flags name them: what the library refuses is told with what to type instead.
#pragma once

#include <filesystem>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/files/run_directory.hpp"

namespace attractor::apps {

/// The sentence, and what to type instead.
std::string told(const lab::DirectoryError& error, const std::string& directory);

/// What `make` gives; what it refuses about `directory` is told with what to type instead.
template <class Make>
auto in_words_of_flags(const std::string& directory, const Make& make) {
  try {
    return make();
  } catch (const lab::DirectoryError& error) {
    throw Error(told(error, directory));
  }
}

/// --out, with --overwrite or without. Throws Error.
lab::RunDirectory create_directory(const std::string& out, bool overwrite,
                                   const lab::ParameterList& parameters, lab::RunOrigin origin);
/// --resume. Throws Error.
lab::RunDirectory resume_directory(const std::string& resume, const lab::ParameterList& parameters,
                                   const std::string& command);

/// Throws Error if a file or directory that is read lies in the one that --overwrite replaces.
void require_elsewhere(const std::string& out, const std::filesystem::path& input);

/// --overwrite without --out has nothing to do; refused.
void require_out(const std::string& out, bool overwrite);

inline constexpr const char* kOverwriteHelp = "replace the run that out holds already";

}  // namespace attractor::apps
