// Any bytes as a checkpoint, and any change of a good one, both with a right checksum: refused with
// an Error, or read and used as a resumed run uses it, never more.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/depth/coalescence/token_groups.hpp"
#include "attractor/files/checkpoint_file.hpp"
#include "attractor/lab/checkpoint_bytes.hpp"
#include "attractor/lab/flow/checkpoint.hpp"
#include "attractor/observe/merge_tree.hpp"

namespace {

using namespace attractor;
using namespace attractor::lab;

RunShape shape_of(std::uint8_t flags) {
  return {.tokens = 3,
          .dim = 2,
          .width = (flags & 1) != 0 ? std::size_t{1} : std::size_t{2},
          .outputs = (flags & 2) != 0 ? std::size_t{0} : std::size_t{5},
          .on_sphere = false,
          .lengths = (flags & 4) != 0,
          .watched = (flags & 8) != 0,
          .ordered = (flags & 16) != 0};
}

/// A run of that shape in the middle: two of its three tokens are one, unless they are angles.
std::string good(const RunShape& shape) {
  Checkpoint c;
  c.command = "fuzz";
  const bool angles = shape.width != shape.dim;
  c.progress = {.state = std::vector<double>(angles ? 3 : 4, 0.5),
                .time = flow::Time(3),
                .started = true,
                .next_output = 2};
  c.owner = {0, 1, angles ? 2U : 0U};
  if (!angles) {
    depth::TokenGroups groups(3);
    std::vector<double> state = {1, 0, 0, 1, 0.8, 0.6};
    groups.coalesce({{.members = {0, 2}, .centre = {0.96, 0.28}}}, flow::Time(1), state);
    c.book = groups.book();
  }
  if (shape.watched) c.labels = {0, 1, 0};
  if (shape.ordered) c.order = {2, 0, 1};
  c.coalescences = {{flow::Time(1), 0, 2, 1e-9}};
  if (shape.watched) c.merges = {{flow::Time(2), 0, 2}};
  c.series.resize(2);
  c.series[0].log10_time = -1;
  Snapshot s{flow::Time(0), std::vector<double>(6, 0.5), {0, 1, 0}, std::vector<double>(100, 0.01)};
  if (shape.lengths) s.norms.assign(3, 1.5);
  c.snapshots = {s};
  const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                     ("checkpoint_fuzz_" + std::to_string(::getpid()) + ".bin");
  CheckpointFile store(file);
  save(view(c), store);
  const std::string bytes = read_file(file, 1 << 20);
  std::filesystem::remove(file);
  return bytes.substr(kCheckpointMagic.size(), bytes.size() - kCheckpointMagic.size() - 8);
}

void use(Checkpoint c, const RunShape& shape) {
  depth::TokenGroups groups(shape.tokens);
  groups.restore(c.owner, c.coalescences, c.book, shape.dim);
  if (groups.expand(c.progress.state).size() != shape.tokens * shape.width) std::abort();
  observe::MergeTree tree(shape.tokens, shape.dim, 0.1);
  tree.restore(c.merges, c.labels);
  for (const observe::Linkage& row : tree.linkage())
    if (row.size > shape.tokens) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const RunShape shape = shape_of(data[0]);
  const std::string given(reinterpret_cast<const char*>(data + 2), size - 2);
  std::string content = given;
  if (data[1] != 0) {  // place (two bytes) and eight new bytes, again and again
    static std::string start[32];
    std::string& base = start[data[0] & 31];
    if (base.empty()) base = good(shape);
    content = base;
    for (std::size_t at = 0; at + 10 <= given.size(); at += 10) {
      std::uint16_t place;
      std::memcpy(&place, given.data() + at, 2);
      std::memcpy(content.data() + place % (content.size() - 8), given.data() + at + 2, 8);
    }
  }
  try {
    Checkpoint c = parse_checkpoint(sealed(kCheckpointMagic, content), "fuzz");
    validate(c, shape, "fuzz");
    use(std::move(c), shape);
  } catch (const Error&) {
  }
  return 0;
}
