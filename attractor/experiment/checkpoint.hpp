// A checkpoint: all that a flow needs to go on and end with the same bytes. A private binary file:
// magic, version, the command it belongs to, the data, a checksum. A damaged or foreign file is
// refused.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attractor/experiment/flow_record.hpp"
#include "attractor/flow/run.hpp"

namespace attractor::experiment {

struct Checkpoint {
  std::string command;
  flow::Progress progress;
  std::vector<std::uint32_t> owner, labels;
  std::vector<depth::Coalescence> coalescences;
  depth::TokenGroups::Book book;
  std::vector<observe::Merge> merges;
  std::vector<observe::Observation> series;
  std::vector<Snapshot> snapshots;
};

/// References, so that saving copies nothing.
struct CheckpointView {
  const std::string& command;
  const flow::Progress& progress;
  const depth::TokenGroups& groups;
  const observe::MergeTree& tree;
  const std::vector<observe::Observation>& series;
  const std::vector<Snapshot>& snapshots;
};

void save(const CheckpointView& view, const std::filesystem::path& file);

/// Nothing if there is no such file; throws Error if it is damaged or belongs to another command.
std::optional<Checkpoint> load(const std::filesystem::path& file, const std::string& command);

/// What load() does with the bytes of a file; `name` is used in messages.
Checkpoint parse_checkpoint(std::string_view bytes, const std::string& name);

}  // namespace attractor::experiment
