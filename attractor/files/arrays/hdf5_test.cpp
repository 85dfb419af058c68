#include "attractor/files/arrays/hdf5.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <array>
#include <limits>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

namespace fs = std::filesystem;

/// Gives each test a folder of its own.
class Hdf5 : public ::testing::Test {
 protected:
  Hdf5() : folder_(fs::path(::testing::TempDir()) / ("hdf5_test_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~Hdf5() override { fs::remove_all(folder_); }
  fs::path path(const char* name = "x.h5") const { return folder_ / name; }
  std::string bytes(const char* name) const { return read_file(path(name), std::size_t{1} << 24); }

 private:
  fs::path folder_;
};

void fill(Hdf5Writer& out, double first) {
  const std::vector<double> x = {first, 2, 3, 4, 5, 6};
  out.dataset("/runs/a/tokens", x, {2, 3});
  out.dataset("runs/b/steps", std::vector<std::int64_t>{-1, 2}, {2});
  out.dataset("labels", std::vector<std::uint32_t>{7, 4294967295u}, {2, 1});
  out.dataset("ids", std::vector<std::uint64_t>{1}, {});
  out.dataset("names", std::vector<std::string>{"eins", "zwölf", ""});
  out.attribute("/", "title", "Grüße");
  out.attribute("/runs/a/tokens", "beta", 0.25);
  out.attribute("/runs", "count", 3);
  out.attribute("/runs", "seed", std::numeric_limits<std::uint64_t>::max());
}

/// Makes a file with the plain C API, for content our writer never produces.
template <class Fill>
void make_raw(const fs::path& path, Fill&& fill_file) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  fill_file(file);
  H5Fclose(file);
}

void raw_dataset(hid_t file, const char* name, hid_t type, std::vector<hsize_t> dims,
                 const void* data, hid_t list = H5P_DEFAULT) {
  const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  if (data) H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  H5Dclose(set);
  H5Sclose(space);
}

TEST_F(Hdf5, RoundTripsEveryKind) {
  Hdf5Writer out;
  fill(out, 1);
  out.commit(path());
  const Hdf5Reader in(path());
  EXPECT_EQ(in.read("/runs/a/tokens").data, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(in.read("/runs/a/tokens").shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(in.read("runs/b/steps").data, (std::vector<double>{-1, 2}));
  EXPECT_EQ(in.read("labels").data, (std::vector<double>{7, 4294967295.0}));
  EXPECT_EQ(in.read("ids").data, (std::vector<double>{1}));
  EXPECT_TRUE(in.read("ids").shape.empty());
  EXPECT_TRUE(in.is_whole("ids") && in.is_whole("runs/b/steps"));
  EXPECT_FALSE(in.is_whole("/runs/a/tokens") || in.is_whole("/runs"));
  EXPECT_EQ(in.text_attribute("/", "title"), "Grüße");
  EXPECT_EQ(in.number_attribute("/runs/a/tokens", "beta"), 0.25);
  EXPECT_EQ(in.number_attribute("/runs", "count"), 3);
  EXPECT_EQ(in.number_attribute("/runs", "seed"), 18446744073709551616.0);
}

TEST_F(Hdf5, ListsNumericDatasetsByName) {
  Hdf5Writer out;
  fill(out, 1);
  out.group("/empty/inside");
  out.commit(path());
  EXPECT_EQ(Hdf5Reader(path()).datasets(),
            (std::vector<std::string>{"/ids", "/labels", "/runs/a/tokens", "/runs/b/steps"}));
}

TEST_F(Hdf5, KnowsWhatExists) {
  Hdf5Writer out;
  out.group("a/b");
  out.group("a/b");
  out.commit(path());
  const Hdf5Reader in(path());
  EXPECT_TRUE(in.exists("/") && in.exists("/a/b"));
  EXPECT_FALSE(in.exists("/a/c") || in.exists("/x/y/z"));
}

TEST_F(Hdf5, WritesStringsPaddedToTheLongest) {
  Hdf5Writer out;
  fill(out, 1);
  out.commit(path());
  const hid_t file = H5Fopen(path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t set = H5Dopen2(file, "/names", H5P_DEFAULT);
  const hid_t type = H5Dget_type(set);
  ASSERT_EQ(H5Tget_size(type), 6u);
  EXPECT_EQ(H5Tget_cset(type), H5T_CSET_UTF8);
  std::array<char, 18> raw = {};
  H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw.data());
  EXPECT_EQ(std::string(raw.data(), raw.size()),
            std::string("eins\0\0zw\xc3\xb6lf\0\0\0\0\0\0", 18));
  H5Tclose(type);
  H5Dclose(set);
  H5Fclose(file);
}

TEST_F(Hdf5, EqualContentIsEqualBytes) {
  for (const char* name : {"first", "other", "second"}) {
    Hdf5Writer out;
    fill(out, std::string_view(name) == "other" ? -1 : 1);
    out.commit(path(name));
    if (std::string_view(name) == "other") ::sleep(1);  // time stamps have a resolution of 1 s
  }
  EXPECT_EQ(bytes("first"), bytes("second"));
  EXPECT_NE(bytes("first"), bytes("other"));
}

TEST_F(Hdf5, TwoWritersAtOnceDoNotMix) {
  Hdf5Writer one, two;
  fill(one, 1);
  fill(two, 1);
  one.commit(path("one"));
  two.commit(path("two"));
  EXPECT_EQ(bytes("one"), bytes("two"));
}

TEST_F(Hdf5, CommitsAgainAfterMoreData) {
  Hdf5Writer out;
  out.dataset("a", std::vector<double>{1}, {1});
  out.commit(path());
  out.dataset("b", std::vector<double>{2}, {1});
  out.commit(path());
  EXPECT_EQ(Hdf5Reader(path()).datasets(), (std::vector<std::string>{"/a", "/b"}));
}

TEST_F(Hdf5, RoundTripsEmptyAndLargeDatasets) {
  const std::vector<double> large(300'000, 0.5);
  Hdf5Writer out;
  out.dataset("empty", std::vector<double>{}, {0, 4});
  out.dataset("large", large, {3, 100'000});
  out.dataset("no_names", std::vector<std::string>{});
  out.attribute("/", "long", std::string(200'000, 'x'));
  out.attribute("/", "blank", "");
  out.commit(path());
  const Hdf5Reader in(path());
  EXPECT_EQ(in.read("empty").shape, (std::vector<std::size_t>{0, 4}));
  EXPECT_EQ(in.read("large").data, large);
  EXPECT_EQ(in.text_attribute("/", "long").size(), 200'000u);
  EXPECT_EQ(in.text_attribute("/", "blank"), "");
}

TEST_F(Hdf5, WriterRefusesNameInUse) {
  Hdf5Writer out;
  out.dataset("a", std::vector<double>{1}, {1});
  EXPECT_SAYS(refusal([&] { out.dataset("a", std::vector<double>{1}, {1}); }), "HDF5 dataset /a");
}

TEST_F(Hdf5, WriterRefusesDatasetUsedAsGroup) {
  Hdf5Writer out;
  out.dataset("a", std::vector<double>{1}, {1});
  EXPECT_SAYS(refusal([&] { out.dataset("a/b", std::vector<double>{1}, {1}); }), "HDF5 group /a");
}

TEST_F(Hdf5, WriterRefusesAttributeOfNothing) {
  Hdf5Writer out;
  EXPECT_SAYS(refusal([&] { out.attribute("/a", "n", 1); }), "HDF5 attribute n of /a");
}

TEST_F(Hdf5, WriterRefusesAttributeInUse) {
  Hdf5Writer out;
  out.attribute("/", "n", 1);
  EXPECT_SAYS(refusal([&] { out.attribute("/", "n", 2.0); }), "HDF5 attribute n of /");
}

TEST_F(Hdf5, WriterRefusesTextWithNul) {
  Hdf5Writer out;
  EXPECT_SAYS(refusal([&] { out.attribute("/", "n", std::string_view("a\0b", 3)); }), "NUL");
}

TEST_F(Hdf5, WriterRefusesMissingFolder) {
  EXPECT_SAYS(refusal([&] { Hdf5Writer().commit("/nowhere/x.h5"); }), "/nowhere/x.h5");
}

TEST_F(Hdf5, FullDiskIsAnError) {
  Hdf5Writer out;
  std::string message;
  {
    const FileSizeLimit limit(100);
    message = refusal([&] { out.commit(path()); });
  }
  EXPECT_SAYS(message, "File too large");
  EXPECT_FALSE(fs::exists(path()));
}

// One bit of each was flipped: the library hangs, crashes, or takes memory without end.
TEST_F(Hdf5, DamagedFilesAreErrors) {
  for (const char* name : {"film_hang.h5", "film_segv.h5", "tokens_memory.h5"}) {
    const fs::path file = fs::path(ATTRACTOR_TEST_DATA) / "damaged" / name;
    std::size_t refused = 0;
    const auto tried = [&](const auto& action) {
      const std::string message = refusal(action);
      refused += message.empty() ? 0U : 1U;
      if (message.empty()) return;
      EXPECT_SAYS(message, name);
    };
    tried([&] {
      const Hdf5Reader reader(file, 2);
      for (const std::string& path : reader.datasets()) tried([&] { reader.read(path); });
      for (const char* attribute : {"format", "command", "parameters", "status"})
        tried([&] { reader.text_attribute("/", attribute); });
    });
    EXPECT_GT(refused, 0U) << name;
  }
}

TEST_F(Hdf5, LargeArraysComeInBlocks) {
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{3, 1500, 1000}, {5'000'000}, {2, 2'500'000}, {2, 1, 3, 900'000}}) {
    std::size_t count = 1;
    for (const std::size_t length : shape) count *= length;
    std::vector<double> values(count);
    for (std::size_t k = 0; k < count; ++k) values[k] = static_cast<double>(k);
    Hdf5Writer out;
    out.dataset("x", values, Hdf5Writer::Shape(shape.begin(), shape.end()));
    out.commit(path());
    const Array read = Hdf5Reader(path()).read("x");
    EXPECT_EQ(read.shape, shape);
    EXPECT_TRUE(read.data == values);
  }
}

TEST_F(Hdf5, ReaderRefusesMissingFile) {
  EXPECT_SAYS(refusal([&] { Hdf5Reader{path("none")}; }), "none: no such file");
}

TEST_F(Hdf5, ReaderRefusesFolder) {
  EXPECT_SAYS(refusal([&] { Hdf5Reader{path("")}; }), "no such file");
}

TEST_F(Hdf5, ReaderRefusesOtherContent) {
  write_file(path(), "not at all");
  EXPECT_FALSE(is_hdf5(path()));
  EXPECT_SAYS(refusal([&] { Hdf5Reader{path()}; }), "x.h5: not an HDF5 file");
}

TEST_F(Hdf5, ReaderRefusesTruncatedFiles) {
  Hdf5Writer out;
  fill(out, 1);
  out.commit(path());
  const std::string whole = bytes("x.h5");
  for (const std::size_t cut :
       {std::size_t{0}, std::size_t{4}, std::size_t{8}, std::size_t{50}, std::size_t{96},
        std::size_t{800}, whole.size() / 3, whole.size() / 2, whole.size() - 1}) {
    write_file(path("cut.h5"), std::string_view(whole).substr(0, cut));
    EXPECT_SAYS(refusal([&] { Hdf5Reader{path("cut.h5")}; }), "cut.h5: ");
  }
}

TEST_F(Hdf5, ReaderNamesMissingDataset) {
  Hdf5Writer().commit(path());
  EXPECT_SAYS(refusal([&] { Hdf5Reader(path()).read("a"); }), "x.h5:/a: ");
}

TEST_F(Hdf5, ReaderRefusesGroupAsDataset) {
  Hdf5Writer out;
  out.group("a");
  out.commit(path());
  EXPECT_SAYS(refusal([&] { Hdf5Reader(path()).read("a"); }), "x.h5:/a: not a dataset");
}

TEST_F(Hdf5, ReaderRefusesStringsAsNumbers) {
  Hdf5Writer out;
  out.dataset("a", std::vector<std::string>{"1"});
  out.commit(path());
  EXPECT_SAYS(refusal([&] { Hdf5Reader(path()).read("a"); }), "neither floats nor integers");
}

TEST_F(Hdf5, ReaderRefusesAttributesOfTheWrongKind) {
  Hdf5Writer out;
  out.attribute("/", "text", "1");
  out.attribute("/", "number", 1);
  out.commit(path());
  const Hdf5Reader in(path());
  EXPECT_SAYS(refusal([&] { in.number_attribute("/", "text"); }), "not a number");
  EXPECT_SAYS(refusal([&] { in.text_attribute("/", "number"); }), "not a text");
  EXPECT_SAYS(refusal([&] { in.text_attribute("/", "none"); }), "attribute none");
}

TEST_F(Hdf5, ReadsFixedLengthAttribute) {
  make_raw(path(), [](hid_t file) {
    const hid_t type = H5Tcopy(H5T_FORTRAN_S1);
    H5Tset_size(type, 6);
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(file, "unit", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, "abc   ");
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
  });
  EXPECT_EQ(Hdf5Reader(path()).text_attribute("/", "unit"), "abc");
}

TEST_F(Hdf5, ReadsBigEndianFloatsAndCompressedChunks) {
  const std::vector<double> x(1000, -1.5);
  make_raw(path(), [&](hid_t file) {
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    const std::array<hsize_t, 2> chunk = {10, 10};
    H5Pset_chunk(list, 2, chunk.data());
    H5Pset_deflate(list, 9);
    raw_dataset(file, "x", H5T_IEEE_F32BE, {100, 10}, x.data(), list);
    H5Pclose(list);
  });
  EXPECT_EQ(Hdf5Reader(path()).read("x").data, x);
}

TEST_F(Hdf5, RefusesHugeDataspace) {
  make_raw(path(), [](hid_t file) {
    raw_dataset(file, "x", H5T_NATIVE_DOUBLE, {hsize_t{1} << 20, (hsize_t{1} << 11) + 1}, nullptr);
  });
  EXPECT_SAYS(refusal([&] { Hdf5Reader(path()).read("x"); }), "more than 2147483648 elements");
}

TEST_F(Hdf5, RefusesDeclaredDataThatAreNotStored) {
  make_raw(path(),
           [](hid_t file) { raw_dataset(file, "x", H5T_NATIVE_DOUBLE, {1 << 30}, nullptr); });
  EXPECT_SAYS(refusal([&] { Hdf5Reader(path()).read("x"); }),
              "declares 8589934592 bytes of data, stores 0");
}

TEST_F(Hdf5, RefusesChunkedDataThatAreNotStored) {
  make_raw(path(), [](hid_t file) {
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk = 1024;
    H5Pset_chunk(list, 1, &chunk);
    raw_dataset(file, "x", H5T_NATIVE_DOUBLE, {1 << 30}, nullptr, list);
    H5Pclose(list);
  });
  EXPECT_SAYS(refusal([&] { Hdf5Reader(path()).read("x"); }), "stores 0");
}

TEST_F(Hdf5, RefusesDataInOtherFiles) {
  write_file(path("secret"), std::string(16, 's'));
  make_raw(path(), [&](hid_t file) {
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(list, path("secret").c_str(), 0, 16);
    raw_dataset(file, "x", H5T_NATIVE_DOUBLE, {2}, nullptr, list);
    H5Pclose(list);
  });
  EXPECT_SAYS(refusal([&] { Hdf5Reader(path()).read("x"); }), "lie in other files");
}

TEST_F(Hdf5, DoesNotFollowLinksToOtherFiles) {
  Hdf5Writer out;
  fill(out, 1);
  out.commit(path("other.h5"));
  make_raw(path(), [&](hid_t file) {
    H5Lcreate_external(path("other.h5").c_str(), "/labels", file, "x", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/x", file, "y", H5P_DEFAULT, H5P_DEFAULT);
  });
  const Hdf5Reader in(path());
  EXPECT_TRUE(in.datasets().empty());
  EXPECT_FALSE(in.exists("x") || in.exists("y"));
  EXPECT_NE(refusal([&] { in.read("x"); }), "");
}

TEST_F(Hdf5, RefusesEmptyDataspace) {
  make_raw(path(), [](hid_t file) {
    const hid_t space = H5Screate(H5S_NULL);
    H5Dclose(
        H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  });
  EXPECT_SAYS(refusal([&] { Hdf5Reader(path()).read("x"); }), "dataspace is empty");
}

TEST_F(Hdf5, RefusesDeepNesting) {
  Hdf5Writer out;
  std::string deep;
  for (int k = 0; k < 60; ++k) deep += "/g";
  out.group(deep);
  out.commit(path());
  EXPECT_SAYS(refusal([&] { Hdf5Reader(path()).datasets(); }), "nested more than 32 deep");
}

TEST_F(Hdf5, EveryFlippedByteIsReadOrRefused) {
  Hdf5Writer out;
  out.dataset("a/x", std::vector<double>{1, 2}, {2});
  out.commit(path());
  const std::string whole = bytes("x.h5");
  // From 3, which steps over the sizes of object headers: when one of those is damaged HDF5 1.10.8
  // refuses it but loses 424 bytes of its own.
  for (std::size_t at = 3; at < whole.size(); at += 7) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    write_file(path("damaged.h5"), damaged);
    try {
      const Hdf5Reader in(path("damaged.h5"));
      for (const std::string& name : in.datasets()) EXPECT_LE(in.read(name).data.size(), 1000u);
    } catch (const Error&) {
    }
  }
}

TEST_F(Hdf5, PrintsNothingAndRestoresTheErrorSetting) {
  H5E_auto2_t before = nullptr, after = nullptr;
  void* data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &data);
  ::testing::internal::CaptureStderr();
  EXPECT_NE(refusal([&] { Hdf5Reader{path("none")}; }), "");
  Hdf5Writer().commit(path());
  EXPECT_NE(refusal([&] { Hdf5Reader(path()).read("a"); }), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  H5Eget_auto2(H5E_DEFAULT, &after, &data);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace attractor
