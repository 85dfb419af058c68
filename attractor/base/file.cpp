#include "attractor/base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "attractor/base/error.hpp"

namespace attractor {

namespace fs = std::filesystem;

namespace {

constexpr int kMostWriters = 64;  // of one name at the same time

const char* kind_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory:
      return "a directory";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    default:
      return "no file";
  }
}

/// Where a result of this name goes: links that a user made are kept. Refuses what would be lost.
fs::path final_place(const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw Error(fmt::format("{} is {}; a result is written to a file", target.string(),
                            kind_of(status.type())));
  if (!fs::is_symlink(fs::symlink_status(target, error))) return target;
  if (!fs::exists(status))
    throw Error(fmt::format("{} is a link to nothing; nothing was written", target.string()));
  return fs::canonical(target);
}

bool same_file(int descriptor, const fs::path& path) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// What a writer that was killed has left is nobody's: no one holds its lock.
void remove_if_left(const fs::path& partial) {
  const int descriptor = ::open(partial.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat found {};
  if (::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) &&
      ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && same_file(descriptor, partial))
    ::unlink(partial.c_str());
  ::close(descriptor);
}

/// A file of its own for one writer, locked as long as it is open; -1 with errno if there is none.
int open_own(const fs::path& partial) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const int descriptor =
        ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (descriptor >= 0) {
      // Some file systems know no locks: then what is left of others is not taken away either.
      if (::flock(descriptor, LOCK_EX) != 0 || same_file(descriptor, partial)) return descriptor;
      ::close(descriptor);  // taken for a left one before it was locked
      errno = EEXIST;
    }
    if (errno != EEXIST) return -1;
    remove_if_left(partial);
    errno = EEXIST;
  }
  return -1;
}

}  // namespace

AtomicFile::AtomicFile(fs::path target) : target_(final_place(target)) {
  for (int k = 0; k < kMostWriters; ++k) {
    partial_ = target_;
    partial_ += k == 0 ? ".partial" : fmt::format(".{}.partial", k);
    descriptor_ = open_own(partial_);
    if (descriptor_ >= 0) return;
    if (errno != EEXIST) break;
  }
  fail("open");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::unlink(partial_.c_str());
  ::close(descriptor_);
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
  if (::rename(partial_.c_str(), target_.c_str()) != 0) fail("rename");
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("close");
  // The name is on disk when its directory is.
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  const int directory = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  ::fsync(directory);
  ::close(directory);
}

void AtomicFile::fail(const char* action) {
  const int reason = errno;
  if (descriptor_ >= 0) {
    ::unlink(partial_.c_str());
    ::close(std::exchange(descriptor_, -1));
  }
  throw WriteError(fmt::format("cannot {} {}: {}; nothing was replaced", action, target_.string(),
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
