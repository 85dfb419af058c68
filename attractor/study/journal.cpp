#include "attractor/study/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kChecksum = 16;            // hexadecimal digits
constexpr std::size_t kMostBytes = 1ULL << 36U;  // of one journal

// FNV-1a.
std::string checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::vector<double> numbers(const Json& json) {
  std::vector<double> values;
  for (const Json& item : json) values.push_back(item.is_null() ? kNan : item.get<double>());
  return values;
}

}  // namespace

std::string journal_line(const UnitResult& result) {
  Json json{{"unit", result.unit}};
  if (!result.failure.empty()) json["failure"] = result.failure;
  json["measures"] = Json::object();
  for (const auto& [name, values] : result.measures) {
    Json& list = json["measures"][name] = Json::array();
    for (const double value : values) list.push_back(number(value));
  }
  const std::string body = json.dump_replacing();
  return checksum(body) + " " + body;
}

bool parse_journal_line(std::string_view line, UnitResult& result) {
  if (line.size() < kChecksum + 2 || line[kChecksum] != ' ') return false;
  const std::string_view body = line.substr(kChecksum + 1);
  if (line.substr(0, kChecksum) != checksum(body)) return false;
  try {
    const Json json = Json::parse(body);
    result = {.unit = json.at("unit").get<std::size_t>(), .failure = json.value("failure", "")};
    for (const auto& [name, values] : json.at("measures").items())
      result.measures[name] = numbers(values);
    return true;
  } catch (const JsonError&) {
    return false;
  }
}

Journal::Journal(const fs::path& directory, const std::string& name) {
  make_directory(directory / "units");
  file_ = directory / "units" / (name + ".jsonl");
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw Error(fmt::format("{}: {}", file_.string(), std::strerror(errno)));
  const std::string content = read_file(file_, kMostBytes);
  const std::size_t whole = content.rfind('\n') + 1;  // npos + 1 is 0
  if (::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0)
    throw Error(fmt::format("{}: {}", file_.string(), std::strerror(errno)));
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Journal::append(const UnitResult& result) {
  const std::string line = journal_line(result) + "\n";
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = ::write(descriptor_, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int reason = errno;
      if (::ftruncate(descriptor_, before) != 0) { /* the next reader cuts the half line off */
      }
      throw Error(fmt::format("cannot write {}: {}", file_.string(), std::strerror(reason)));
    }
    done += static_cast<std::size_t>(written);
  }
  if (::fdatasync(descriptor_) != 0)
    throw Error(fmt::format("cannot write {}: {}", file_.string(), std::strerror(errno)));
}

std::map<std::size_t, UnitResult> read_journals(const fs::path& directory, std::size_t end) {
  std::map<std::size_t, UnitResult> units;
  if (!fs::is_directory(directory / "units")) return units;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory / "units"))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const std::string content = read_file(file, kMostBytes);
    for (std::size_t begin = 0, stop; (stop = content.find('\n', begin)) != content.npos;
         begin = stop + 1) {
      UnitResult result;
      if (!parse_journal_line(std::string_view(content).substr(begin, stop - begin), result))
        continue;
      if (result.unit >= end)
        throw Error(fmt::format("{} holds unit {} of another study; this one has {} units",
                                file.string(), result.unit, end));
      units.emplace(result.unit, std::move(result));
    }
  }
  return units;
}

}  // namespace attractor::lab
