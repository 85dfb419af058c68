#include "attractor/lab/pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/version.hpp"

namespace attractor::lab {
namespace {

constexpr std::string_view kPiecesMagic = "ATTRACTOR-PIECES-1\n";
constexpr int kMostShare = 20;  // writing takes at most one part in this many

}  // namespace

Pieces::Pieces(const Context& context, std::string setup, std::string older)
    : context_(context),
      setup_(fmt::format("{} {}", kVersion, setup)),
      next_save_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(context.checkpoint_seconds))) {
  if (!context_.checkpoints) return;
  if (const std::optional<std::string> bytes = context_.checkpoints->read()) load(*bytes, older);
}

void Pieces::load(const std::string& bytes, const std::string& older) {
  if (!older.empty() && !bytes.starts_with(kPiecesMagic)) {
    bytes_[older] = bytes;
    return;
  }
  CheckpointReader in(bytes, in_messages(), kPiecesMagic);
  if (const std::string of = in.get_text(); of != setup_)
    throw Error(fmt::format(
        "{} belongs to another run, other data or another version: {:.200}; start again elsewhere",
        in_messages(), of));
  for (std::uint64_t k = in.get_count(16); k-- > 0;) {
    const std::string name = in.get_text();
    bytes_[name] = in.get_text();
  }
  in.finish();
}

void Pieces::put(const std::string& name, std::string bytes) {
  bytes_[name] = std::move(bytes);
  saved_ = false;
  if (due()) save();
}

void Pieces::save() {
  if (saved_ || !context_.checkpoints) return;
  const Clock::time_point begin = Clock::now();
  CheckpointWriter out(*context_.checkpoints, kPiecesMagic);
  out.put(setup_);
  out.put(static_cast<std::uint64_t>(bytes_.size()));
  for (const auto& [name, bytes] : bytes_) {
    out.put(name);
    out.put(bytes);
  }
  out.commit();
  saved_ = true;
  next_save_ =
      Clock::now() + std::max(std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(context_.checkpoint_seconds)),
                              kMostShare * (Clock::now() - begin));
}

Context Pieces::inside(const std::string& name) {
  Context part = context_;
  if (!context_.checkpoints) return part;
  const auto at = bytes_.find(name);
  const auto store = std::make_shared<ByteStore>(
      in_messages(), at == bytes_.end() ? std::nullopt : std::optional(at->second));
  store->on_commit([this, name, kept = store.get()] {
    bytes_[name] = kept->bytes();
    saved_ = false;
    save();  // it has waited for its time
  });
  part.checkpoints = store;
  return part;
}

}  // namespace attractor::lab
