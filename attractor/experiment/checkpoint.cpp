#include "attractor/experiment/checkpoint.hpp"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"

namespace attractor::experiment {
namespace {

constexpr std::string_view kMagic = "ATTRACTOR-FLOW-CHECKPOINT-1\n";

std::uint64_t mix(std::uint64_t h, std::span<const std::byte> bytes) {
  // FNV-1a over words of eight bytes: guards against truncation and bit rot, not against malice.
  while (bytes.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    h = (h ^ word) * 0x100000001b3U;
    h ^= h >> 32;  // else a change of the top bits never reaches the others
    bytes = bytes.subspan(8);
  }
  for (std::byte b : bytes) h = (h ^ static_cast<std::uint64_t>(b)) * 0x100000001b3U;
  return h;
}

class Writer {
 public:
  explicit Writer(const std::filesystem::path& file) : file_(file) { file_.write(kMagic); }

  template <class T>
  void put(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    raw(std::as_bytes(std::span(&value, 1)));
  }
  template <class T>
  void put_all(std::span<const T> values) {
    static_assert(std::is_arithmetic_v<T>);
    put(static_cast<std::uint64_t>(values.size()));
    raw(std::as_bytes(values));
  }
  void put(const std::string& text) { put_all(std::span<const char>(text)); }
  void put(const flow::Time& time) {
    put(time.mantissa());
    put(time.exponent());
  }
  void commit() {
    const std::uint64_t checksum = checksum_;
    file_.write(std::as_bytes(std::span(&checksum, 1)));
    file_.commit();
  }

 private:
  void raw(std::span<const std::byte> bytes) {
    checksum_ = mix(checksum_, bytes);
    file_.write(bytes);
  }
  AtomicFile file_;
  std::uint64_t checksum_ = 0xcbf29ce484222325U;
};

class Reader {
 public:
  Reader(std::string_view bytes, std::string name) : rest_(bytes), name_(std::move(name)) {
    if (!rest_.starts_with(kMagic)) fail("is not a checkpoint of this version");
    rest_.remove_prefix(kMagic.size());
    if (rest_.size() < 8) fail("is cut short");
    std::memcpy(&expected_, rest_.data() + rest_.size() - 8, 8);
    rest_.remove_suffix(8);
  }

  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> get_all() {
    const std::uint64_t count = get<std::uint64_t>();
    if (count > rest_.size() / sizeof(T)) fail("is cut short");
    std::vector<T> values(count);
    const std::string_view bytes = take(count * sizeof(T));
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::string get_text() {
    const std::vector<char> text = get_all<char>();
    return {text.begin(), text.end()};
  }
  flow::Time get_time() {
    const double mantissa = get<double>(), exponent = get<double>();
    return flow::Time(mantissa, exponent);
  }
  /// A count of records of at least `bytes` bytes each.
  std::uint64_t get_count(std::size_t bytes) {
    const std::uint64_t count = get<std::uint64_t>();
    if (count > rest_.size() / bytes) fail("is cut short");
    return count;
  }
  void finish() const {
    if (!rest_.empty()) fail("is longer than its content");
    if (checksum_ != expected_) fail("is damaged (checksum)");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(fmt::format("{} {}; delete it to start the run again", name_, what));
  }
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) fail("is cut short");
    const std::string_view head = rest_.substr(0, size);
    rest_.remove_prefix(size);
    checksum_ = mix(checksum_, std::as_bytes(std::span(head.data(), head.size())));
    return head;
  }

  std::string_view rest_;
  std::string name_;
  std::uint64_t checksum_ = 0xcbf29ce484222325U, expected_ = 0;
};

std::vector<double> row(const observe::Observation& o) {
  std::vector<double> values;
  for (const observe::Column& column : observe::columns()) values.push_back(o.*column.value);
  return values;
}

}  // namespace

void save(const CheckpointView& view, const std::filesystem::path& file) {
  Writer out(file);
  out.put(view.command);
  const flow::Progress& p = view.progress;
  out.put_all(std::span<const double>(p.state));
  out.put(p.time);
  out.put(static_cast<std::uint8_t>(p.started));
  out.put(p.log_unit);
  out.put(p.step);
  for (std::uint64_t count : {p.steps, p.rejected, p.next_output, p.stalled}) out.put(count);
  out.put_all(view.flow.owner());
  out.put_all(view.tree.labels());
  out.put(static_cast<std::uint64_t>(view.flow.coalescences().size()));
  for (const depth::Coalescence& c : view.flow.coalescences()) {
    out.put(c.time);
    out.put(c.into);
    out.put(c.absorbed);
    out.put(c.error);
  }
  out.put(view.flow.merge_error());
  out.put(static_cast<std::uint64_t>(view.tree.merges().size()));
  for (const observe::Merge& merge : view.tree.merges()) {
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
  }
  out.commit();
}

Checkpoint parse_checkpoint(std::string_view bytes, const std::string& name) {
  Reader in(bytes, name);
  Checkpoint c;
  c.command = in.get_text();
  flow::Progress& p = c.progress;
  p.state = in.get_all<double>();
  p.time = in.get_time();
  p.started = in.get<std::uint8_t>() != 0;
  p.log_unit = in.get<double>();
  p.step = in.get<double>();
  for (std::uint64_t* count : {&p.steps, &p.rejected, &p.next_output, &p.stalled})
    *count = in.get<std::uint64_t>();
  c.owner = in.get_all<std::uint32_t>();
  c.labels = in.get_all<std::uint32_t>();
  for (std::uint64_t k = in.get_count(32); k-- > 0;) {
    const flow::Time time = in.get_time();
    const auto into = in.get<std::uint32_t>(), absorbed = in.get<std::uint32_t>();
    c.coalescences.push_back({time, into, absorbed, in.get<double>()});
  }
  c.merge_error = in.get<double>();
  for (std::uint64_t k = in.get_count(24); k-- > 0;) {
    const flow::Time time = in.get_time();
    const auto a = in.get<std::uint32_t>(), b = in.get<std::uint32_t>();
    c.merges.push_back({time, a, b});
  }
  for (std::uint64_t k = in.get_count(8); k-- > 0;) {
    const std::vector<double> values = in.get_all<double>();
    if (values.size() != observe::columns().size())
      throw Error(fmt::format("{} has other columns than this version", name));
    observe::Observation o;
    for (std::size_t i = 0; i < values.size(); ++i) o.*observe::columns()[i].value = values[i];
    c.series.push_back(o);
  }
  for (std::uint64_t k = in.get_count(40); k-- > 0;) {
    Snapshot snapshot;
    snapshot.time = in.get_time();
    snapshot.positions = in.get_all<double>();
    snapshot.clusters = in.get_all<std::uint32_t>();
    snapshot.cosine_histogram = in.get_all<double>();
    c.snapshots.push_back(std::move(snapshot));
  }
  in.finish();
  return c;
}

std::optional<Checkpoint> load(const std::filesystem::path& file, const std::string& command) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  Checkpoint checkpoint = parse_checkpoint(read_file(file, std::size_t{1} << 40), file.string());
  if (checkpoint.command != command)
    throw Error(fmt::format("{} belongs to another run: {}", file.string(), checkpoint.command));
  return checkpoint;
}

}  // namespace attractor::experiment
