#include "attractor/files/output_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "attractor/files/load_inputs.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

fs::path place(const std::string& name, const std::string& directory) {
  return fs::path(directory) / name;
}

}  // namespace

void require_outputs(const ParameterList& list, const std::string& directory) {
  std::error_code ignored;
  std::vector<fs::path> others;
  for (const std::string& name : input_files(list))  // with and without ":/dataset"
    for (const std::string& file : {name, name.substr(0, name.rfind(":/"))})
      others.push_back(fs::weakly_canonical(place(file, directory), ignored));
  for (const Parameter& p : list) {
    const std::string name = p.text();
    if (!p.output || name.empty()) continue;
    const fs::path target = place(name, directory);
    if (fs::is_directory(target, ignored))
      throw Error(fmt::format("{} = {} is a directory; a file name is needed", p.name, name));
    const fs::path whole = fs::weakly_canonical(target, ignored);
    for (const fs::path& other : others)
      if (whole == other)
        throw Error(
            fmt::format("{} = {} is also the name of another file of this run", p.name, name));
    others.push_back(whole);
    AtomicFile probe(target);
  }
}

void write_outputs(const Result& result, const std::string& directory) {
  for (const Output& output : result.outputs)
    if (!output.file.empty()) write_npy(place(output.file, directory), output.array);
}

}  // namespace attractor::lab
