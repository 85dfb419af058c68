#include "attractor/files/problem_file.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/files/arrays/npy.hpp"

namespace attractor::training {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Shape = std::vector<std::size_t>;

constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 32;
constexpr std::size_t kMaxRank = 3;
constexpr std::array<std::string_view, 9> kNames{"X", "Y", "v", "W", "z", "p0", "K", "Q", "head"};
constexpr std::array<std::string_view, 4> kHeadNames{"U", "b", "lambda", "activation"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Whether the name is one of `known`. Refuses what differs from one in case only.
bool is_known(std::string_view name, std::span<const std::string_view> known,
              const std::string& file) {
  if (std::ranges::find(known, name) != known.end()) return true;
  for (const std::string_view other : known)
    if (lower(name) == lower(other))
      throw Error(fmt::format("{}: {} is unknown; {} is meant, perhaps", file, name, other));
  return false;
}

/// What a file offers, whatever its format. Names are those of the header; each is taken once.
struct Source {
  std::string file;
  std::function<std::optional<Array>(const std::string& name)> find;
  std::string activation = "identity";
};

std::string shape_text(const Shape& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

/// Takes arrays out of a source; shapes are as wanted, where 0 stands for any length but 0.
class Taker {
 public:
  explicit Taker(const Source& source) : source_(source) {}

  std::optional<Array> optional(const std::string& name, std::string_view symbols,
                                const Shape& wanted) const {
    std::optional<Array> found = source_.find(name);
    if (found && !fits(found->shape, wanted))
      throw Error(fmt::format("{}: {} has the shape {}; needed: {}{}", source_.file, name,
                              shape_text(found->shape), symbols, numbers(wanted)));
    return found;
  }
  Array needed(const std::string& name, std::string_view symbols, const Shape& wanted) const {
    std::optional<Array> found = optional(name, symbols, wanted);
    if (!found)
      throw Error(fmt::format("{}: {} is missing; X, Y and v are needed", source_.file, name));
    return std::move(*found);
  }
  std::vector<double> data(const std::string& name, std::string_view symbols,
                           const Shape& wanted) const {
    std::optional<Array> found = optional(name, symbols, wanted);
    return found ? std::move(found->data) : std::vector<double>{};
  }

 private:
  static bool fits(const Shape& shape, const Shape& wanted) {
    return std::ranges::equal(shape, wanted, [](std::size_t found, std::size_t want) {
      return found > 0 && (want == 0 || want == found);
    });
  }
  static std::string numbers(const Shape& wanted) {
    if (wanted.empty()) return "";
    if (std::ranges::count(wanted, 0U) == std::ssize(wanted)) return ", none of them 0";
    std::string list;
    for (const std::size_t length : wanted)
      list += fmt::format("{}{}", list.empty() ? "" : ", ",
                          length == 0 ? "any" : fmt::format("{}", length));
    return fmt::format(" = ({})", list);
  }

  const Source& source_;
};

Problem assemble(const Source& source) {
  const Taker take(source);
  Problem p;
  Array x = take.needed("X", "(n, T, d)", {0, 0, 0});
  p.inputs = x.shape[0], p.tokens = x.shape[1], p.dim = x.shape[2];
  p.x = std::move(x.data);
  p.labels = take.needed("Y", "(n)", {p.inputs}).data;
  std::optional<Array> hidden = take.optional("head/U", "(h, d)", {0, p.dim});
  const std::size_t units = hidden ? hidden->shape[0] : p.dim;
  p.head.v = take.needed("v", hidden ? "(h)" : "(d)", {units}).data;
  if (hidden) p.head.hidden = std::move(hidden->data);
  p.head.bias = take.data("head/b", "(h)", {units});
  if (const auto lambda = take.optional("head/lambda", "a single number", {}))
    p.head.penalty = lambda->data[0];
  p.weights = take.data("W", "(d, d)", {p.dim, p.dim});
  p.queries = take.data("z", "(n, d)", {p.inputs, p.dim});
  p.prompt = take.data("p0", "(d)", {p.dim});
  if (p.prompt.empty()) p.prompt.assign(p.dim, 0.0);
  p.key_factor = take.data("K", "(d, r)", {p.dim, 0});
  p.query_factor = take.data("Q", "(d, r)", {p.dim, p.rank()});
  try {
    p.head.activation = activation_named(source.activation);
    check(p);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", source.file, error.what()));
  }
  return p;
}

/// Takes the numbers of the known names out of a JSON text as it is read.
class JsonArrays final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonArrays(std::string file) : file_(std::move(file)) {}

  std::map<std::string, Array> arrays;
  std::string activation = "identity";

  bool null() override { return other("null"); }
  bool boolean(bool value) override { return other(value ? "true" : "false"); }
  bool number_integer(std::int64_t x) override { return number(static_cast<double>(x)); }
  bool number_unsigned(std::uint64_t x) override { return number(static_cast<double>(x)); }
  bool number_float(double x, const std::string&) override { return number(x); }
  bool binary(Json::binary_t&) override { return other("binary data"); }
  bool string(std::string& text) override {
    if (name_ != "head/activation" || ignored_ > 0) return other(text);
    activation = text;
    return true;
  }

  bool start_object(std::size_t) override {
    if (in_ == In::nothing) return in_ = In::problem, true;
    if (skips_open()) return true;
    if (in_ == In::head || name_ != "head") return other("an object");
    return in_ = In::head, true;
  }
  bool end_object() override {
    if (skips_close()) return true;
    return in_ = In::problem, true;
  }
  bool key(std::string& key) override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t at, const std::string&, const Json::exception& error) override {
    if (error.id == 406)
      throw Error(fmt::format("{}: the number before byte {} is too large", file_, at));
    throw Error(fmt::format(
        "{} is not a JSON object: the text breaks off or is wrong at byte {} (JSON has no NaN or "
        "Infinity)",
        file_, at));
  }

 private:
  enum class In { nothing, problem, head };

  // The value of an unknown name opens a level, or closes one.
  bool skips_open() { return ignored_ > 0 && ++ignored_ > 0; }
  bool skips_close() { return ignored_ > 1 && --ignored_ > 0; }
  bool number(double x);
  bool other(std::string_view what) const;

  std::string file_, name_;
  In in_ = In::nothing;
  std::size_t ignored_ = 0;  // 1 + levels open in the value of an unknown name; 0: a known one
  Array* array_ = nullptr;   // of name_
  std::optional<std::size_t> rank_{};
  Shape open_{};  // entries so far of each list that is open
};

bool JsonArrays::key(std::string& key) {
  if (ignored_ > 1) return true;
  ignored_ = 0;
  const bool inside = in_ == In::head;
  const bool known = is_known(key, inside ? std::span<const std::string_view>(kHeadNames) : kNames,
                              inside ? file_ + ": head" : file_);
  if (inside && !known)
    throw Error(fmt::format("{}: head: \"{}\" is unknown; allowed: {}", file_, key.substr(0, 40),
                            fmt::join(kHeadNames, ", ")));
  if (!known) return ignored_ = 1, true;
  name_ = inside ? "head/" + key : key;
  rank_.reset();
  if (!arrays.emplace(name_, Array{}).second)
    throw Error(fmt::format("{}: {} is there twice", file_, name_));
  array_ = &arrays[name_];
  return true;
}

bool JsonArrays::start_array(std::size_t) {
  if (in_ == In::nothing || name_ == "head" || name_ == "head/activation") other("a list");
  if (skips_open()) return true;
  if (open_.size() == kMaxRank)
    throw Error(fmt::format("{}: {} has more than {} levels of lists", file_, name_, kMaxRank));
  if (!open_.empty()) ++open_.back();
  open_.push_back(0);
  return true;
}

bool JsonArrays::end_array() {
  if (skips_close()) return true;
  const std::size_t count = open_.back();
  open_.pop_back();
  if (count == 0) throw Error(fmt::format("{}: {} has an empty list", file_, name_));
  std::size_t& length = array_->shape[open_.size()];
  if (length == 0) length = count;
  if (length != count)
    throw Error(fmt::format("{}: {}: a list has {} entries where others have {}", file_, name_,
                            count, length));
  return true;
}

bool JsonArrays::number(double x) {
  if (in_ == In::nothing || name_ == "head" || name_ == "head/activation") other("a number");
  if (ignored_ > 0) return true;
  if (!rank_) {
    rank_ = open_.size();
    array_->shape.assign(*rank_, 0);
  }
  if (open_.size() != *rank_)
    throw Error(fmt::format("{}: {} has numbers in lists of {} and of {} levels", file_, name_,
                            *rank_, open_.size()));
  if (!open_.empty()) ++open_.back();
  array_->data.push_back(x);
  return true;
}

bool JsonArrays::other(std::string_view what) const {
  if (in_ == In::nothing) throw Error(fmt::format("{} is not a JSON object", file_));
  if (ignored_ > 0) return true;
  throw Error(fmt::format("{}: {}: expected {} where {} is", file_, name_,
                          name_ == "head"              ? "an object"
                          : name_ == "head/activation" ? "a text"
                                                       : "a number",
                          what.substr(0, 40)));
}

/// The group head must say both, so that no slip turns a head into another one.
void read_head_attributes(const Hdf5Reader& reader, Source& source, std::optional<Array>& lambda) {
  if (!reader.exists("head")) return;
  try {
    source.activation = reader.text_attribute("head", "activation");
    if (!reader.exists("head/lambda")) lambda = {{}, {reader.number_attribute("head", "lambda")}};
  } catch (const Error&) {
    throw Error(fmt::format(
        "{}: the group head needs the attributes activation, a text, and lambda, a number "
        "(0: no penalty)",
        source.file));
  }
}

Problem read_hdf5(const std::string& file) {
  const Hdf5Reader reader(file);
  for (const std::string& path : reader.datasets()) {
    const std::string name = path.substr(1), first = name.substr(0, name.find('/'));
    if (is_known(first, kNames, file) && name.starts_with("head/"))
      is_known(name.substr(5), kHeadNames, file + ": head");
  }
  Source source{.file = file, .find = {}};
  std::optional<Array> lambda;
  read_head_attributes(reader, source, lambda);
  source.find = [&](const std::string& name) -> std::optional<Array> {
    if (name == "head/lambda" && lambda) return lambda;
    if (!reader.exists(name)) return std::nullopt;
    Array array = reader.read(name);
    return Array{std::move(array.shape), std::move(array.data)};
  };
  return assemble(source);
}

constexpr std::array<std::string_view, 12> kFiles{
    "X.npy", "Y.npy", "v.npy",      "W.npy",      "z.npy",           "p0.npy",
    "K.npy", "Q.npy", "head_U.npy", "head_b.npy", "head_lambda.npy", "head_activation.txt"};

fs::path npy_path(const fs::path& directory, std::string name) {
  std::ranges::replace(name, '/', '_');
  return directory / (name + ".npy");
}

Problem read_directory(const std::string& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    is_known(entry.path().filename().string(), kFiles, directory);
  if (error) throw Error(fmt::format("{}: {}", directory, error.message()));
  Source source{.file = directory, .find = {}};
  const fs::path activation = fs::path(directory) / "head_activation.txt";
  if (fs::exists(activation, error)) {
    source.activation = read_file(activation, 80);
    source.activation.erase(source.activation.find_last_not_of(" \r\n") + 1);
  }
  source.find = [&](const std::string& name) -> std::optional<Array> {
    const fs::path file = npy_path(directory, name);
    if (!fs::exists(file, error)) return std::nullopt;
    return read_npy(file);
  };
  return assemble(source);
}

/// What a file of any format has to hold.
struct Part {
  std::string name;
  std::span<const double> data;
  Shape shape;
};

/// Those of the head last. Checks the problem.
std::vector<Part> parts(const Problem& p) {
  check(p);
  const std::size_t n = p.inputs, d = p.dim, units = p.head.units();
  std::vector<Part> all{{"X", p.x, {n, p.tokens, d}},       {"Y", p.labels, {n}},
                        {"v", p.head.v, {units}},           {"W", p.weights, {d, d}},
                        {"z", p.queries, {n, d}},           {"p0", p.prompt, {d}},
                        {"K", p.key_factor, {d, p.rank()}}, {"Q", p.query_factor, {d, p.rank()}}};
  if (!p.head.linear()) {
    all.push_back({"head/U", p.head.hidden, {units, d}});
    all.push_back({"head/b", p.head.bias, {units}});
    all.push_back({"head/lambda", {&p.head.penalty, 1}, {}});
  }
  std::erase_if(all, [](const Part& part) { return part.data.empty(); });
  return all;
}

void append_number(double x, std::string& out) {
  if (x == 0 && std::signbit(x))
    out += "-0.0";  // "-0" is an integer
  else
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), x);
}

void append_lists(std::span<const double> data, std::span<const std::size_t> shape,
                  std::string& out) {
  if (shape.empty()) return append_number(data[0], out);
  const std::size_t each = data.size() / shape[0];
  out += '[';
  for (std::size_t k = 0; k < shape[0]; ++k) {
    if (k > 0) out += shape.size() == 1 ? ", " : ",\n  ";
    append_lists(data.subspan(k * each, each), shape.subspan(1), out);
  }
  out += ']';
}

void write_hdf5(const Problem& problem, const fs::path& target) {
  Hdf5Writer writer;
  for (const Part& part : parts(problem)) writer.dataset(part.name, part.data, part.shape);
  if (!problem.head.linear()) writer.attribute("head", "activation", name(problem.head.activation));
  writer.commit(target);
}

void write_arrays(const Problem& problem, const fs::path& directory) {
  for (const Part& part : parts(problem))
    write_npy(npy_path(directory, part.name), {part.shape, {part.data.begin(), part.data.end()}});
  if (!problem.head.linear())
    write_file(directory / "head_activation.txt",
               fmt::format("{}\n", name(problem.head.activation)));
}

/// Arrays of another problem in the same directory would mix with ours: it must be new or empty.
void write_directory(const Problem& problem, const fs::path& directory) {
  std::error_code error;
  const fs::path partial = directory.string() + ".partial";
  if (fs::exists(directory, error) && !fs::is_empty(directory, error))
    throw Error(fmt::format("{} exists; a problem is written into a new or empty directory",
                            directory.string()));
  if (fs::exists(partial, error))
    throw Error(fmt::format("{} is in the way; remove it", partial.string()));
  make_directory(partial);
  try {
    write_arrays(problem, partial);
    fs::rename(partial, directory, error);
    if (error) throw Error(fmt::format("cannot make {}: {}", directory.string(), error.message()));
  } catch (...) {
    fs::remove_all(partial, error);
    throw;
  }
}

}  // namespace

Problem parse_problem(const std::string& text, const std::string& name) {
  JsonArrays json(name);
  Json::sax_parse(text.data(), text.data() + text.size(), &json);
  Source source{.file = name, .find = {}, .activation = json.activation};
  source.find = [&](const std::string& wanted) -> std::optional<Array> {
    const auto at = json.arrays.find(wanted);
    if (at == json.arrays.end()) return std::nullopt;
    return std::move(at->second);
  };
  return assemble(source);
}

Problem problem_of(const ProblemArrays& given, const std::string& name) {
  for (const auto& [key, array] : given.arrays) {
    const bool in_head = key.starts_with("head/");
    const std::string_view last = std::string_view(key).substr(in_head ? 5 : 0);
    if (!is_known(last, in_head ? std::span<const std::string_view>(kHeadNames) : kNames, name))
      throw Error(fmt::format("{}: {} is unknown; allowed: {}, and head/ {}", name, key,
                              fmt::join(kNames, ", "), fmt::join(kHeadNames, ", ")));
  }
  return assemble({.file = name,
                   .find = [&](const std::string& wanted) -> std::optional<Array> {
                     const auto at = given.arrays.find(wanted);
                     if (at == given.arrays.end()) return std::nullopt;
                     return at->second;
                   },
                   .activation = given.activation});
}

ProblemArrays arrays_of(const Problem& problem) {
  ProblemArrays all{.activation = std::string(name(problem.head.activation))};
  for (const Part& part : parts(problem))
    all.arrays[part.name] = {part.shape, {part.data.begin(), part.data.end()}};
  return all;
}

Problem read_problem(const std::string& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) return read_directory(file);
  if (fs::is_regular_file(file, ignored) && is_hdf5(file)) return read_hdf5(file);
  return parse_problem(read_file(file, kMaxJsonBytes), file);
}

std::string to_json(const Problem& problem) {
  std::string out;
  bool in_head = false;
  for (const Part& part : parts(problem)) {
    const bool starts_head = !in_head && part.name.starts_with("head/");
    in_head = in_head || starts_head;
    out += out.empty() ? "{" : in_head && !starts_head ? ",\n  " : ",\n ";
    if (starts_head)
      out += fmt::format("\"head\": {{\"activation\": \"{}\",\n  ", name(problem.head.activation));
    out += fmt::format("\"{}\": ", part.name.substr(in_head ? 5 : 0));
    append_lists(part.data, part.shape, out);
  }
  return out + (in_head ? "}}\n" : "}\n");
}

void write_problem(const Problem& problem, const fs::path& target) {
  const std::string ending = target.extension().string();
  const bool json = ending == ".json",
             directory = target.has_parent_path() && !target.has_filename();
  if (!json && !directory && ending != ".h5" && ending != ".hdf5")
    throw Error(
        fmt::format("{}: a problem is written as .json, .h5, .hdf5 or, if the name ends "
                    "in /, as a directory of .npy files",
                    target.string()));
  require_space(target, (json ? 20.0 : 8.0) * static_cast<double>(problem.x.size()));
  if (json)
    write_file(target, to_json(problem));
  else if (directory)
    write_directory(problem, target.parent_path());
  else
    write_hdf5(problem, target);
}

}  // namespace attractor::training
