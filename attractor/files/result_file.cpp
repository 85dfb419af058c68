#include "attractor/files/result_file.hpp"

#include "attractor/files/hdf5.hpp"

namespace attractor::lab {

void write_arrays(const Result& answer, const Call& call, const std::filesystem::path& path) {
  Hdf5Writer file;
  archive(answer, call, file);
  file.commit(path);
}

}  // namespace attractor::lab
