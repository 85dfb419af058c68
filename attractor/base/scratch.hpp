// Memory for the time of one call. Fresh pages cost some nanoseconds a number, which an evaluation
// of few thousand tokens feels; so arrays are kept for the next call that asks for about as much,
// up to 256 MB in all.
#pragma once

#include <cstddef>
#include <utility>

namespace attractor {

/// At least `bytes` bytes, aligned to 64.
void* take_scratch(std::size_t bytes);
void give_back_scratch(void* memory);

/// An array of plain numbers, not initialised, aligned to 64 bytes.
template <class T>
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(std::size_t count) : data_(static_cast<T*>(take_scratch(count * sizeof(T)))) {}
  Scratch(Scratch&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Scratch() {
    if (data_) give_back_scratch(data_);
  }

  T* get() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
};

}  // namespace attractor
