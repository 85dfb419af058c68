// Files, whole or not at all: a reader never sees half a result.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "attractor/base/error.hpp"

namespace attractor {

/// A write that failed: not what was asked for has to change but the disk.
class WriteError : public Error {
 public:
  using Error::Error;
};

/// A file being written beside its final place; commit() makes it appear there, flushed to disk.
/// Without commit() nothing is left. A failing write throws Error with the reason (for instance a
/// full disk). Only a regular file is ever replaced: devices, pipes and folders are refused, a link
/// is kept and what it leads to is replaced. Writers of the same name do not disturb each other,
/// the last commit stands; nobody's file is written through (O_EXCL, O_NOFOLLOW), and what a killed
/// writer left is taken away by the next.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  void commit();

 private:
  [[noreturn]] void fail(const char* action);

  std::filesystem::path target_, partial_;
  int descriptor_ = -1;
};

void write_file(const std::filesystem::path& target, std::string_view text);

/// The whole file as text; refuses what does not exist, is a directory or exceeds `limit` bytes.
std::string read_file(const std::filesystem::path& source, std::size_t limit);

/// Makes the directory and its parents; throws Error where that is impossible.
void make_directory(const std::filesystem::path& directory);

/// Throws Error when there are less than `bytes` left where `target` is or will be.
void require_space(const std::filesystem::path& target, double bytes);

}  // namespace attractor
