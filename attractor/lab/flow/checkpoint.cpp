#include "attractor/lab/flow/checkpoint.hpp"

#include <fmt/format.h>

#include "attractor/base/error.hpp"
#include "attractor/lab/checkpoint_bytes.hpp"

namespace attractor::lab {
namespace {

std::vector<double> row(const observe::Observation& o) {
  std::vector<double> values;
  for (const observe::Column& column : observe::columns()) values.push_back(o.*column.value);
  values.insert(values.end(), o.more.begin(), o.more.end());
  return values;
}

}  // namespace

CheckpointView view(const Checkpoint& c) {
  return {c.command, c.progress,     c.owner, c.labels, c.order,  c.layer_status,
          c.clumps,  c.coalescences, c.book,  c.merges, c.series, c.snapshots};
}

void save(const CheckpointView& view, CheckpointStore& store) {
  CheckpointWriter out(store, kCheckpointMagic);
  out.put(view.command);
  out.put(view.progress);
  out.put_all(view.owner);
  out.put_all(view.labels);
  out.put_all(view.order);
  out.put(static_cast<std::uint8_t>(view.layer_status));
  out.put(static_cast<std::uint64_t>(view.coalescences.size()));
  for (const depth::Coalescence& c : view.coalescences) {
    out.put(c.time);
    out.put(c.into);
    out.put(c.absorbed);
    out.put(c.error);
  }
  out.put_all(std::span<const std::uint32_t>(view.book.parent));
  out.put_all(std::span<const double>(view.book.numbers));
  out.put(static_cast<std::uint64_t>(view.merges.size()));
  for (const observe::Merge& merge : view.merges) {
    out.put(merge.time);
    out.put(merge.a);
    out.put(merge.b);
  }
  out.put(static_cast<std::uint64_t>(view.series.size()));
  for (const observe::Observation& o : view.series) out.put_all(std::span<const double>(row(o)));
  out.put(static_cast<std::uint64_t>(view.snapshots.size()));
  for (const Snapshot& snapshot : view.snapshots) {
    out.put(snapshot.time);
    out.put_all(std::span<const double>(snapshot.positions));
    out.put_all(std::span<const std::uint32_t>(snapshot.clusters));
    out.put_all(std::span<const double>(snapshot.cosine_histogram));
    out.put_all(std::span<const double>(snapshot.norms));
  }
  if (view.clumps != depth::ClumpHistory{}) {
    out.put(view.clumps.steps_by_rows);
    out.put(view.clumps.error);
  }
  out.commit();
}

Checkpoint parse_checkpoint(std::string_view bytes, const std::string& name) {
  CheckpointReader in(bytes, name, kCheckpointMagic);
  Checkpoint c;
  c.command = in.get_text();
  c.progress = in.get_progress();
  c.owner = in.get_all<std::uint32_t>();
  c.labels = in.get_all<std::uint32_t>();
  c.order = in.get_all<std::uint32_t>();
  c.layer_status = static_cast<LayerStatus>(in.get<std::uint8_t>());
  for (std::uint64_t k = in.get_count(32); k-- > 0;) {
    const flow::Time time = in.get_time();
    const auto into = in.get<std::uint32_t>(), absorbed = in.get<std::uint32_t>();
    c.coalescences.push_back({time, into, absorbed, in.get<double>()});
  }
  c.book.parent = in.get_all<std::uint32_t>();
  c.book.numbers = in.get_all<double>();
  for (std::uint64_t k = in.get_count(24); k-- > 0;) {
    const flow::Time time = in.get_time();
    const auto a = in.get<std::uint32_t>(), b = in.get<std::uint32_t>();
    c.merges.push_back({time, a, b});
  }
  for (std::uint64_t k = in.get_count(8); k-- > 0;) {
    const std::vector<double> values = in.get_all<double>();
    const std::span<const observe::Column> columns = observe::columns();
    if (values.size() < columns.size())
      throw Error(fmt::format("{} has other columns than this version", name));
    observe::Observation o;
    for (std::size_t i = 0; i < columns.size(); ++i) o.*columns[i].value = values[i];
    o.more.assign(values.begin() + static_cast<std::ptrdiff_t>(columns.size()), values.end());
    c.series.push_back(o);
  }
  for (std::uint64_t k = in.get_count(48); k-- > 0;) {
    Snapshot snapshot;
    snapshot.time = in.get_time();
    snapshot.positions = in.get_all<double>();
    snapshot.clusters = in.get_all<std::uint32_t>();
    snapshot.cosine_histogram = in.get_all<double>();
    snapshot.norms = in.get_all<double>();
    c.snapshots.push_back(std::move(snapshot));
  }
  if (!in.at_end()) {
    c.clumps.steps_by_rows = in.get<std::uint64_t>();
    c.clumps.error = in.get<double>();
  }
  in.finish();
  return c;
}

std::optional<Checkpoint> load(const CheckpointStore& store, const std::string& command,
                               const RunShape& shape) {
  const std::optional<std::string> bytes = store.read();
  if (!bytes) return std::nullopt;
  Checkpoint checkpoint = parse_checkpoint(*bytes, store.name());
  if (checkpoint.command != command)
    throw Error(fmt::format("{} belongs to another run or to other data: {}; start again elsewhere",
                            store.name(), checkpoint.command));
  validate(checkpoint, shape, store.name());
  return checkpoint;
}

}  // namespace attractor::lab
