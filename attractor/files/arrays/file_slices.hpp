// A file that is read piece by piece: nothing of it is in memory but what was asked for, and no
// piece is taken that the file does not have. Several files in a row may count as one (models are
// sometimes cut into parts). A file that shrinks meanwhile is an Error, never a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace attractor {

class FileSlices {
 public:
  explicit FileSlices(const std::filesystem::path& source);
  /// One after the other.
  explicit FileSlices(const std::vector<std::filesystem::path>& parts);
  ~FileSlices();
  FileSlices(FileSlices&&) noexcept;
  FileSlices(const FileSlices&) = delete;
  FileSlices& operator=(const FileSlices&) = delete;

  std::uint64_t size() const { return size_; }
  /// In messages: the first file.
  const std::string& name() const { return name_; }
  /// Bytes [offset, offset + out.size()); throws Error if the file has fewer.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The same as text.
  std::string text(std::uint64_t offset, std::size_t length) const;

 private:
  struct Part {
    int descriptor = -1;
    std::uint64_t begin = 0, size = 0;
    std::string name{};
  };
  void open(const std::filesystem::path& source);
  std::string name_;
  std::uint64_t size_ = 0;
  std::vector<Part> parts_;
};

}  // namespace attractor
