#include "attractor/drawing/save_run.hpp"

#include <optional>
#include <vector>

#include "attractor/base/file.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/files/load_inputs.hpp"
#include "attractor/files/npy.hpp"
#include "attractor/files/problem_file.hpp"
#include "attractor/files/run_directory.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

/// Gives inputs that have no file the name of one for a while, so that run.toml can repeat the run.
class NamedInputs {
 public:
  NamedInputs(const ParameterList& list, const fs::path& directory) {
    for (const Parameter& p : list) {
      const fs::path place = fs::absolute(directory) / "inputs" / p.name;
      if (auto* const* x = std::get_if<ArrayInput*>(&p.target)) name(**x, place);
      if (auto* const* x = std::get_if<WeightInput*>(&p.target)) name((*x)->given, place);
      if (auto* const* x = std::get_if<ProblemInput*>(&p.target))
        if ((*x)->problem && (*x)->name.empty()) {
          (*x)->name = place.string() + ".h5";
          problem_ = *x;
        }
    }
  }
  ~NamedInputs() {
    for (ArrayInput* input : arrays_) input->name.clear();
    if (problem_ != nullptr) problem_->name.clear();
  }
  NamedInputs(const NamedInputs&) = delete;
  NamedInputs& operator=(const NamedInputs&) = delete;

  void write() const {
    if (problem_ == nullptr && arrays_.empty()) return;
    const fs::path first = problem_ != nullptr ? problem_->name : arrays_[0]->name;
    make_directory(first.parent_path());
    for (const ArrayInput* input : arrays_) write_npy(input->name, *input->array);
    if (problem_ != nullptr) training::write_problem(*problem_->problem, problem_->name);
  }

 private:
  void name(ArrayInput& input, const fs::path& place) {
    if (!input.array || !input.name.empty()) return;
    input.name = place.string() + ".npy";
    arrays_.push_back(&input);
  }

  std::vector<ArrayInput*> arrays_{};
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
