#include "attractor/files/arrays/npz.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "attractor/base/error.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "attractor/files/bounded_json.hpp"

namespace attractor {
namespace {

constexpr std::size_t kEndRecord = 22, kDirectoryEntry = 46, kLocalHeader = 30;
constexpr std::size_t kLongestComment = 65535, kDirectoryBytes = std::size_t{16} << 20;
constexpr std::uint64_t kLargestRatio = 1032;  // of deflate

std::uint64_t little(std::string_view text, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t k = 0; k < width; ++k)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at + k])) << (8 * k);
  return value;
}

/// The record at the end, which says where the directory is.
std::string end_record(const FileSlices& file) {
  const auto tail =
      static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), kEndRecord + kLongestComment));
  const std::string text = file.text(file.size() - tail, tail);
  for (std::size_t at = tail >= kEndRecord ? tail - kEndRecord + 1 : 0; at-- > 0;)
    if (std::string_view(text).substr(at, 4) == "PK\x05\x06") return text.substr(at, kEndRecord);
  throw Error(fmt::format("{}: has no directory of a ZIP archive at its end", file.name()));
}

}  // namespace

Npz::Npz(const std::filesystem::path& source) : file_(source) {
  const auto refuse = [&](const std::string& what) {
    throw Error(fmt::format("{}: {}", file_.name(), what));
  };
  const std::string end = end_record(file_);
  const std::uint64_t count = little(end, 10, 2), length = little(end, 12, 4),
                      begin = little(end, 16, 4);
  if (little(end, 4, 2) != 0 || little(end, 8, 2) != count)
    refuse("is a ZIP archive on several disks");
  if (begin > file_.size() || length > file_.size() - begin || length > kDirectoryBytes)
    refuse(
        fmt::format("its ZIP directory of {} bytes at byte {} is not in the file", length, begin));
  const std::string directory = file_.text(begin, static_cast<std::size_t>(length));
  std::size_t at = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    if (directory.size() - at < kDirectoryEntry ||
        std::string_view(directory).substr(at, 4) != "PK\x01\x02")
      refuse(fmt::format("its ZIP directory ends after {} of {} members", k, count));
    const std::uint64_t name = little(directory, at + 28, 2), extra = little(directory, at + 30, 2),
                        comment = little(directory, at + 32, 2),
                        kind = little(directory, at + 10, 2);
    const std::uint64_t whole = kDirectoryEntry + name + extra + comment;
    if (whole > directory.size() - at) refuse("its ZIP directory ends inside a member");
    Member member{.name = directory.substr(at + kDirectoryEntry, static_cast<std::size_t>(name)),
                  .header = little(directory, at + 42, 4),
                  .packed = little(directory, at + 20, 4),
                  .size = little(directory, at + 24, 4),
                  .checksum = static_cast<std::uint32_t>(little(directory, at + 16, 4)),
                  .deflated = kind == 8};
    const std::string shown = shown_text(member.name);
    if ((little(directory, at + 8, 2) & 1U) != 0) refuse(fmt::format("{} is encrypted", shown));
    if (kind != 0 && kind != 8)
      refuse(fmt::format("{} has the compression {}; allowed: 0, 8", shown, kind));
    if (std::max({member.header, member.packed, member.size}) == 0xffffffffU)
      refuse(fmt::format("{} is above 4 GB", shown));
    if (member.header > file_.size() || member.packed > file_.size() - member.header ||
        (member.deflated ? member.size / kLargestRatio > member.packed
                         : member.size != member.packed))
      refuse(fmt::format("{} declares {} bytes in {}, which cannot be", shown, member.size,
                         member.packed));
    if (member.name.ends_with(".npy")) member.name.resize(member.name.size() - 4);
    members_.push_back(std::move(member));
    at += static_cast<std::size_t>(whole);
  }
}

std::vector<std::string> Npz::names() const {
  std::vector<std::string> all;
  for (const Member& member : members_) all.push_back(member.name);
  return all;
}

std::string Npz::bytes(const Member& member) const {
  const std::string shown = file_.name() + ": " + shown_text(member.name);
  const std::string local = file_.text(member.header, kLocalHeader);
  if (!local.starts_with("PK\x03\x04")) throw Error(fmt::format("{}: has no header", shown));
  const std::uint64_t data =
      member.header + kLocalHeader + little(local, 26, 2) + little(local, 28, 2);
  std::string packed = file_.text(data, static_cast<std::size_t>(member.packed));
  std::string out;
  if (member.deflated) {
    out.resize(static_cast<std::size_t>(member.size));
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream, Z_FINISH);
    const bool whole = status == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    if (!whole) throw Error(fmt::format("{}: cannot be unpacked", shown));
  } else {
    out = std::move(packed);
  }
  const uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size());
  if (sum != member.checksum) throw Error(fmt::format("{}: its checksum is wrong", shown));
  return out;
}

Array Npz::read(const std::string& name) const {
  const auto at = std::find_if(members_.begin(), members_.end(),
                               [&](const Member& m) { return m.name == name; });
  if (at == members_.end())
    throw Error(fmt::format("{}: has no array '{}'; it has {}", file_.name(), shown_text(name),
                            shown_text(fmt::format("{}", fmt::join(names(), ", ")))));
  const std::string whole = bytes(*at);
  return parse_npy(std::as_bytes(std::span(whole)), file_.name() + ": " + shown_text(name));
}

bool is_zip(const std::filesystem::path& source) {
  const FileSlices file(source);
  if (file.size() < kEndRecord) return false;
  const std::string head = file.text(0, 4);
  return head == "PK\x03\x04" || head == "PK\x05\x06";
}

}  // namespace attractor
