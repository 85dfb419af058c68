#include "attractor/files/input_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "attractor/base/checksum.hpp"
#include "attractor/base/error.hpp"
#include "attractor/files/arrays/array_file.hpp"

namespace attractor::lab {
namespace fs = std::filesystem;
namespace {

/// Arrays of a problem, or weights, configuration and tokenizer of a model.
bool is_data(const fs::path& file, bool of_model) {
  const std::string kind = file.extension().string();
  if (kind == ".npy" || kind == ".txt") return true;
  return of_model && (kind == ".safetensors" || kind == ".onnx" || kind == ".json");
}

/// The file itself, or what a directory of arrays or a model holds; by name.
std::vector<fs::path> parts(const std::string& name) {
  std::error_code ignored;
  if (!fs::is_directory(name, ignored)) return {file_of(name)};
  const bool of_model = fs::exists(fs::path(name) / "config.json");
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(name))
    if (entry.is_regular_file() && is_data(entry.path(), of_model)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void add_file(const fs::path& file, Checksum& sum) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(fmt::format("{}: cannot be opened for reading", file.string()));
  std::vector<char> buffer(std::size_t{1} << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0)
    sum.add(std::string_view(buffer.data(), static_cast<std::size_t>(in.gcount())));
  if (in.bad()) throw Error(fmt::format("{}: cannot be read", file.string()));
}

std::string fingerprint(const std::string& name) {
  Checksum sum;
  for (const fs::path& file : parts(name)) {
    sum.add(file.filename().string() + '\n');
    add_file(file, sum);
  }
  return fmt::format("{:016x}", sum.value());
}

std::string stamp(const std::string& name) {
  std::string all;
  for (const fs::path& file : parts(name)) {
    struct stat s {};
    if (::stat(file.c_str(), &s) != 0)
      throw Error(fmt::format("{}: {}", file.string(), std::strerror(errno)));
    all += fmt::format("{} {} {} {} {};", file.filename().string(), s.st_ino, s.st_size,
                       s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  }
  return all;
}

}  // namespace

std::string InputFiles::place(const InputFile& file) const {
  const bool relative = !directory_.empty() && !file.name.starts_with('/');
  return relative ? directory_ + "/" + file.name : file.name;
}

InputFiles::InputFiles(const std::vector<std::string>& names, const std::string& directory)
    : directory_(directory) {
  std::vector<std::string> once = names;
  std::sort(once.begin(), once.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  for (const std::string& name : once) {
    InputFile& file = files_.emplace_back(InputFile{name, ""});
    stamps_.push_back(stamp(place(file)));  // first: a change while it is read is then seen
    file.fingerprint = fingerprint(place(file));
  }
}

InputFiles InputFiles::recorded(std::vector<InputFile> files, std::string directory) {
  InputFiles inputs;
  inputs.directory_ = std::move(directory);
  inputs.files_ = std::move(files);
  inputs.stamps_.resize(inputs.files_.size());
  return inputs;
}

void InputFiles::require_unchanged() {
  for (std::size_t k = 0; k < files_.size(); ++k) {
    const std::string file = place(files_[k]);
    std::string now = stamp(file);
    if (now == stamps_[k]) continue;
    if (fingerprint(file) != files_[k].fingerprint)
      throw Error(fmt::format(
          "{} has changed since the run began; bring it back as it was, or start again in another "
          "directory",
          file));
    stamps_[k] = std::move(now);
  }
}

}  // namespace attractor::lab
