#include "attractor/experiment/checkpoint_file.hpp"

#include <fmt/format.h>

#include "attractor/base/error.hpp"

namespace attractor::experiment {
namespace {

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

}  // namespace

void CheckpointWriter::put(const flow::Progress& p) {
  put_all(std::span<const double>(p.state));
  put(p.time);
  put(static_cast<std::uint8_t>(p.started));
  put(p.log_unit);
  put(p.step);
  for (std::uint64_t count : {p.steps, p.rejected, p.next_output, p.stalled}) put(count);
  put(p.loosened);
  put(p.balanced);
}

void CheckpointWriter::commit() {
  const std::uint64_t checksum = checksum_;
  file_.write(std::as_bytes(std::span(&checksum, 1)));
  file_.commit();
}

void CheckpointWriter::raw(std::span<const std::byte> bytes) {
  checksum_ = mix(checksum_, bytes);
  file_.write(bytes);
}

CheckpointReader::CheckpointReader(std::string_view bytes, std::string name, std::string_view magic)
    : rest_(bytes), name_(std::move(name)) {
  if (!rest_.starts_with(magic)) fail("is not a checkpoint of this version");
  rest_.remove_prefix(magic.size());
  if (rest_.size() < 8) fail("is cut short");
  std::memcpy(&expected_, rest_.data() + rest_.size() - 8, 8);
  rest_.remove_suffix(8);
}

flow::Progress CheckpointReader::get_progress() {
  flow::Progress p;
  p.state = get_all<double>();
  p.time = get_time();
  p.started = get<std::uint8_t>() != 0;
  p.log_unit = get<double>();
  p.step = get<double>();
  for (std::uint64_t* count : {&p.steps, &p.rejected, &p.next_output, &p.stalled})
    *count = get<std::uint64_t>();
  p.loosened = get<double>();
  p.balanced = get<double>();
  return p;
}

void CheckpointReader::finish() const {
  if (!rest_.empty()) fail("is longer than its content");
  if (checksum_ != expected_) fail("is damaged (checksum)");
}

void CheckpointReader::fail(const char* what) const {
  throw Error(fmt::format("{} {}; delete it to start the run again", name_, what));
}

std::string_view CheckpointReader::take(std::size_t size) {
  if (size > rest_.size()) fail("is cut short");
  const std::string_view head = rest_.substr(0, size);
  rest_.remove_prefix(size);
  checksum_ = mix(checksum_, std::as_bytes(std::span(head.data(), head.size())));
  return head;
}

}  // namespace attractor::experiment
