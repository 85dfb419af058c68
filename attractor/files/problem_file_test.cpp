#include "attractor/files/problem_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>

#include "attractor/base/file.hpp"
#include "attractor/base/random.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::training {
namespace {

namespace fs = std::filesystem;

std::string refused(const std::string& json) {
  return refusal([&] { parse_problem(json, "p.json"); });
}

/// Gives each test a folder of its own.
class ProblemFile : public ::testing::Test {
 protected:
  ProblemFile()
      : folder_(fs::path(::testing::TempDir()) /
                ("problem_file_test_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~ProblemFile() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string refused_file(const std::string& name) const {
    return refusal([&] { read_problem(path(name)); });
  }

 private:
  fs::path folder_;
};

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

void expect_same(const Problem& a, const Problem& b) {
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.dim, b.dim);
  EXPECT_TRUE(same_bits(a.x, b.x));
  EXPECT_TRUE(same_bits(a.labels, b.labels));
  EXPECT_TRUE(same_bits(a.head.v, b.head.v));
  EXPECT_TRUE(same_bits(a.weights, b.weights));
  EXPECT_TRUE(same_bits(a.queries, b.queries));
  EXPECT_TRUE(same_bits(a.prompt, b.prompt));
  EXPECT_TRUE(same_bits(a.key_factor, b.key_factor));
  EXPECT_TRUE(same_bits(a.query_factor, b.query_factor));
  EXPECT_TRUE(same_bits(a.head.hidden, b.head.hidden));
  EXPECT_TRUE(same_bits(a.head.bias, b.head.bias));
  EXPECT_TRUE(same_bits({a.head.penalty}, {b.head.penalty}));
  EXPECT_EQ(a.head.activation, b.head.activation);
}

/// Doubles of all kinds: sixteen and seventeen digits, tiny, denormal, integers, minus zero.
std::vector<double> numbers(std::size_t count, std::uint64_t item) {
  const double limit = std::numeric_limits<double>::min();
  const std::vector<double> special{
      -0.0,  0.1,        1.0 / 3, 0x1p60,    -0x1p63, 0x1p64, 1e23, 5e-324,
      limit, -limit / 3, 1e-300,  123456789, 1e15,    1e16,   1e17, 9007199254740993.0};
  const Stream stream(1, "test.numbers");
  std::vector<double> out(count);
  for (std::size_t k = 0; k < count; ++k)
    out[k] = k < special.size() ? special[(k + item) % special.size()]
                                : stream.normal(item, k) * std::pow(2, 40 * stream.normal(item, k));
  return out;
}

Problem plain() {
  return {.inputs = 3,
          .tokens = 5,
          .dim = 4,
          .x = numbers(60, 0),
          .labels = {1, -1, 0.5},
          .head = {.v = numbers(4, 1)},
          .prompt = numbers(4, 2)};
}

Problem everything() {
  Problem p = plain();
  p.weights = numbers(16, 3);
  p.queries = numbers(12, 4);
  p.key_factor = numbers(8, 5);
  p.query_factor = numbers(8, 6);
  p.head = {.v = numbers(7, 7),
            .activation = Activation::gelu,
            .hidden = numbers(28, 8),
            .bias = numbers(7, 9),
            .penalty = 0.1};
  return p;
}

TEST(ProblemJson, ReadsShapesAndDefaults) {
  const Problem p = parse_problem(R"({"X": [[[1,2],[3,4],[5,6]]], "Y": [-1], "v": [1, 10]})", "p");
  expect_same(p, {.inputs = 1,
                  .tokens = 3,
                  .dim = 2,
                  .x = {1, 2, 3, 4, 5, 6},
                  .labels = {-1},
                  .head = {.v = {1, 10}},
                  .prompt = {0, 0}});
}

TEST(ProblemJson, ReadsEverythingInAnyOrder) {
  const Problem p = parse_problem(
      R"({"head": {"lambda": 0.25, "b": [3], "U": [[1, -2]], "activation": "tanh"}, "Q": [[1],[2]],
          "K": [[3],[4]], "p0": [5e0, 6.0], "z": [[7,8]], "W": [[1,2],[3,4]], "v": [9], "Y": [1],
          "X": [[[1,2],[3,4]]]})",
      "p");
  expect_same(p, {.inputs = 1,
                  .tokens = 2,
                  .dim = 2,
                  .x = {1, 2, 3, 4},
                  .labels = {1},
                  .head = {.v = {9},
                           .activation = Activation::tanh,
                           .hidden = {1, -2},
                           .bias = {3},
                           .penalty = 0.25},
                  .weights = {1, 2, 3, 4},
                  .queries = {7, 8},
                  .prompt = {5, 6},
                  .key_factor = {3, 4},
                  .query_factor = {1, 2}});
}

TEST(ProblemJson, IgnoresWhatRecordsCarryBesides) {
  const Problem p = parse_problem(
      R"({"runs": {"X": [1], "deep": [[[[[{"v": null}]]]]]}, "n": 1, "X": [[[1,2],[3,4]]],
          "note": "v", "gamma": [[1], "x", null, true, {}], "Y": [1], "v": [1, 2], "svm": []})",
      "p");
  expect_same(p, {.inputs = 1,
                  .tokens = 2,
                  .dim = 2,
                  .x = {1, 2, 3, 4},
                  .labels = {1},
                  .head = {.v = {1, 2}},
                  .prompt = {0, 0}});
}

TEST(ProblemJson, RefusesWhatIsNotAProblem) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "p.json is not a JSON object"},
      {"[1, 2]", "not a JSON object"},
      {"3", "not a JSON object"},
      {"{", "byte"},
      {R"({"X": [[[1,2],[3,4]]], "Y": [1], "v": [1,2]} x)", "byte 46"},
      {R"({"X": [[[1,2],[3,NaN]]], "Y": [1], "v": [1,2]})", "byte"},
      {R"({"X": [[[1,2],[3,1e999]]], "Y": [1], "v": [1,2]})", "too large"},
      {R"({"Y": [1], "v": [1,2]})", "p.json: X is missing"},
      {R"({"X": [[[1,2],[3,4]]], "v": [1]})", "Y is missing"},
      {R"({"X": [[[1]]], "Y": [1]})", "v is missing"},
      {R"({"X": [[[1,2]]], "Y": [1], "v": [1,2]})", "at least 2"},
      {R"({"X": [[[1,2],[3]]], "Y": [1], "v": [1,2]})", "1 entries where others have 2"},
      {R"({"X": [[[1,2],[3,[4]]]], "Y": [1], "v": [1,2]})", "more than 3 levels"},
      {R"({"X": [[[1,2],3]], "Y": [1], "v": [1,2]})", "lists of 3 and of 2 levels"},
      {R"({"X": [[1,2],[3,4]], "Y": [1], "v": [1,2]})",
       "X has the shape (2, 2); needed: (n, T, d)"},
      {R"({"X": 7, "Y": [1], "v": [1,2]})", "X has the shape ()"},
      {R"({"X": [], "Y": [1], "v": [1,2]})", "X has an empty list"},
      {R"({"X": [[[],[]]], "Y": [1], "v": [1,2]})", "X has an empty list"},
      {R"({"X": "zeros", "Y": [1], "v": [1,2]})", "X: expected a number where zeros is"},
      {R"({"X": null, "Y": [1], "v": [1,2]})", "where null is"},
      {R"({"X": {"0": 1}, "Y": [1], "v": [1,2]})", "where an object is"},
      {R"({"X": [[[1,2],[3,"x"]]], "Y": [1], "v": [1,2]})", "expected a number where x is"},
      {R"({"X": [[[1,2],[3,true]]], "Y": [1], "v": [1,2]})", "where true is"},
      {R"({"X": [[[1e200,2],[3,4]]], "Y": [1], "v": [1e200,2]})", "p.json: a key"},
      {R"({"X": [[[1,2],[3,4]]], "Y": [1,1], "v": [1,2]})",
       "Y has the shape (2); needed: (n) = (1)"},
      {R"({"X": [[[1,2],[3,4]]], "Y": [[1]], "v": [1,2]})", "Y has the shape (1, 1)"},
      {R"({"X": [[[1,2],[3,4]]], "Y": 1, "v": [1,2]})", "Y has the shape ()"},
      {R"({"X": [[[1,2],[3,4]]], "Y": [1], "v": [1]})", "v has the shape (1); needed: (d) = (2)"},
      {R"({"X": [[[1,2],[3,4]]], "Y": [1], "v": [1], "v": [1,2]})", "v is there twice"},
  };
  for (const auto& [json, part] : cases) EXPECT_SAYS(refused(json), part) << json;
}

TEST(ProblemJson, RefusesOptionalPartsThatDoNotFit) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("W": [[1,2]])", "W has the shape (1, 2); needed: (d, d) = (2, 2)"},
      {R"("W": "identity")", "W: expected a number where identity is"},
      {R"("z": [[1,2],[3,4]])", "z has the shape (2, 2); needed: (n, d) = (1, 2)"},
      {R"("p0": [1,2,3])", "p0 has the shape (3)"},
      {R"("K": [[1],[2]])", "both or none"},
      {R"("K": [1,2], "Q": [1,2])", "K has the shape (2); needed: (d, r) = (2, any)"},
      {R"("K": [[1],[2]], "Q": [[1,2],[3,4]])", "Q has the shape (2, 2); needed: (d, r) = (2, 1)"},
      {R"("head": 3)", "head: expected an object where a number is"},
      {R"("head": [3])", "head: expected an object where a list is"},
      {R"("head": "relu")", "head: expected an object"},
      {R"("head": {"activation": 1})", "expected a text where a number is"},
      {R"("head": {"activation": null})", "expected a text where null is"},
      {R"("head": {"activation": ["relu"]})", "expected a text where a list is"},
      {R"("head": {"activation": "cube"})", "p.json: activation 'cube' is unknown"},
      {R"("head": {"lambda": [1]})", "lambda has the shape (1); needed: a single number"},
      {R"("head": {"lambda": {}})", "lambda: expected a number where an object is"},
      {R"("head": {"U": [[1,2,3]]})", "head/U has the shape (1, 3); needed: (h, d) = (any, 2)"},
      {R"("head": {"U": [[1,2]]})", "v has the shape (2); needed: (h) = (1)"},
      {R"("head": {"b": [1]})", "head/b has the shape (1); needed: (h) = (2)"},
      {R"("head": {"bias": [1, 2]})", "\"bias\" is unknown; allowed: U, b, lambda, activation"},
      {R"("head": {"Lambda": 1})", "head: Lambda is unknown; lambda is meant"},
      {R"("x": 1)", "x is unknown; X is meant"},
      {R"("P0": [1, 2])", "P0 is unknown; p0 is meant"},
      {R"("Z": [[1, 2]])", "Z is unknown; z is meant"},
      {R"("HEAD": {})", "HEAD is unknown; head is meant"},
  };
  for (const auto& [part, says] : cases) {
    const std::string json =
        std::string(R"({"X": [[[1,2],[3,4]]], "Y": [1], "v": [1,2], )") + part + "}";
    EXPECT_SAYS(refused(json), says) << json;
  }
}

TEST(ProblemJson, DeepNestingIsNoDanger) {
  const std::string deep(100'000, '[');
  EXPECT_SAYS(refused(R"({"X": )" + deep), "more than 3 levels");
  EXPECT_SAYS(refused(R"({"other": )" + deep), "not a JSON object");
}

// The same text cut at every byte: nothing but the whole is a problem.
TEST(ProblemJson, RefusesEveryTruncation) {
  const std::string whole = to_json(everything());
  EXPECT_EQ(refused(whole), "");
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)
    ASSERT_NE(refused(whole.substr(0, size)), "") << size;
}

TEST(ProblemJson, RoundTripsBits) {
  for (const Problem& p : {plain(), everything()}) expect_same(parse_problem(to_json(p), "p"), p);
}

TEST(ProblemJson, WritesShortestDigits) {
  Problem p = plain();
  p.labels = {0.1, -0.0, 0x1p64};
  EXPECT_SAYS(to_json(p), "\"Y\": [0.1, -0.0, 1.8446744073709552e+19]");
}

TEST_F(ProblemFile, RoundTripsBitsInEveryFormat) {
  for (const Problem& p : {plain(), everything()})
    for (const char* name : {"p.json", "p.h5", "p.hdf5", "new/"}) {
      SCOPED_TRACE(name);
      write_problem(p, path(name));
      expect_same(read_problem(path(name)), p);
      fs::remove_all(path("new"));
    }
  for (const fs::directory_entry& entry : fs::directory_iterator(path("")))
    EXPECT_EQ(entry.path().string().find("partial"), std::string::npos);
}

// A penalty or an activation alone makes a head.
TEST_F(ProblemFile, RoundTripsSmallHeads) {
  Problem penalised = plain(), curved = plain();
  penalised.head.penalty = 0.5;
  curved.head.activation = Activation::softplus;
  for (const Problem& p : {penalised, curved})
    for (const char* name : {"p.json", "p.h5", "new/"}) {
      write_problem(p, path(name));
      expect_same(read_problem(path(name)), p);
      fs::remove_all(path("new"));
    }
}

TEST(ProblemArraysTest, ThereAndBackToTheSameBits) {
  Problem penalised = plain();
  penalised.head.penalty = 0.5;
  for (const Problem& p : {plain(), everything(), penalised})
    expect_same(problem_of(arrays_of(p), "p"), p);
}

TEST(ProblemArraysTest, AreHeldAgainstTheSameRules) {
  ProblemArrays given = arrays_of(plain());
  given.arrays["weights"] = {{1}, {1}};
  EXPECT_SAYS(refusal([&] { problem_of(given, "data"); }), "data: weights is unknown; allowed: X,");
  given = arrays_of(plain());
  given.arrays["x"] = {{1}, {1}};
  EXPECT_SAYS(refusal([&] { problem_of(given, "data"); }), "x is unknown; X is meant");
  given = arrays_of(plain());
  given.arrays.erase("v");
  EXPECT_SAYS(refusal([&] { problem_of(given, "data"); }), "v is missing");
  given = arrays_of(plain());
  given.activation = "tanhh";
  EXPECT_SAYS(refusal([&] { problem_of(given, "data"); }), "tanhh");
}

TEST_F(ProblemFile, ContentDecidesNotTheName) {
  write_problem(everything(), path("p.h5"));
  fs::rename(path("p.h5"), path("p.json"));
  expect_same(read_problem(path("p.json")), everything());
  write_file(path("q.h5"), to_json(plain()));
  expect_same(read_problem(path("q.h5")), plain());
}

TEST_F(ProblemFile, WritesWholeOrNotAtAll) {
  const auto refused_write = [&](const Problem& p, const std::string& name) {
    return refusal([&] { write_problem(p, path(name)); });
  };
  EXPECT_SAYS(refused_write(plain(), "p.txt"), "p.txt: a problem is written as .json");
  EXPECT_SAYS(refused_write(plain(), "p"), ".npy");
  EXPECT_SAYS(refusal([] { write_problem(plain(), ""); }), "a problem is written as");
  EXPECT_SAYS(refused_write(plain(), "none/p.json"), "none/p.json");
  EXPECT_SAYS(refused_write(plain(), "none/p.h5"), "none/p.h5");
  Problem bad = plain();
  bad.x[3] = NAN;
  for (const char* name : {"p.json", "p.h5", "new/"})
    EXPECT_SAYS(refused_write(bad, name), "X: number 3");
  EXPECT_TRUE(fs::is_empty(path("")));
  fs::create_directories(path("full"));
  write_file(path("full/z.npy"), "an array of another problem");
  EXPECT_SAYS(refused_write(plain(), "full/"), "full exists");
  write_file(path("file"), "");
  EXPECT_SAYS(refused_write(plain(), "file/"), "file");
  fs::create_directories(path("new.partial"));
  EXPECT_SAYS(refused_write(plain(), "new/"), "new.partial is in the way");
  fs::create_directories(path("empty"));
  write_problem(plain(), path("empty/"));
  expect_same(read_problem(path("empty")), plain());
}

/// An HDF5 file with X (1, 2, 2), Y (1), v (2) and what `more` adds.
template <class More>
void write_h5(const std::string& file, const More& more) {
  Hdf5Writer writer;
  writer.dataset("X", std::vector<double>{1, 2, 3, 4}, {1, 2, 2});
  writer.dataset("Y", std::vector<std::int64_t>{-1}, {1});
  writer.dataset("v", std::vector<double>{1, 2}, {2});
  more(writer);
  writer.commit(file);
}

TEST_F(ProblemFile, Hdf5WithIntegersAndMore) {
  write_h5(path("p.h5"), [](Hdf5Writer& w) {
    w.dataset("runs/x", std::vector<double>{1}, {1});
    w.dataset("head/b", std::vector<double>{1, 2}, {2});
    w.attribute("head", "activation", "relu");
    w.attribute("head", "lambda", 0.25);
  });
  expect_same(
      read_problem(path("p.h5")),
      {.inputs = 1,
       .tokens = 2,
       .dim = 2,
       .x = {1, 2, 3, 4},
       .labels = {-1},
       .head = {.v = {1, 2}, .activation = Activation::relu, .bias = {1, 2}, .penalty = .25},
       .prompt = {0, 0}});
}

TEST_F(ProblemFile, Hdf5ThatDoesNotFitIsRefused) {
  const std::vector<double> two{1, 2}, one{1};
  const auto says = [&](const char* part, const auto& more) {
    write_h5(path("p.h5"), more);
    EXPECT_SAYS(refused_file("p.h5"), "p.h5");
    EXPECT_SAYS(refused_file("p.h5"), part);
  };
  says("W has the shape (2); needed: (d, d) = (2, 2)",
       [&](Hdf5Writer& w) { w.dataset("W", two, {2}); });
  says("z has the shape (2, 1)", [&](Hdf5Writer& w) { w.dataset("z", two, {2, 1}); });
  says("p0 has the shape ()", [&](Hdf5Writer& w) { w.dataset("p0", one, {}); });
  says("K has the shape (2, 0)", [&](Hdf5Writer& w) {
    w.dataset("K", std::vector<double>{}, {2, 0});
  });
  says("P0 is unknown; p0", [&](Hdf5Writer& w) { w.dataset("P0", two, {2}); });
  says("Head is unknown; head", [&](Hdf5Writer& w) { w.dataset("Head/b", two, {2}); });
  says("B is unknown; b", [&](Hdf5Writer& w) { w.dataset("head/B", two, {2}); });
  says("activation", [&](Hdf5Writer& w) { w.dataset("head/b", two, {2}); });
  says("lambda", [&](Hdf5Writer& w) {
    w.dataset("head/b", two, {2});
    w.attribute("head", "activation", "relu");
  });
  says("lambda", [&](Hdf5Writer& w) {
    w.group("head");
    w.attribute("head", "activation", "relu");
    w.attribute("head", "lambda", "large");
  });
  says("'cube' is unknown", [&](Hdf5Writer& w) {
    w.dataset("head/lambda", one, {});
    w.attribute("head", "activation", "cube");
  });
  says("head/lambda has the shape (1); needed: a single number", [&](Hdf5Writer& w) {
    w.dataset("head/lambda", one, {1});
    w.attribute("head", "activation", "relu");
  });
  says("z: number 1 (from 0) is nan", [&](Hdf5Writer& w) {
    w.dataset("z", std::vector<double>{1, NAN}, {1, 2});
  });
  Hdf5Writer().commit(path("p.h5"));
  EXPECT_SAYS(refused_file("p.h5"), "X is missing");
}

TEST_F(ProblemFile, DirectoryThatDoesNotFitIsRefused) {
  const auto says = [&](const char* part, const auto& change) {
    fs::remove_all(path("d"));
    write_problem(plain(), path("d/"));
    change();
    EXPECT_SAYS(refused_file("d"), part);
    EXPECT_SAYS(refused_file("d"), path("d"));
  };
  says("X is missing", [&] { fs::remove(path("d/X.npy")); });
  says("v is missing", [&] { fs::remove(path("d/v.npy")); });
  says("x.npy is unknown; X.npy", [&] { fs::rename(path("d/X.npy"), path("d/x.npy")); });
  says("Y has the shape (4); needed: (n) = (3)", [&] {
    write_npy(path("d/Y.npy"), {{4}, {1, 1, 1, 1}});
  });
  says("head/b has the shape (1)", [&] { write_npy(path("d/head_b.npy"), {{1}, {1}}); });
  says("signature", [&] { write_file(path("d/W.npy"), "1 0 0 1"); });
  says("'cube' is unknown", [&] { write_file(path("d/head_activation.txt"), "cube\n"); });
  says("at most 80", [&] { write_file(path("d/head_activation.txt"), std::string(81, 'r')); });
  says("truncated", [&] {
    const std::string whole = read_file(path("d/X.npy"), 10000);
    write_file(path("d/X.npy"), whole.substr(0, whole.size() - 8));
  });
}

TEST_F(ProblemFile, NamesAFileThatIsNone) {
  EXPECT_SAYS(refused_file("none.json"), "no such file");
  EXPECT_SAYS(refusal([] { read_problem("/dev/null"); }), "/dev/null: not a file");
}

}  // namespace
}  // namespace attractor::training
