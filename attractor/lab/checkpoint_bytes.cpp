#include "attractor/lab/checkpoint_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"

namespace attractor::lab {

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
  const std::uint64_t checksum = checksum_.value();
  to_->write(std::as_bytes(std::span(&checksum, 1)));
  to_->commit();
}

void CheckpointWriter::raw(std::span<const std::byte> bytes) {
  checksum_.add(bytes);
  to_->write(bytes);
}

std::string sealed(std::string_view magic, std::string_view data) {
  Checksum sum;
  sum.add(data);
  const std::uint64_t checksum = sum.value();
  std::string bytes(magic);
  bytes += data;
  bytes.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  return bytes;
}

CheckpointReader::CheckpointReader(std::string_view bytes, std::string name, std::string_view magic)
    : rest_(bytes), name_(std::move(name)) {
  if (!rest_.starts_with(magic)) fail("is not a checkpoint of this version");
  rest_.remove_prefix(magic.size());
  if (rest_.size() < 8) fail("is cut short");
  std::uint64_t expected;
  std::memcpy(&expected, rest_.data() + rest_.size() - 8, 8);
  rest_.remove_suffix(8);
  Checksum sum;
  sum.add(rest_);
  if (sum.value() != expected) fail("is damaged (checksum)");
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
}

void CheckpointReader::fail(const char* what) const {
  throw Error(fmt::format("{} {}; delete it to start the run again", name_, what));
}

std::string_view CheckpointReader::take(std::size_t size) {
  if (size > rest_.size()) fail("is cut short");
  const std::string_view head = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return head;
}

void refuse_content(const std::string& name, const std::string& what) {
  throw Error(fmt::format("{} {}; delete it to start the run again", name, what));
}

bool is_time(const flow::Time& time) {
  return time.mantissa() >= 0 && std::isfinite(time.mantissa()) && std::isfinite(time.exponent());
}

bool in_order(double log_before, double log_after) {
  constexpr double kRounding = 1e-9;
  return log_before <= log_after ||
         log_before - log_after <= kRounding * std::max(1.0, std::abs(log_after));
}

void validate(const flow::Progress& p, std::size_t numbers, const std::string& name) {
  if (p.state.size() != numbers)
    refuse_content(
        name, fmt::format("has a state of {} numbers; this run has {}", p.state.size(), numbers));
  if (!std::all_of(p.state.begin(), p.state.end(), [](double x) { return std::isfinite(x); }))
    refuse_content(name, "has a state that is not finite");
  if (!is_time(p.time)) refuse_content(name, "is at a time that does not exist");
  if (!std::isfinite(p.log_unit) || !(p.step >= 0) || !std::isfinite(p.step))
    refuse_content(name, fmt::format("has the step {} in the unit e^{}", p.step, p.log_unit));
}

}  // namespace attractor::lab
