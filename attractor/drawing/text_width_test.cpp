#include "attractor/drawing/text_width.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace attractor::report {
namespace {

// Advances of DejaVu Sans 2.37 in units of 1/2048 of the font's size.
TEST(TextWidth, AsTheFontSays) {
  EXPECT_NEAR(text_width("M", 2048), 1767, 1);
  EXPECT_NEAR(text_width("il.", 2048), 569 + 569 + 651, 2);
  EXPECT_NEAR(text_width("0123456789", 2048), 10 * 1303, 10);
  EXPECT_GE(text_width("βλΣ−·⟨é中", 2048), 0.5 * 2048 * 8 * 0.8);
}

TEST(TextWidth, ScriptsAreSmaller) {
  EXPECT_LT(text_width("10^{12}", 10), text_width("1012", 10));
  EXPECT_GT(text_width("10^{12}", 10), text_width("10", 10));
  EXPECT_NEAR(text_width("x_{1}y", 10), text_width("xy", 10) + 0.72 * text_width("1", 10), 1e-9);
}

TEST(Wrapped, LinesFitAndNoWordIsLost) {
  const std::string words = "share of pairs with cosine ≥ 0.999 and e^{a b c} too";
  for (const double width : {40.0, 90.0, 200.0, 1000.0}) {
    const std::vector<std::string> lines = wrapped(words, width, 12);
    std::string joined;
    for (const std::string& line : lines) {
      joined += (joined.empty() ? "" : " ") + line;
      const bool one = line.find(' ') == line.npos || line == "e^{a b c}";
      EXPECT_TRUE(text_width(line, 12) <= width || one) << line;
    }
    EXPECT_EQ(joined, words);
  }
  EXPECT_EQ(wrapped(words, 1000, 12).size(), 1u);
}

// Whatever is raised or lowered, the pen comes back to its line.
TEST(SvgMarkup, EscapesAndComesBack) {
  EXPECT_EQ(svg_markup("a<b & 'c'", 12), "a&lt;b &amp; ’c’");
  const std::string text = svg_markup("10^{12} x_{i}^{2} end", 10);
  double height = 0;
  for (std::size_t at = 0; (at = text.find("dy=\"", at)) != std::string::npos; ++at)
    height += std::stod(text.substr(at + 4));
  EXPECT_NEAR(height, 0, 1e-9) << text;
  EXPECT_EQ(text.find('{'), text.npos);
  EXPECT_EQ(svg_markup("5^{", 10), "5^{");  // not closed: text
}

}  // namespace
}  // namespace attractor::report
