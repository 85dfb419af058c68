#include "attractor/files/load_inputs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/arrays/array_file.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/files/models/model_config.hpp"
#include "attractor/files/models/model_file.hpp"
#include "attractor/files/problem_file.hpp"
#include "attractor/lab/select/example_parameters.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

/// The name of a file that a parameter has; empty: none. Pointers are taken as slots hold them: one
/// that had to become a pointer to const would go to the template.
struct FileName {
  std::string operator()(ArrayInput* x) const { return x->name; }
  std::string operator()(WeightInput* x) const { return x->given.name; }
  std::string operator()(ProblemInput* x) const { return is_example(x->name) ? "" : x->name; }
  std::string operator()(RunInput* x) const { return x->name; }
  std::string operator()(ModelInput* x) const { return x->name; }
  std::string operator()(ArchitectureInput* x) const { return x->name; }
  std::string operator()(TextInput* x) const { return x->name; }
  template <class T>
  std::string operator()(const T&) const {
    return "";
  }
};

/// Also of a name that no file can have, for which the library would throw an error of its own.
bool is_folder(const fs::path& name) {
  std::error_code ignored;
  return fs::is_directory(name, ignored);
}

struct Load {
  const std::string& directory;

  std::string place(const std::string& name) const {
    return directory.empty() || name.starts_with('/') ? name : directory + "/" + name;
  }

  void operator()(ArrayInput* x) const {
    if (x->name.empty() || x->array) return;
    x->array = std::make_shared<const Array>(read_array(place(x->name)));
  }
  void operator()(WeightInput* x) const { (*this)(&x->given); }
  void operator()(ProblemInput* x) const {
    if (x->name.empty() || x->problem || is_example(x->name)) return;
    x->problem = std::make_shared<const training::Problem>(training::read_problem(place(x->name)));
  }
  void operator()(RunInput* x) const {
    if (x->name.empty() || !x->arrays.empty()) return;
    const fs::path given = place(x->name);
    const Hdf5Reader file(is_folder(given) ? given / "result.h5" : given);
    for (const char* path : {"/snapshots/positions", "/snapshots/log10_time", "/snapshots/norms"})
      if (file.exists(path)) x->arrays.emplace(path, file.read(path));
  }
  void operator()(ModelInput* x) const {
    if (x->name.empty() || x->model) return;
    LoadedModel loaded = read_model(place(x->name));
    x->model = std::move(loaded.model);
    x->tokenizer = std::move(loaded.tokenizer);
  }
  void operator()(ArchitectureInput* x) const {
    if (x->name.empty() || x->architecture) return;
    fs::path given = place(x->name);
    if (is_folder(given)) given /= "config.json";
    x->architecture = std::make_shared<const models::Architecture>(read_model_config(given));
  }
  void operator()(TextInput* x) const {
    constexpr std::size_t kMostText = std::size_t{64} << 20;
    if (x->name.empty() || x->text) return;
    x->text = std::make_shared<const std::string>(read_file(place(x->name), kMostText));
  }
  template <class T>
  void operator()(const T&) const {}
};

}  // namespace

std::vector<std::string> input_files(const ParameterList& list) {
  std::vector<std::string> names;
  for (const Parameter& p : list)
    if (std::string name = std::visit(FileName{}, p.target); !name.empty())
      names.push_back(std::move(name));
  return names;
}

void load_inputs(const ParameterList& list, const std::string& directory) {
  for (const Parameter& p : list) std::visit(Load{directory}, p.target);
}

}  // namespace attractor::lab
