#include "attractor/base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "attractor/base/error.hpp"

namespace attractor {

namespace fs = std::filesystem;

AtomicFile::AtomicFile(fs::path target) : target_(std::move(target)), partial_(target_) {
  partial_ += ".partial";
  descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("open");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail("flush");
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("close");
  if (::rename(partial_.c_str(), target_.c_str()) != 0) fail("rename");
  // The name is on disk when its directory is.
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  const int directory = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  ::fsync(directory);
  ::close(directory);
}

void AtomicFile::fail(const char* action) const {
  const int reason = errno;
  ::unlink(partial_.c_str());
  throw Error(fmt::format("cannot {} {}: {}; nothing was replaced", action, target_.string(),
                          std::strerror(reason)));
}

void write_file(const fs::path& target, std::string_view text) {
  AtomicFile file(target);
  file.write(text);
  file.commit();
}

std::string read_file(const fs::path& source, std::size_t limit) {
  std::error_code error;
  const fs::file_status status = fs::status(source, error);
  if (!fs::exists(status))
    throw Error(
        fmt::format("{}: {}", source.string(),
                    status.type() == fs::file_type::not_found ? "no such file" : error.message()));
  if (!fs::is_regular_file(status)) throw Error(fmt::format("{}: not a file", source.string()));
  const std::uintmax_t size = fs::file_size(source, error);
  if (error) throw Error(fmt::format("{}: {}", source.string(), error.message()));
  if (size > limit)
    throw Error(fmt::format("{}: {} bytes, at most {} are read", source.string(), size, limit));
  std::ifstream in(source, std::ios::binary);
  if (!in) throw Error(fmt::format("{}: cannot be opened for reading", source.string()));
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (static_cast<std::uintmax_t>(in.gcount()) != size)
    throw Error(fmt::format("{}: ended after {} of {} bytes", source.string(), in.gcount(), size));
  return text;
}

void make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory))
    throw Error(fmt::format("cannot make the directory {}: {}", directory.string(),
                            error ? error.message() : "something else has that name"));
}

void require_space(const fs::path& target, double bytes) {
  fs::path existing = fs::absolute(target);
  while (!fs::is_directory(existing) && existing.has_relative_path())
    existing = existing.parent_path();
  std::error_code error;
  const fs::space_info space = fs::space(existing, error);
  if (!error && static_cast<double>(space.available) < bytes)
    throw Error(fmt::format("{}: the result needs {:.1f} MB and the disk has {:.1f} MB left",
                            target.string(), bytes / 1e6,
                            static_cast<double>(space.available) / 1e6));
}

}  // namespace attractor
