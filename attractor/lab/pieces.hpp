// A long run in pieces: what is finished is kept, and a run that was stopped, killed or met a full
// disk takes it as it was, bit for bit, and makes the rest. A command names its pieces,
//
//   Pieces pieces(context, setup_words(p));
//   for (...) rows.push_back(pieces.get(fmt::format("row {}", k), [&] { return row(p, k); }));
//
// and has nothing else to do. A piece is any value: numbers, words, vectors, optionals, and structs
// of these; a struct that is more than its bytes lists its fields beside its definition,
//
//   inline auto fields(Row& r) {
//     auto& [time, values] = r;               // a field that is forgotten does not compile
//     return std::tie(time, values);
//   }
//
// All pieces of a run are one checkpoint (lab/context.hpp), written anew at most every
// checkpoint_seconds, at most a twentieth of the time, and when the run is stopped. It belongs to a
// setup: pieces of another one are refused.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "attractor/lab/byte_store.hpp"
#include "attractor/lab/checkpoint_bytes.hpp"
#include "attractor/lab/context.hpp"
#include "attractor/lab/json.hpp"
#include "attractor/lab/parameter.hpp"

namespace attractor::lab {

// ---- Values as bytes.

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
concept WithFields = requires(T& value) {
  fields(value);
};
/// Its bytes are all of it.
template <class T>
concept Plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !kIsOptional<T>;

template <class T>
void put_piece(CheckpointWriter& out, const T& value) {
  if constexpr (WithFields<T>) {
    std::apply([&](const auto&... field) { (put_piece(out, field), ...); },
               fields(const_cast<T&>(value)));
  } else if constexpr (kIsOptional<T>) {
    out.put(value.has_value());
    if (value) put_piece(out, *value);
  } else if constexpr (kIsVector<T>) {
    using Item = typename T::value_type;
    if constexpr (Plain<Item> && !std::is_same_v<Item, bool>) {
      out.put_all(std::span<const Item>(value));
    } else {
      out.put(static_cast<std::uint64_t>(value.size()));
      for (const Item& item : value) put_piece(out, item);
    }
  } else {
    out.put(value);
  }
}

template <class T>
T get_piece(CheckpointReader& in) {
  if constexpr (std::is_same_v<T, std::string>) {
    return in.get_text();
  } else if constexpr (std::is_same_v<T, flow::Progress>) {
    return in.get_progress();
  } else if constexpr (WithFields<T>) {
    T value{};
    std::apply(
        [&](auto&... field) {
          ((field = get_piece<std::remove_cvref_t<decltype(field)>>(in)), ...);
        },
        fields(value));
    return value;
  } else if constexpr (kIsOptional<T>) {
    if (!in.get<bool>()) return {};
    return get_piece<typename T::value_type>(in);
  } else if constexpr (kIsVector<T>) {
    using Item = typename T::value_type;
    if constexpr (Plain<Item> && !std::is_same_v<Item, bool>) {
      return in.get_all<Item>();
    } else {
      T values;
      for (std::uint64_t k = in.get_count(1); k-- > 0;) values.push_back(get_piece<Item>(in));
      return values;
    }
  } else {
    static_assert(Plain<T>, "list its fields: pieces.hpp");
    return in.get<T>();
  }
}

// ---- Pieces.

class Pieces {
 public:
  /// Goes on with what the context's checkpoint holds, if there is one; refuses that of another
  /// setup. `older`: a checkpoint that is not of pieces is the piece of this name, as versions
  /// before them wrote it.
  Pieces(const Context& context, std::string setup, std::string older = {});
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  /// As it was kept, or made now and kept. What is made while the run is being stopped may be half
  /// of it and is not kept; what is kept is on disk then.
  template <class Make>
  auto get(const std::string& name, const Make& make) {
    using T = std::invoke_result_t<const Make&>;
    if (std::optional<T> kept = find<T>(name)) return std::move(*kept);
    T made = make();
    if (stopped())
      save();
    else
      keep(name, made);
    return made;
  }

  template <class T>
  std::optional<T> find(const std::string& name) const {
    const auto at = bytes_.find(name);
    if (at == bytes_.end()) return {};
    CheckpointReader in(at->second, in_messages(), "");
    T value = get_piece<T>(in);
    in.finish();
    return value;
  }

  /// Takes the place of what had this name; on disk when it is time.
  template <class T>
  void keep(const std::string& name, const T& value) {
    if (!context_.checkpoints) return;
    ByteStore bytes(in_messages());
    CheckpointWriter out(bytes, "");
    put_piece(out, value);
    out.commit();
    put(name, bytes.bytes());
  }

  /// The same for a piece that grows, in less time: only when it is written.
  template <class T>
  void follow(const std::string& name, const T& so_far) {
    if (stopped() || due()) keep(name, so_far);
  }

  void drop(const std::string& name) { bytes_.erase(name); }

  /// It is time to write: what is worth keeping should be kept now.
  bool due() const { return context_.checkpoints && Clock::now() >= next_save_; }

  /// The context of a part that keeps checkpoints of its own: they are the piece of this name.
  Context inside(const std::string& name);

  bool stopped() const { return context_.stopped(); }
  /// Writes what is not on disk yet.
  void save();

 private:
  using Clock = std::chrono::steady_clock;

  std::string in_messages() const { return context_.checkpoints->name(); }
  void load(const std::string& bytes, const std::string& older);
  void put(const std::string& name, std::string bytes);

  Context context_;
  std::string setup_;
  std::map<std::string, std::string> bytes_{};  // of each piece
  bool saved_ = true;
  Clock::time_point next_save_;
};

/// All that decides the result, as pieces are known by: the stored parameters, by name.
template <class Setup>
std::string setup_words(const Setup& setup) {
  return stored_json(setup).dump();
}

}  // namespace attractor::lab
