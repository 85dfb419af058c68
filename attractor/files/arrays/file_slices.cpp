#include "attractor/files/arrays/file_slices.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "attractor/base/error.hpp"

namespace attractor {

FileSlices::FileSlices(const std::filesystem::path& source)
    : FileSlices(std::vector<std::filesystem::path>{source}) {}

FileSlices::FileSlices(const std::vector<std::filesystem::path>& parts) {
  if (parts.empty()) throw Error("there is no file to read");
  name_ = parts.front().string();
  try {
    for (const std::filesystem::path& part : parts) open(part);
  } catch (...) {
    for (const Part& part : parts_) ::close(part.descriptor);
    throw;
  }
}

FileSlices::~FileSlices() {
  for (const Part& part : parts_) ::close(part.descriptor);
}

FileSlices::FileSlices(FileSlices&& other) noexcept
    : name_(std::move(other.name_)),
      size_(std::exchange(other.size_, 0)),
      parts_(std::exchange(other.parts_, {})) {}

void FileSlices::open(const std::filesystem::path& source) {
  const auto refuse = [&] {
    throw Error(fmt::format("{}: {}", source.string(),
                            errno == ENOENT ? "no such file" : std::strerror(errno)));
  };
  Part part{.begin = size_, .name = source.string()};
  // A pipe would wait for a writer.
  part.descriptor = ::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (part.descriptor < 0) refuse();
  parts_.push_back(part);
  struct stat status {};
  if (::fstat(part.descriptor, &status) != 0) refuse();
  if (!S_ISREG(status.st_mode)) throw Error(fmt::format("{}: not a file", source.string()));
  parts_.back().size = static_cast<std::uint64_t>(status.st_size);
  size_ += parts_.back().size;
}

void FileSlices::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset)
    throw Error(fmt::format("{}: ends at byte {} and {} bytes from byte {} on are needed", name_,
                            size_, out.size(), offset));
  for (const Part& part : parts_) {
    if (out.empty()) return;
    if (offset >= part.begin + part.size) continue;
    std::size_t wanted = static_cast<std::size_t>(
        std::min<std::uint64_t>(out.size(), part.begin + part.size - offset));
    while (wanted > 0) {
      const ::ssize_t got =
          ::pread(part.descriptor, out.data(), wanted, static_cast<::off_t>(offset - part.begin));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0)
        throw Error(fmt::format("{}: cannot be read at byte {}: {}", part.name, offset - part.begin,
                                got == 0 ? "it has become shorter" : std::strerror(errno)));
      out = out.subspan(static_cast<std::size_t>(got));
      offset += static_cast<std::uint64_t>(got);
      wanted -= static_cast<std::size_t>(got);
    }
  }
}

std::string FileSlices::text(std::uint64_t offset, std::size_t length) const {
  if (offset > size_ || length > size_ - offset)
    read(offset, {static_cast<std::byte*>(nullptr), length});
  std::string result(length, '\0');
  read(offset, std::as_writable_bytes(std::span(result)));
  return result;
}

}  // namespace attractor
