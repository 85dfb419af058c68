#include "attractor/base/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <vector>

#include "attractor/base/error.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

namespace fs = std::filesystem;

class File : public ::testing::Test {
 protected:
  File() : folder_(fs::path(::testing::TempDir()) / ("file_test_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~File() override { fs::remove_all(folder_); }

  fs::path at(const std::string& name) const { return folder_ / name; }

  /// Names in the folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_))
      all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }

  const fs::path folder_;
};

using Names = std::vector<std::string>;

// The content by another way than read_file.
std::string content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(File, NothingIsVisibleBeforeTheCommit) {
  const fs::path target = at("result");
  AtomicFile file(target);
  file.write("first ");
  EXPECT_FALSE(fs::exists(target));
  file.write("second");
  EXPECT_FALSE(fs::exists(target));
  file.commit();
  EXPECT_EQ(content(target), "first second");
  EXPECT_EQ(names(), Names{"result"});
}

TEST_F(File, TheOldContentStaysUntilTheCommit) {
  const fs::path target = at("result");
  write_file(target, "old and longer");
  AtomicFile file(target);
  file.write("new");
  EXPECT_EQ(content(target), "old and longer");
  file.commit();
  EXPECT_EQ(content(target), "new");
}

TEST_F(File, WithoutACommitNothingIsLeftAndTheOldContentIsKept) {
  { AtomicFile(at("fresh")).write("never seen"); }
  EXPECT_EQ(names(), Names{});
  write_file(at("result"), "old");
  {
    AtomicFile file(at("result"));
    file.write("never seen");
  }
  EXPECT_EQ(content(at("result")), "old");
  EXPECT_EQ(names(), Names{"result"});
}

TEST_F(File, AnInterruptedEarlierWriteDoesNotShowInTheResult) {
  std::ofstream(at("result.partial")) << "a long half of a result whose writer was killed";
  write_file(at("result"), "short");
  EXPECT_EQ(content(at("result")), "short");
  EXPECT_EQ(names(), Names{"result"});
}

TEST_F(File, WritersOfOneNameDoNotDisturbEachOther) {
  AtomicFile first(at("result")), second(at("result")), third(at("result"));
  first.write("first");
  second.write("the second");
  third.write("never seen");
  second.commit();
  EXPECT_EQ(content(at("result")), "the second");
  first.commit();
  EXPECT_EQ(content(at("result")), "first");
  EXPECT_EQ(names(), (Names{"result", "result.2.partial"}));
}

TEST_F(File, ManyProcessesMayWriteOneNameAtTheSameTime) {
  constexpr int kWriters = 12, kTimes = 40;
  std::vector<pid_t> children;
  for (int w = 0; w < kWriters; ++w) {
    const pid_t child = ::fork();
    if (child == 0) {
      int failed = 0;
      for (int k = 0; k < kTimes; ++k) {
        try {
          write_file(at("result"), std::string(5000, static_cast<char>('a' + w)));
        } catch (const Error&) {
          ++failed;
        }
      }
      ::_exit(failed);
    }
    ASSERT_GT(child, 0);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const std::string whole = content(at("result"));
  EXPECT_EQ(whole, std::string(5000, whole.empty() ? '?' : whole[0]));
  EXPECT_EQ(names(), Names{"result"});
}

TEST_F(File, APlantedLinkIsNotFollowed) {
  std::ofstream(at("victim")) << "precious";
  fs::create_symlink(at("victim"), at("result.partial"));
  write_file(at("result"), "text");
  EXPECT_EQ(content(at("victim")), "precious");
  EXPECT_EQ(content(at("result")), "text");
  EXPECT_TRUE(fs::is_symlink(at("result.partial")));
}

TEST_F(File, ALinkOfTheUserIsKept) {
  fs::create_directory(at("elsewhere"));
  std::ofstream(at("elsewhere/real")) << "old";
  fs::create_symlink(at("elsewhere/real"), at("link"));
  write_file(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(content(at("elsewhere/real")), "new");
  fs::create_symlink(at("missing"), at("dangling"));
  EXPECT_SAYS(refusal([&] { write_file(at("dangling"), "text"); }), "a link to nothing");
}

TEST_F(File, OnlyFilesAreReplaced) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_SAYS(refusal([&] { write_file(at("pipe"), "text"); }), "is a pipe");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  EXPECT_SAYS(refusal([&] { write_file("/dev/null", "text"); }), "/dev/null is a device");
  EXPECT_EQ(names(), Names{"pipe"});
}

TEST_F(File, EveryByteComesBack) {
  std::string bytes;
  for (std::uint64_t k = 0; k < 300000; ++k) bytes += static_cast<char>(k * k >> 3);
  write_file(at("bytes"), bytes);
  EXPECT_TRUE(content(at("bytes")) == bytes);
  EXPECT_TRUE(read_file(at("bytes"), bytes.size()) == bytes);
  write_file(at("empty"), "");
  EXPECT_TRUE(fs::exists(at("empty")));
  EXPECT_EQ(read_file(at("empty"), 0), "");
}

TEST_F(File, AWriteThatFailsIsAnErrorAndReplacesNothing) {
  write_file(at("result"), "old");
  std::string message;
  {
    const FileSizeLimit limit(100'000);
    message = refusal([&] {
      AtomicFile file(at("result"));
      for (int k = 0; k < 50; ++k) file.write(std::string(7777, 'x'));
      file.commit();
    });
  }
  EXPECT_SAYS(message, at("result").string());
  EXPECT_SAYS(message, "File too large");
  EXPECT_SAYS(message, "nothing was replaced");
  EXPECT_EQ(content(at("result")), "old");
  EXPECT_EQ(names(), Names{"result"});
  // The limit is gone: the same write succeeds.
  write_file(at("result"), std::string(50 * 7777, 'x'));
  EXPECT_EQ(fs::file_size(at("result")), 50U * 7777U);
}

TEST_F(File, AWriteUpToTheLimitSucceeds) {
  std::string message;
  {
    const FileSizeLimit limit(100'000);
    message = refusal([&] { write_file(at("result"), std::string(100'000, 'x')); });
  }
  EXPECT_EQ(message, "");
  EXPECT_EQ(fs::file_size(at("result")), 100'000U);
}

TEST_F(File, APlaceThatCannotBeWrittenIsAnError) {
  EXPECT_SAYS(refusal([&] { AtomicFile file(at("nowhere/result")); }), "nowhere/result");
  write_file(at("plain"), "text");
  EXPECT_NE(refusal([&] { AtomicFile file(at("plain/result")); }), "");
  EXPECT_NE(refusal([&] { write_file(at(std::string(300, 'n')), "text"); }), "");
  EXPECT_EQ(names(), Names{"plain"});
}

TEST_F(File, ADirectoryIsNotReplaced) {
  fs::create_directory(at("taken"));
  EXPECT_SAYS(refusal([&] { write_file(at("taken"), "text"); }), "taken");
  EXPECT_TRUE(fs::is_directory(at("taken")));
  EXPECT_EQ(names(), Names{"taken"});
}

TEST_F(File, ASecondCommitOrALateWriteIsAnErrorAndKeepsTheResult) {
  AtomicFile file(at("result"));
  file.write("text");
  file.commit();
  EXPECT_NE(refusal([&] { file.write("more"); }), "");
  EXPECT_NE(refusal([&] { file.commit(); }), "");
  EXPECT_EQ(content(at("result")), "text");
}

TEST_F(File, ReadingRefusesWhatIsNotAFileWithinTheLimit) {
  write_file(at("five"), "12345");
  EXPECT_EQ(read_file(at("five"), 5), "12345");
  const std::string large = refusal([&] { read_file(at("five"), 4); });
  EXPECT_SAYS(large, at("five").string());
  EXPECT_SAYS(large, "5 bytes");
  EXPECT_SAYS(large, "at most 4");
  EXPECT_SAYS(refusal([&] { read_file(at("missing"), 9); }), "missing: no such file");
  EXPECT_SAYS(refusal([&] { read_file(at("five/inside"), 9); }), "no such file");
  EXPECT_SAYS(refusal([&] { read_file("", 9); }), "no such file");
  EXPECT_SAYS(refusal([&] { read_file(folder_, 9); }), "not a file");
  EXPECT_SAYS(refusal([&] { read_file("/dev/zero", 9); }), "not a file");
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_SAYS(refusal([&] { read_file(at("pipe"), 9); }), "not a file");
  fs::create_symlink(at("missing"), at("dangling"));
  EXPECT_SAYS(refusal([&] { read_file(at("dangling"), 9); }), "no such file");
  fs::create_symlink(at("five"), at("link"));
  EXPECT_EQ(read_file(at("link"), 5), "12345");
}

TEST_F(File, ReadingRefusesWithoutTakingTheMemoryOfAHugeFile) {
  std::ofstream(at("sparse")).put('x');
  fs::resize_file(at("sparse"), std::uintmax_t{1} << 33);
  EXPECT_SAYS(refusal([&] { read_file(at("sparse"), 1 << 20); }), "at most 1048576");
}

TEST_F(File, ADirectoryIsMadeWithItsParentsAndMayExist) {
  make_directory(at("a/b/c"));
  EXPECT_TRUE(fs::is_directory(at("a/b/c")));
  make_directory(at("a/b/c"));
  make_directory(at("a/b/c/"));
  write_file(at("a/b/c/kept"), "text");
  make_directory(at("a/b"));
  EXPECT_EQ(content(at("a/b/c/kept")), "text");
  fs::create_directory_symlink(at("a"), at("link"));
  make_directory(at("link"));
  make_directory(at("link/d"));
  EXPECT_TRUE(fs::is_directory(at("a/d")));
}

TEST_F(File, NoDirectoryIsMadeOverOrThroughAFile) {
  write_file(at("plain"), "text");
  EXPECT_SAYS(refusal([&] { make_directory(at("plain")); }), at("plain").string());
  EXPECT_SAYS(refusal([&] { make_directory(at("plain/below")); }), "cannot make the directory");
  EXPECT_SAYS(refusal([&] { make_directory(""); }), "cannot make the directory");
  fs::create_symlink(at("missing"), at("dangling"));
  EXPECT_SAYS(refusal([&] { make_directory(at("dangling")); }), "dangling");
  EXPECT_EQ(content(at("plain")), "text");
}

TEST_F(File, ATooSmallDiskIsRefusedBeforehand) {
  const double available = static_cast<double>(fs::space(folder_).available);
  EXPECT_EQ(refusal([&] { require_space(folder_, 0); }), "");
  EXPECT_EQ(refusal([&] { require_space(folder_, available / 2); }), "");
  const std::string message = refusal([&] { require_space(folder_, 1e24); });
  EXPECT_SAYS(message, folder_.string());
  EXPECT_SAYS(message, "needs 1000000000000000000.0 MB");
  EXPECT_NE(refusal([&] { require_space(folder_, std::numeric_limits<double>::infinity()); }), "");
}

}  // namespace
}  // namespace attractor
