// What the input files of a run held when it began. A run that goes on reads them again; if one has
// changed since, the answer would belong neither to the old data nor to the new, so the run is
// refused. A fingerprint is a checksum of the bytes of a file, of the whole file for one dataset in
// it, of all .npy and .txt files of a directory, and of weights and JSON files if it holds a model.
#pragma once

#include <string>
#include <vector>

namespace attractor::lab {

struct InputFile {
  std::string name;         // as given: relative ones are meant from a directory
  std::string fingerprint;  // 16 hexadecimal digits
  friend bool operator==(const InputFile&, const InputFile&) = default;
};

class InputFiles {
 public:
  InputFiles() = default;
  /// As they are now. Throws Error if one is missing.
  InputFiles(const std::vector<std::string>& names, const std::string& directory);
  /// As they were when this was recorded.
  static InputFiles recorded(std::vector<InputFile> files, std::string directory);

  /// By name, each once.
  const std::vector<InputFile>& files() const { return files_; }

  /// Throws Error naming the first file that is missing or holds something else. Reads those again
  /// whose size or time of change is another one than when they were read last.
  void require_unchanged();

 private:
  std::string place(const InputFile& file) const;

  std::string directory_;
  std::vector<InputFile> files_;
  std::vector<std::string> stamps_;  // size and time of change of each when it was read
};

}  // namespace attractor::lab
