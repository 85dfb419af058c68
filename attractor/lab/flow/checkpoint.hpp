// A checkpoint: all that a flow needs to go on and end with the same bytes. Private bytes:
// magic, version, the command and the data it belongs to, the content, a checksum. A damaged or
// foreign file is refused, and so is one whose content does not fit the run (validate()).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attractor/depth/clumps/clump_history.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/lab/context.hpp"
#include "attractor/lab/flow/flow_record.hpp"

namespace attractor::lab {

inline constexpr std::string_view kCheckpointMagic = "ATTRACTOR-FLOW-CHECKPOINT-3\n";

struct Checkpoint {
  std::string command;
  flow::Progress progress;
  std::vector<std::uint32_t> owner, labels;
  std::vector<std::uint32_t> order;  // where the engine keeps each token, if it moves them about
  LayerStatus layer_status = LayerStatus::complete;
  depth::ClumpHistory clumps;  // last, and only where there is one: older files have none
  std::vector<depth::Coalescence> coalescences;
  depth::TokenGroups::Book book;
  std::vector<observe::Merge> merges;
  std::vector<observe::Observation> series;
  std::vector<Snapshot> snapshots;
};

/// The same in references, so that saving copies nothing.
struct CheckpointView {
  const std::string& command;
  const flow::Progress& progress;
  std::span<const std::uint32_t> owner, labels, order;
  LayerStatus layer_status;
  depth::ClumpHistory clumps;
  const std::vector<depth::Coalescence>& coalescences;
  const depth::TokenGroups::Book& book;
  const std::vector<observe::Merge>& merges;
  const std::vector<observe::Observation>& series;
  const std::vector<Snapshot>& snapshots;
};
CheckpointView view(const Checkpoint& checkpoint);

/// What a run knows about itself before it looks at a checkpoint.
struct RunShape {
  std::size_t tokens = 0, dim = 0;
  std::size_t width = 0;        // numbers for each token of the state: dim, or 1 for angles
  std::size_t outputs = 0;      // planned; 0: after every step
  std::size_t observables = 0;  // beside the columns of every observation
  bool on_sphere = false;       // positions have length 1, and so has the state unless it is angles
  bool lengths = false;         // tokens have lengths beside directions
  bool watched = false;         // by the merge tree
  bool ordered = false;         // by the engine
};

void save(const CheckpointView& view, CheckpointStore& store);

/// Nothing if there is none yet; throws Error if it is damaged, belongs to another command or
/// to other data, or cannot be of a run of this shape.
std::optional<Checkpoint> load(const CheckpointStore& store, const std::string& command,
                               const RunShape& shape);

/// What load() does with the bytes; `name` is used in messages.
Checkpoint parse_checkpoint(std::string_view bytes, const std::string& name);

/// Every size, number and index is one that a run of this shape can have, and they agree with each
/// other: nothing a restored run does with them can go wrong. Throws Error saying what is wrong.
void validate(const Checkpoint& checkpoint, const RunShape& shape, const std::string& name);
/// The same of where tokens are alone: nothing was observed on the way.
void validate_state(const Checkpoint& checkpoint, const RunShape& shape, const std::string& name);

}  // namespace attractor::lab
