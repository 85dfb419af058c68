// Run directories as flags name them: what the library refuses is told with what to type instead.
#pragma once

#include <filesystem>
#include <string>

#include "attractor/files/run_directory.hpp"

namespace attractor::apps {

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
