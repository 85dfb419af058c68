// A checkpoint in memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "attractor/lab/context.hpp"

namespace attractor::lab {

class ByteStore final : public CheckpointStore {
 public:
  /// `name`: in messages. Without bytes there is no checkpoint yet.
  explicit ByteStore(std::string name, std::optional<std::string> bytes = {})
      : name_(std::move(name)), bytes_(std::move(bytes)) {}

  std::unique_ptr<Writing> replace() override { return std::make_unique<Text>(*this); }
  std::optional<std::string> read() const override { return bytes_; }
  std::string name() const override { return name_; }
  const std::string& bytes() const { return *bytes_; }
  /// Called after every change.
  void on_commit(std::function<void()> then) { then_ = std::move(then); }

 private:
  class Text final : public Writing {
   public:
    explicit Text(ByteStore& to) : to_(to) {}
    void write(std::span<const std::byte> bytes) override {
      text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    void commit() override {
      to_.bytes_ = std::move(text_);
      if (to_.then_) to_.then_();
    }

   private:
    ByteStore& to_;
    std::string text_{};
  };

  std::string name_;
  std::optional<std::string> bytes_;
  std::function<void()> then_{};
};

}  // namespace attractor::lab
