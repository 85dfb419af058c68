// NumPy's .npz: a ZIP archive of .npy files, stored or deflated (np.savez, np.savez_compressed).
// Sizes are taken from the directory at its end and compared with the file before memory is taken:
// deflate cannot grow beyond 1032 to 1, so a small file cannot ask for much. Not read: encrypted
// members, several disks, members above 4 GB, other compressions.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, sections 4.3 and 4.4
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attractor/base/array.hpp"
#include "attractor/files/arrays/file_slices.hpp"

namespace attractor {

class Npz {
 public:
  explicit Npz(const std::filesystem::path& source);

  /// As they were saved, without .npy.
  std::vector<std::string> names() const;
  /// Throws Error if there is none of this name.
  Array read(const std::string& name) const;

 private:
  struct Member {
    std::string name{};
    std::uint64_t header = 0, packed = 0, size = 0;
    std::uint32_t checksum = 0;
    bool deflated = false;
  };
  std::string bytes(const Member& member) const;

  FileSlices file_;
  std::vector<Member> members_;
};

bool is_zip(const std::filesystem::path& source);

}  // namespace attractor
