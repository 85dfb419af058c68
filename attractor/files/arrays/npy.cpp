#include "attractor/files/arrays/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/arrays/number_format.hpp"

namespace attractor {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 8;
constexpr std::size_t kMaxNpyElements = std::size_t{1} << 31;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 34;
constexpr char kNativeOrder = std::endian::native == std::endian::little ? '<' : '>';

struct ElementType {
  char kind = 'f';  // f: IEEE float, i: signed integer, u: unsigned integer
  std::size_t size = 8;
  bool swapped = false;
};

struct Header {
  ElementType type;
  bool column_major = false;
  std::vector<std::size_t> shape;
};

/// A piece of the file fit for a message: short, and without control characters.
std::string shown(std::string_view text) {
  std::string out(text.substr(0, 40));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > 40 ? out + "..." : out;
}

std::string_view kind_name(char kind) {
  switch (kind) {
    case 'O':
      return "Python objects";
    case 'c':
      return "complex numbers";
    case 'S':
    case 'U':
    case 'a':
      return "strings";
    case 'V':
      return "raw records";
    case 'b':
      return "booleans";
    case 'm':
    case 'M':
      return "times";
    default:
      return "an unsupported type";
  }
}

ElementType parse_type(std::string_view descr, std::string_view name) {
  const auto refuse = [&](std::string_view what) {
    throw Error(
        fmt::format("{}: dtype '{}' {}; allowed are f2, f4, f8, i1, i2, i4, i8, u1, u2, u4 "
                    "and u8 with byte order < or >",
                    name, shown(descr), what));
  };
  if (descr.size() < 2) refuse("is not a dtype");
  const char order = descr[0];
  const char kind = descr[1];
  if (std::string_view("<>|=").find(order) == std::string_view::npos) refuse("is not a dtype");
  if (kind != 'f' && kind != 'i' && kind != 'u') refuse(fmt::format("holds {}", kind_name(kind)));
  const std::string_view digit = descr.substr(2);
  const bool known = digit == "2" || digit == "4" || digit == "8" || (kind != 'f' && digit == "1");
  if (!known) refuse("has an unsupported size");
  const auto size = static_cast<std::size_t>(digit[0] - '0');
  if (order == '|' && size > 1) refuse("lacks a byte order");
  return {kind, size, (order == '<' || order == '>') && order != kNativeOrder};
}

/// Reads the one Python literal the format allows: a dict with the keys 'descr', 'fortran_order'
/// and 'shape', each once and in any order, then only padding.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Header parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      value(key);
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) garbage("only padding after the closing brace");
    require(type_.has_value(), "descr");
    require(column_major_.has_value(), "fortran_order");
    require(shape_.has_value(), "shape");
    return {*type_, *column_major_, std::move(*shape_)};
  }

 private:
  void value(std::string_view key) {
    if (key == "descr" && !type_) {
      type_ = element_type();
    } else if (key == "fortran_order" && !column_major_) {
      column_major_ = boolean();
    } else if (key == "shape" && !shape_) {
      shape_ = shape();
    } else {
      throw Error(
          fmt::format("{}: the header has the key '{}' twice or unexpectedly; allowed are "
                      "'descr', 'fortran_order' and 'shape', once each",
                      name_, shown(key)));
    }
  }

  ElementType element_type() {
    skip_space();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(' || text_[at_] == '{'))
      throw Error(fmt::format("{}: dtype {} is structured; allowed are single floats or integers",
                              name_, shown(text_.substr(at_, text_.find(']', at_) - at_ + 1))));
    return parse_type(quoted(), name_);
  }

  bool boolean() {
    skip_space();
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    garbage("True or False");
  }

  std::vector<std::size_t> shape() {
    std::vector<std::size_t> dims;
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) garbage("a comma or a closing parenthesis");
      dims.push_back(dimension());
      if (dims.size() > kMaxRank)
        throw Error(fmt::format("{}: the array has more than {} dimensions", name_, kMaxRank));
      comma = accept(',');
    }
    // To Python "(3)" is a number; a tuple of one is "(3,)".
    if (dims.size() == 1 && !comma) garbage("a tuple as the shape");
    return dims;
  }

  std::size_t dimension() {
    skip_space();
    std::size_t dim = 0;
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    if (begin != end && *begin == '-')
      throw Error(fmt::format("{}: the shape has the dimension {}; dimensions are at least 0",
                              name_,
                              shown(text_.substr(at_, text_.find_first_of(",)", at_) - at_))));
    const auto [stop, code] = std::from_chars(begin, end, dim);
    if (code == std::errc::result_out_of_range)
      throw Error(fmt::format("{}: the dimension {} is too large", name_,
                              shown({begin, static_cast<std::size_t>(stop - begin)})));
    if (code != std::errc{}) garbage("a dimension");
    at_ += static_cast<std::size_t>(stop - begin);
    return dim;
  }

  std::string_view quoted() {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"'))
      garbage("a quoted string");
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) garbage("a closed string");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != std::string_view::npos) garbage("a string without escapes");
    at_ = end + 1;
    return inside;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool accept(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool accept_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) garbage(fmt::format("'{}'", wanted));
  }

  void require(bool present, std::string_view key) const {
    if (!present) throw Error(fmt::format("{}: the header lacks the key '{}'", name_, key));
  }

  [[noreturn]] void garbage(std::string_view wanted) const {
    throw Error(fmt::format("{}: the header has \"{}\" where {} belongs", name_,
                            shown(text_.substr(std::min(at_, text_.size()))), wanted));
  }

  std::string_view text_, name_;
  std::size_t at_ = 0;
  std::optional<ElementType> type_;
  std::optional<bool> column_major_;
  std::optional<std::vector<std::size_t>> shape_;
};

/// Splits the file into the text of its header and the bytes of its data.
std::pair<std::string_view, std::span<const std::byte>> split(std::span<const std::byte> bytes,
                                                              std::string_view name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic))
    throw Error(fmt::format("{}: does not begin with the .npy signature \\x93NUMPY", name));
  if (bytes.size() < 10) throw Error(fmt::format("{}: ends inside the .npy preamble", name));
  const auto major = std::to_integer<unsigned>(bytes[6]);
  const auto minor = std::to_integer<unsigned>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0)
    throw Error(fmt::format("{}: .npy version {}.{} is unknown; allowed are 1.0, 2.0 and 3.0", name,
                            major, minor));
  const std::size_t width = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + width) throw Error(fmt::format("{}: ends inside the .npy preamble", name));
  std::size_t length = 0;
  for (std::size_t k = 0; k < width; ++k)
    length |= std::to_integer<std::size_t>(bytes[8 + k]) << (8 * k);
  const std::size_t rest = bytes.size() - 8 - width;
  if (length > rest)
    throw Error(
        fmt::format("{}: declares a header of {} bytes and only {} follow", name, length, rest));
  return {text.substr(8 + width, length), bytes.subspan(8 + width + length)};
}

/// Refuses a shape that is too large or does not match the data exactly.
void check_size(const Header& header, std::size_t available, std::string_view name) {
  std::size_t count = 1;
  std::size_t bound = 1;  // a zero dimension must not hide an absurd one
  for (const std::size_t dim : header.shape) {
    if (dim > kMaxNpyElements / bound)
      throw Error(fmt::format("{}: the shape ({}) has more than {} elements", name,
                              fmt::join(header.shape, ", "), kMaxNpyElements));
    bound *= std::max<std::size_t>(dim, 1);
    count *= dim;
  }
  const std::size_t promised = count * header.type.size;
  if (promised != available)
    throw Error(
        fmt::format("{}: {}: the shape ({}) with {} bytes per element needs {} bytes of data "
                    "and the file has {}",
                    name, available < promised ? "truncated" : "too long",
                    fmt::join(header.shape, ", "), header.type.size, promised, available));
}

template <class T>
std::vector<double> decode_as(std::span<const std::byte> bytes, bool swapped) {
  std::vector<double> out(bytes.size() / sizeof(T));
  std::array<std::byte, sizeof(T)> raw;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::memcpy(raw.data(), bytes.data() + i * sizeof(T), sizeof(T));
    if (swapped) std::reverse(raw.begin(), raw.end());
    out[i] = static_cast<double>(std::bit_cast<T>(raw));
  }
  return out;
}

std::vector<double> decode_halves(std::span<const std::byte> bytes, bool swapped) {
  std::vector<double> out = decode_as<std::uint16_t>(bytes, swapped);
  for (double& x : out) x = static_cast<double>(half_to_float(static_cast<std::uint16_t>(x)));
  return out;
}

std::vector<double> decode(std::span<const std::byte> bytes, ElementType type) {
  const bool is_signed = type.kind == 'i';
  if (type.kind == 'f' && type.size == 2) return decode_halves(bytes, type.swapped);
  if (type.kind == 'f')
    return type.size == 4 ? decode_as<float>(bytes, type.swapped)
                          : decode_as<double>(bytes, type.swapped);
  switch (type.size) {
    case 1:
      return is_signed ? decode_as<std::int8_t>(bytes, false)
                       : decode_as<std::uint8_t>(bytes, false);
    case 2:
      return is_signed ? decode_as<std::int16_t>(bytes, type.swapped)
                       : decode_as<std::uint16_t>(bytes, type.swapped);
    case 4:
      return is_signed ? decode_as<std::int32_t>(bytes, type.swapped)
                       : decode_as<std::uint32_t>(bytes, type.swapped);
    default:
      return is_signed ? decode_as<std::int64_t>(bytes, type.swapped)
                       : decode_as<std::uint64_t>(bytes, type.swapped);
  }
}

std::vector<double> row_major(std::span<const double> column_major,
                              std::span<const std::size_t> shape) {
  std::vector<double> out(column_major.size());
  std::vector<std::size_t> stride(shape.size(), 1), index(shape.size(), 0);
  for (std::size_t k = shape.size(); k-- > 1;) stride[k - 1] = stride[k] * shape[k];
  std::size_t at = 0;
  for (const double value : column_major) {
    out[at] = value;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      at += stride[k];
      if (++index[k] < shape[k]) break;
      at -= stride[k] * shape[k];
      index[k] = 0;
    }
  }
  return out;
}

}  // namespace

Array parse_npy(std::span<const std::byte> bytes, std::string_view name) {
  const auto [text, data] = split(bytes, name);
  Header header = HeaderParser(text, name).parse();
  check_size(header, data.size(), name);
  std::vector<double> values = decode(data, header.type);
  if (header.column_major && header.shape.size() > 1) values = row_major(values, header.shape);
  return {std::move(header.shape), std::move(values)};
}

Array read_npy(const std::filesystem::path& source) {
  const std::string text = read_file(source, kMaxFileBytes);
  return parse_npy(std::as_bytes(std::span(text)), source.string());
}

void write_npy(const std::filesystem::path& target, const Array& array) {
  assert(array.shape.size() <= kMaxRank);
  assert(array.data.size() == std::accumulate(array.shape.begin(), array.shape.end(),
                                              std::size_t{1}, std::multiplies<>()));
  std::string header =
      fmt::format("{{'descr': '{}f8', 'fortran_order': False, 'shape': ({}{}), }}", kNativeOrder,
                  fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  // The data begin at a multiple of 64 bytes, so that readers can map them.
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ').push_back('\n');
  AtomicFile file(target);
  file.write(kMagic);
  const std::array<char, 4> preamble = {1, 0, static_cast<char>(header.size() & 0xff),
                                        static_cast<char>(header.size() >> 8)};
  file.write(std::string_view(preamble.data(), preamble.size()));
  file.write(header);
  file.write(std::as_bytes(std::span(array.data)));
  file.commit();
}

}  // namespace attractor
