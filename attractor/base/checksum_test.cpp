#include "attractor/base/checksum.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace attractor {
namespace {

std::uint64_t of(std::string_view text) {
  Checksum sum;
  sum.add(text);
  return sum.value();
}

TEST(Checksum, DoesNotDependOnHowBytesAreHandedIn) {
  const std::string text = "forty-two bytes, more or less, of any text";
  for (std::size_t a = 0; a <= text.size(); ++a)
    for (std::size_t b = a; b <= text.size(); ++b) {
      Checksum parts;
      parts.add(std::string_view(text).substr(0, a));
      parts.add(std::string_view(text).substr(a, b - a));
      parts.add(std::string_view(text).substr(b));
      ASSERT_EQ(parts.value(), of(text)) << a << " " << b;
    }
}

TEST(Checksum, TellsEveryBitAndEveryLengthApart) {
  const std::string text(41, '\0');
  std::set<std::uint64_t> seen;
  for (std::size_t size = 0; size <= text.size(); ++size)
    EXPECT_TRUE(seen.insert(of(std::string_view(text).substr(0, size))).second) << size;
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string turned = text;
    turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(seen.insert(of(turned)).second) << bit;
  }
}

TEST(Checksum, CountsArraysOneByOne) {
  const std::vector<double> one = {1}, two = {1, 2}, three = {2, 3}, last = {3};
  Checksum left, right;
  left.add_all(std::span(two));
  left.add_all(std::span(last));
  right.add_all(std::span(one));
  right.add_all(std::span(three));
  EXPECT_NE(left.value(), right.value());
}

}  // namespace
}  // namespace attractor
