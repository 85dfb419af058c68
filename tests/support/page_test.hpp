// Tests of pages: a directory of their own, and what a page says.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "attractor/base/file.hpp"

namespace attractor {

inline std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

inline bool has(const std::string& text, std::string_view part) { return count(text, part) > 0; }

/// Of a file: what a page must not take as markup.
inline constexpr const char* kHostileName = "</pre><b>'\"&^{x}.json";
inline void expect_escaped(const std::string& page) {
  EXPECT_FALSE(has(page, "<b>"));
  EXPECT_TRUE(has(page, "&lt;/pre&gt;&lt;b&gt;&#39;&quot;&amp;^{x}.json"));
}

class PageTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::path(testing::TempDir()) /
                 (std::string(test->test_suite_name()) + "_" + test->name());
    std::filesystem::remove_all(directory_);
    make_directory(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// The page that `write` leaves in the directory.
  std::string written(const std::function<void()>& write) {
    write();
    return read_file(directory_ / "index.html", 1 << 26);
  }

  /// `write(path)` makes the same bytes twice.
  void expect_same_file(const std::function<void(const std::filesystem::path&)>& write) {
    write(directory_ / "a.h5");
    write(directory_ / "b.h5");
    EXPECT_EQ(read_file(directory_ / "a.h5", 1 << 26), read_file(directory_ / "b.h5", 1 << 26));
  }

  std::filesystem::path directory_;
};

}  // namespace attractor
