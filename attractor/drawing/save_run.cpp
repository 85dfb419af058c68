#include "attractor/drawing/save_run.hpp"

#include <optional>
#include <vector>

#include "attractor/base/file.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "attractor/files/load_inputs.hpp"
#include "attractor/files/problem_file.hpp"
#include "attractor/files/run_directory.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

/// Gives inputs that have no file the name of one for a while, so that run.toml can repeat the run.
class NamedInputs {
 public:
  NamedInputs(const ParameterList& list, const fs::path& directory)
      : directory_(fs::absolute(directory) / "inputs") {
    for (const Parameter& p : list) {
      const fs::path place = directory_ / p.name;
      if (auto* const* x = std::get_if<ArrayInput*>(&p.target)) name(**x, place);
      if (auto* const* x = std::get_if<WeightInput*>(&p.target)) name((*x)->given, place);
      if (auto* const* x = std::get_if<ProblemInput*>(&p.target))
        if ((*x)->problem && (*x)->name.empty()) {
          (*x)->name = place.string() + ".h5";
          problem_ = *x;
        }
      if (auto* const* x = std::get_if<TextInput*>(&p.target))
        if ((*x)->text && (*x)->name.empty()) {
          (*x)->name = place.string() + ".txt";
          texts_.push_back(*x);
        }
    }
  }
  ~NamedInputs() {
    for (ArrayInput* input : arrays_) input->name.clear();
    if (problem_ != nullptr) problem_->name.clear();
    for (TextInput* input : texts_) input->name.clear();
  }
  NamedInputs(const NamedInputs&) = delete;
  NamedInputs& operator=(const NamedInputs&) = delete;

  void write() const {
    if (problem_ == nullptr && arrays_.empty() && texts_.empty()) return;
    make_directory(directory_);
    for (const ArrayInput* input : arrays_) write_npy(input->name, *input->array);
    if (problem_ != nullptr) training::write_problem(*problem_->problem, problem_->name);
    for (const TextInput* input : texts_) write_file(input->name, *input->text);
  }

 private:
  void name(ArrayInput& input, const fs::path& place) {
    if (!input.array || !input.name.empty()) return;
    input.name = place.string() + ".npy";
    arrays_.push_back(&input);
  }

  fs::path directory_;
  std::vector<ArrayInput*> arrays_{};
  std::vector<TextInput*> texts_{};
  ProblemInput* problem_ = nullptr;
};

}  // namespace

void save_run(const Result& answer, const Call& call, const std::string& name, double wall_seconds,
              const fs::path& directory, bool with_page) {
  const std::string here = fs::current_path().string();
  const InputFiles inputs(input_files(call.now), here);
  std::optional<RunDirectory> kept;
  {
    const NamedInputs named(call.now, directory);
    kept.emplace(RunDirectory::create(
        directory, call.now,
        {.name = name, .command = call.command(), .started_in = here, .inputs = inputs}));
    named.write();
  }
  write_result(answer, call, wall_seconds, directory, {.page = with_page});
  kept->close();
}

}  // namespace attractor::lab
