// A checkpoint as a file: written beside its place and moved there whole.
#pragma once

#include <filesystem>
#include <utility>

#include "attractor/lab/context.hpp"

namespace attractor::lab {

class CheckpointFile final : public CheckpointStore {
 public:
  explicit CheckpointFile(std::filesystem::path file) : file_(std::move(file)) {}

  std::unique_ptr<Writing> replace() override;
  std::optional<std::string> read() const override;
  std::string name() const override { return file_.string(); }

 private:
  std::filesystem::path file_;
};

}  // namespace attractor::lab
