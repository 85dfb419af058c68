#include "attractor/files/result_file.hpp"

#include <vector>

#include "attractor/files/arrays/hdf5.hpp"

namespace attractor::lab {

void write_arrays(const Result& answer, const Call& call, const std::filesystem::path& path) {
  Hdf5Writer file;
  archive(answer, call, file);
  file.commit(path);
}

CollectedArrays read_result_arrays(const std::filesystem::path& file) {
  const Hdf5Reader reader(file);
  CollectedArrays all;
  all.attribute("/", "format", std::string_view(reader.text_attribute("/", "format")));
  for (const std::string& path : reader.datasets()) {
    const Array array = reader.read(path);
    if (!reader.is_whole(path)) {
      all.dataset(path, array.data, array.shape);
      continue;
    }
    const std::vector<std::int64_t> whole(array.data.begin(), array.data.end());
    all.dataset(path, whole, array.shape);
  }
  return all;
}

}  // namespace attractor::lab
