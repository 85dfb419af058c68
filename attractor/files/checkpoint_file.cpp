#include "attractor/files/checkpoint_file.hpp"

#include "attractor/base/file.hpp"

namespace attractor::lab {
namespace {

class FileWriting final : public CheckpointStore::Writing {
 public:
  explicit FileWriting(const std::filesystem::path& file) : file_(file) {}
  void write(std::span<const std::byte> bytes) override { file_.write(bytes); }
  void commit() override { file_.commit(); }

 private:
  AtomicFile file_;
};

}  // namespace

std::unique_ptr<CheckpointStore::Writing> CheckpointFile::replace() {
  return std::make_unique<FileWriting>(file_);
}

std::optional<std::string> CheckpointFile::read() const {
  if (!std::filesystem::exists(file_)) return {};
  return read_file(file_, std::size_t{1} << 40);
}

}  // namespace attractor::lab
