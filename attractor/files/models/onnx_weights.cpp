#include "attractor/files/models/onnx_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "attractor/base/error.hpp"
#include "attractor/files/bounded_json.hpp"

namespace attractor {
namespace {

constexpr std::size_t kMostMessages = std::size_t{1} << 20, kLongestName = 1000;
constexpr std::size_t kNameMemory = std::size_t{24} << 20, kMostDims = 8;

}  // namespace

namespace onnx {

/// Bytes of a file one by one, through a window that moves along.
class Window {
 public:
  explicit Window(const FileSlices& file) : file_(file) {}
  const FileSlices& file() const { return file_; }
  std::uint8_t at(std::uint64_t place) {
    if (place < begin_ || place >= begin_ + bytes_.size()) {
      begin_ = place;
      bytes_.resize(static_cast<std::size_t>(
          std::min<std::uint64_t>(kWindow, file_.size() - std::min(place, file_.size()))));
      file_.read(place, bytes_.empty() ? std::span<std::byte>(none_) : std::span(bytes_));
    }
    return std::to_integer<std::uint8_t>(bytes_[static_cast<std::size_t>(place - begin_)]);
  }

 private:
  static constexpr std::size_t kWindow = 16384;
  const FileSlices& file_;
  std::uint64_t begin_ = 0;
  std::vector<std::byte> bytes_;
  std::array<std::byte, 1> none_{};
};

/// The fields of one message, one after the other.
class Message {
 public:
  Message(Window& window, std::uint64_t first, std::uint64_t last)
      : window_(window), at_(first), end_(last) {}

  std::uint32_t field = 0, wire = 0;
  std::uint64_t value = 0;           // of a number
  std::uint64_t begin = 0, end = 0;  // of bytes

  bool next() {
    if (at_ >= end_) return false;
    const std::uint64_t key = varint();
    field = static_cast<std::uint32_t>(key >> 3U);
    wire = static_cast<std::uint32_t>(key & 7U);
    if (key >> 3U == 0 || key >> 32U != 0) refuse("has a field without a number");
    if (wire == 0) {
      value = varint();
    } else if (wire == 1 || wire == 5) {
      take(wire == 1 ? 8 : 4);
    } else if (wire == 2) {
      take(varint());
    } else {
      refuse(fmt::format("has the wire type {}", wire));
    }
    return true;
  }
  Message inside() const { return {window_, begin, end}; }
  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ >= end_) refuse("ends inside a number");
      const std::uint8_t byte = window_.at(at_++);
      number |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80U) return number;
    }
    refuse("has a number of more than 64 bits");
  }
  bool done() const { return at_ >= end_; }
  std::string text() const {
    if (end - begin > kLongestName) refuse("has a name of more than 1000 bytes");
    return window_.file().text(begin, static_cast<std::size_t>(end - begin));
  }
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(fmt::format("{}: is no ONNX model: a message {} at byte {}", window_.file().name(),
                            what, at_));
  }

 private:
  void take(std::uint64_t length) {
    if (length > end_ - at_) refuse("is shorter than a field of it");
    begin = at_;
    end = at_ = at_ + length;
  }
  Window& window_;
  std::uint64_t at_, end_;
};

}  // namespace onnx

namespace {

std::optional<NumberFormat> onnx_format(std::uint64_t type) {
  switch (type) {
    case 1:
      return NumberFormat::f32;
    case 10:
      return NumberFormat::f16;
    case 11:
      return NumberFormat::f64;
    case 16:
      return NumberFormat::bf16;
    default:
      return {};
  }
}

}  // namespace

class OnnxWalk {
  using Message = onnx::Message;

 public:
  explicit OnnxWalk(OnnxWeights& model) : model_(model), window_(model.file_) {}

  void run() {
    Message whole(window_, 0, model_.file_.size());
    bool found = false;
    while (whole.next())
      if (whole.field == 7 && whole.wire == 2) {
        if (found) whole.refuse("has a second graph");
        found = true;
        walk_graph(whole.inside());
      }
    if (!found) throw Error(fmt::format("{}: is no ONNX model: it has no graph", model_.what()));
    name_matrices();
  }

 private:
  void walk_graph(Message graph) {
    while (graph.next()) {
      if (graph.wire != 2) continue;
      if (graph.field == 1) walk_node(graph.inside());
      if (graph.field == 5) walk_tensor(graph.inside());
      if (count_ > kMostMessages || memory_ > kNameMemory)
        graph.refuse("has more nodes, tensors or names than are read");
    }
  }

  /// Of a MatMul: the name of its second input.
  void walk_node(Message node) {
    ++count_;
    std::vector<std::string> inputs;
    std::string name, type;
    while (node.next()) {
      if (node.wire != 2) continue;
      if (node.field == 1 && inputs.size() < 2) inputs.push_back(node.text());
      if (node.field == 3) name = node.text();
      if (node.field == 4) type = node.text();
    }
    if (type != "MatMul" || inputs.size() < 2 || !name.ends_with("/MatMul")) return;
    memory_ += name.size() + inputs[1].size() + 128;
    products_.emplace_back(std::move(name), std::move(inputs[1]));
  }

  void add_dims(Message& tensor, models::Shape& shape) const {
    const auto add = [&](std::uint64_t size) {
      if (shape.size() >= kMostDims) tensor.refuse("has more than 8 dimensions");
      shape.push_back(static_cast<std::size_t>(size));
    };
    if (tensor.wire == 0) return add(tensor.value);
    if (tensor.wire != 2) tensor.refuse("has dimensions that are no whole numbers");
    for (Message list = tensor.inside(); !list.done();) add(list.varint());
  }

  void walk_tensor(Message tensor) {
    ++count_;
    OnnxWeights::Entry entry;
    std::optional<NumberFormat> format;
    std::uint64_t bytes = 0;
    bool elsewhere = false;
    int pieces = 0;
    std::string name;
    while (tensor.next()) {
      if (tensor.field == 1) add_dims(tensor, entry.shape);
      if (tensor.field == 2 && tensor.wire == 0) format = onnx_format(tensor.value);
      if (tensor.field == 8 && tensor.wire == 2) name = tensor.text();
      if ((tensor.field == 9 || tensor.field == 4 || tensor.field == 10) && tensor.wire == 2) {
        entry.begin = tensor.begin;
        bytes = tensor.end - tensor.begin;
        ++pieces;
      }
      if (tensor.field == 13 || (tensor.field == 14 && tensor.value == 1)) elsewhere = true;
    }
    if (!format || name.empty()) return;  // whole numbers, texts: nothing that a model multiplies
    if (elsewhere)
      throw Error(fmt::format("{}: tensor '{}' is in another file; write the model as one file",
                              model_.what(), shown_text(name)));
    const std::uint64_t needed =
        static_cast<std::uint64_t>(models::elements(entry.shape, shown_text(name))) *
        bytes_of(*format);
    if (pieces != 1 || bytes != needed) {
      if (needed == 0 || pieces == 0) return;
      throw Error(fmt::format(
          "{}: tensor '{}' of shape ({}) needs {} bytes in one piece and has {} in {}",
          model_.what(), shown_text(name), fmt::join(entry.shape, ", "), needed, bytes, pieces));
    }
    entry.format = *format;
    memory_ += name.size() + 256;
    if (!model_.entries_.emplace(name, std::move(entry)).second)
      throw Error(
          fmt::format("{}: tensor '{}' stands there twice", model_.what(), shown_text(name)));
  }

  /// Matrices without a name are called after the first node that multiplies with them.
  void name_matrices() {
    for (const auto& [node, input] : products_) {
      const auto at = model_.entries_.find(input);
      if (at == model_.entries_.end() || at->second.shape.size() != 2 ||
          input.find('.') != std::string::npos)
        continue;
      std::string name = node.substr(0, node.size() - std::string_view("/MatMul").size());
      if (name.starts_with('/')) name.erase(0, 1);
      std::replace(name.begin(), name.end(), '/', '.');
      OnnxWeights::Entry entry = at->second;
      std::swap(entry.shape[0], entry.shape[1]);
      entry.turned = true;
      if (model_.entries_.emplace(name + ".weight", std::move(entry)).second)
        model_.entries_.erase(at);
    }
  }

  OnnxWeights& model_;
  onnx::Window window_;
  std::size_t count_ = 0, memory_ = 0;
  std::vector<std::pair<std::string, std::string>> products_;
};

OnnxWeights::OnnxWeights(const std::vector<std::filesystem::path>& parts) : file_(parts) {
  OnnxWalk(*this).run();
}

std::vector<std::string> OnnxWeights::names() const {
  std::vector<std::string> all;
  for (const auto& [name, entry] : entries_) all.push_back(name);
  return all;
}

const models::Shape* OnnxWeights::shape(const std::string& name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second.shape;
}

void OnnxWeights::read(const std::string& name, std::span<float> out) const {
  const auto at = entries_.find(name);
  if (at == entries_.end())
    throw Error(fmt::format("{}: has no tensor '{}'", what(), shown_text(name)));
  const Entry& entry = at->second;
  if (!entry.turned) return read_numbers<float>(file_, entry.begin, entry.format, out);
  const std::size_t rows = entry.shape[1], columns = entry.shape[0];  // in the file
  std::vector<float> row(columns);
  for (std::size_t r = 0; r < rows; ++r) {
    read_numbers<float>(file_, entry.begin + r * columns * bytes_of(entry.format), entry.format,
                        std::span(row));
    for (std::size_t c = 0; c < columns; ++c) out[c * rows + r] = row[c];
  }
}

}  // namespace attractor
