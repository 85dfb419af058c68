#include "attractor/files/arrays/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/bounded_json.hpp"

namespace attractor {
namespace {

constexpr std::uint64_t kHeaderBytes = std::uint64_t{8} << 20;
constexpr std::size_t kMostTensors = 100000, kMostRank = 8, kMostFiles = 1024;

struct Dtype {
  std::string_view name;
  std::size_t bytes;
  std::optional<NumberFormat> format;
};
constexpr Dtype kDtypes[] = {{"F64", 8, NumberFormat::f64},
                             {"F32", 4, NumberFormat::f32},
                             {"F16", 2, NumberFormat::f16},
                             {"BF16", 2, NumberFormat::bf16},
                             {"I64", 8, {}},
                             {"U64", 8, {}},
                             {"I32", 4, {}},
                             {"U32", 4, {}},
                             {"I16", 2, {}},
                             {"U16", 2, {}},
                             {"I8", 1, {}},
                             {"U8", 1, {}},
                             {"BOOL", 1, {}},
                             {"F8_E4M3", 1, {}},
                             {"F8_E5M2", 1, {}}};

std::uint64_t header_length(const FileSlices& file) {
  if (file.size() < 8)
    throw Error(
        fmt::format("{}: {} bytes are too few for a safetensors file", file.name(), file.size()));
  std::array<std::byte, 8> raw;
  file.read(0, raw);
  std::uint64_t length = 0;
  for (std::size_t k = 0; k < 8; ++k) length |= std::to_integer<std::uint64_t>(raw[k]) << (8 * k);
  return length;
}

}  // namespace

/// Takes the header as events: no tree is built, whatever it holds.
class SafetensorsHeader : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Entry = Safetensors::Entry;
  SafetensorsHeader(const std::string& file, std::map<std::string, Entry>& entries)
      : file_(file), entries_(entries) {}

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("true or false"); }
  bool number_integer(number_integer_t) override { return value("a negative number"); }
  bool number_float(number_float_t, const string_t& text) override { return value(text); }
  bool binary(binary_t&) override { return value("bytes"); }
  bool number_unsigned(number_unsigned_t number) override {
    if (level_ != 3) return value("a number");
    std::vector<std::uint64_t>& list = field_ == "shape" ? shape_ : offsets_;
    if (list.size() >= (field_ == "shape" ? kMostRank : 2)) refuse("has too many numbers");
    list.push_back(number);
    return true;
  }
  bool string(string_t& text) override {
    if (in_metadata_) return true;
    if (level_ != 2 || field_ != "dtype")
      refuse(fmt::format("has the text '{}'", shown_text(text)));
    dtype_ = text;
    return true;
  }
  bool key(string_t& name) override {
    if (level_ == 1) {
      tensor_ = name;
      in_metadata_ = name == "__metadata__";
      if (!in_metadata_ && entries_.count(name) > 0) refuse("stands there twice");
    } else if (!in_metadata_) {
      if (name != "dtype" && name != "shape" && name != "data_offsets")
        refuse(fmt::format("has the key '{}'", shown_text(name)));
      if (!seen_.insert(name).second) refuse(fmt::format("has the key '{}' twice", name));
      field_ = name;
    }
    return true;
  }
  bool start_object(std::size_t) override {
    if (++level_ > 2) refuse("is nested too deeply");
    if (level_ == 2) {
      seen_.clear(), shape_.clear(), offsets_.clear(), dtype_.clear(), field_.clear();
    }
    return true;
  }
  bool end_object() override {
    if (level_-- == 2 && !in_metadata_) add();
    if (level_ == 1) in_metadata_ = false;
    return true;
  }
  bool start_array(std::size_t) override {
    if (level_ != 2 || in_metadata_ || (field_ != "shape" && field_ != "data_offsets"))
      refuse("has a list where none belongs");
    ++level_;
    return true;
  }
  bool end_array() override {
    --level_;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) override {
    throw Error(fmt::format("{}: the header is no JSON at its byte {}", file_, at));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(fmt::format("{}: tensor '{}' {}", file_, shown_text(tensor_), what));
  }
  bool value(std::string_view what) const {
    if (!in_metadata_ || level_ != 2)
      refuse(fmt::format("has {} where none belongs", shown_text(what)));
    return true;
  }
  void add() {
    for (const char* wanted : {"dtype", "shape", "data_offsets"})
      if (seen_.count(wanted) == 0) refuse(fmt::format("lacks its {}", wanted));
    if (offsets_.size() != 2) refuse("needs two data_offsets");
    const auto known = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                    [&](const Dtype& d) { return d.name == dtype_; });
    if (known == std::end(kDtypes)) refuse(fmt::format("has the dtype '{}'", shown_text(dtype_)));
    if (entries_.size() >= kMostTensors)
      refuse(fmt::format("is one of more than {}", kMostTensors));
    Entry entry{.shape = {shape_.begin(), shape_.end()},
                .dtype = dtype_,
                .format = known->format,
                .begin = offsets_[0],
                .end = offsets_[1]};
    const std::uint64_t needed =
        static_cast<std::uint64_t>(models::elements(entry.shape, shown_text(tensor_))) *
        known->bytes;
    if (entry.begin > entry.end || entry.end - entry.begin != needed)
      refuse(
          fmt::format("of shape ({}) and dtype {} needs {} bytes, its data_offsets are {} and {}",
                      fmt::join(entry.shape, ", "), dtype_, needed, entry.begin, entry.end));
    entries_.emplace(tensor_, std::move(entry));
  }

  const std::string& file_;
  std::map<std::string, Entry>& entries_;
  int level_ = 0;
  bool in_metadata_ = false;
  std::string tensor_, field_, dtype_;
  std::set<std::string> seen_;
  std::vector<std::uint64_t> shape_, offsets_;
};

Safetensors::Safetensors(const std::filesystem::path& source) : name_(source.string()) {
  if (source.extension() == ".json")
    add_index(source);
  else
    add_file(source);
}

void Safetensors::add_file(const std::filesystem::path& source) {
  FileSlices file(source);
  const std::uint64_t length = header_length(file);
  if (length > kHeaderBytes || length > file.size() - 8)
    throw Error(
        fmt::format("{}: declares a header of {} bytes; the file has {}, and at most {} are read",
                    file.name(), length, file.size() - 8, kHeaderBytes));
  std::map<std::string, Entry> found;
  {
    const std::string text = file.text(8, static_cast<std::size_t>(length));
    SafetensorsHeader header(file.name(), found);
    nlohmann::json::sax_parse(text, &header);
  }
  // The tensors fill the rest of the file, one after the other.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [name, entry] : found) ranges.emplace_back(entry.begin, entry.end);
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t at = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != at)
      throw Error(fmt::format("{}: tensors {} at byte {} of the data", file.name(),
                              begin < at ? "overlap" : "leave a gap", std::min(begin, at)));
    at = end;
  }
  const std::uint64_t data = file.size() - 8 - length;
  if (at != data)
    throw Error(
        fmt::format("{}: the tensors need {} bytes and the file has {}", file.name(), at, data));
  for (auto& [name, entry] : found) {
    entry.begin += 8 + length;
    entry.end += 8 + length;
    entry.file = files_.size();
    if (!entries_.emplace(name, std::move(entry)).second)
      throw Error(
          fmt::format("{}: tensor '{}' is in another file too", file.name(), shown_text(name)));
  }
  files_.push_back(std::move(file));
}

void Safetensors::add_index(const std::filesystem::path& index) {
  const std::string text = read_file(index, kHeaderBytes);
  const nlohmann::json json = bounded_json(text, index.string());
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object())
    throw Error(fmt::format("{}: has no weight_map of tensors to files", index.string()));
  std::set<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    // Beside the index, and nowhere else.
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
      throw Error(
          fmt::format("{}: tensor '{}' is in the file '{}', which is no name of a file beside it",
                      index.string(), shown_text(tensor), shown_text(name)));
    files.insert(name);
    if (files.size() > kMostFiles)
      throw Error(fmt::format("{}: names more than {} files", index.string(), kMostFiles));
  }
  for (const std::string& file : files) add_file(index.parent_path() / file);
  for (const auto& [tensor, file] : map->items())
    if (entries_.count(tensor) == 0)
      throw Error(fmt::format("{}: tensor '{}' is not in {}", index.string(), shown_text(tensor),
                              shown_text(file.get<std::string>())));
}

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> all;
  for (const auto& [name, entry] : entries_) all.push_back(name);
  return all;
}

const models::Shape* Safetensors::shape(const std::string& name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second.shape;
}

const Safetensors::Entry& Safetensors::entry(const std::string& name) const {
  const auto at = entries_.find(name);
  if (at == entries_.end())
    throw Error(fmt::format("{}: has no tensor '{}'", name_, shown_text(name)));
  if (!at->second.format)
    throw Error(fmt::format("{}: tensor '{}' has dtype {}; allowed: F64, F32, F16, BF16", name_,
                            shown_text(name), at->second.dtype));
  return at->second;
}

void Safetensors::read(const std::string& name, std::span<float> out) const {
  const Entry& e = entry(name);
  read_numbers<float>(files_[e.file], e.begin, *e.format, out);
}

Array Safetensors::array(const std::string& name) const {
  const Entry& e = entry(name);
  Array array{e.shape, std::vector<double>(models::elements(e.shape, name))};
  read_numbers<double>(files_[e.file], e.begin, *e.format, array.data);
  return array;
}

bool is_safetensors(const std::filesystem::path& source) {
  const FileSlices file(source);
  if (file.size() < 9) return false;
  const std::uint64_t length = header_length(file);
  return length > 0 && length <= file.size() - 8 && file.text(8, 1) == "{";
}

}  // namespace attractor
