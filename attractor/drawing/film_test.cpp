#include "attractor/drawing/film.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "tests/support/page_test.hpp"

namespace attractor::report {
namespace {

Scene sphere() {
  Scene scene{.title = "a <film>", .labels = {"t = 0", "t = 10^{3}", "t = 10^{6}"}};
  scene.tokens = TokenScene{.shape = TokenScene::Shape::sphere,
                            .camera = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                            .palette = {kBlue},
                            .group = {0, 0},
                            .xyz = {{1, 0, 0, 0, 1, 0}, {1, 0, 0, 0.7, 0.7, 0}, {1, 0, 0, 1, 0, 0}},
                            .unit = {1, 1, 1}};
  return scene;
}

TEST(Film, TokensGlideGrowAndHaveAGrid) {
  const std::string film = film_svg(sphere(), 4);
  EXPECT_EQ(count(film, "attributeName=\"cx\""), 2u);
  EXPECT_EQ(count(film, "attributeName=\"r\""), 2u);
  EXPECT_EQ(count(film, "calcMode=\"discrete\""), 3u) << "a clock for each moment";
  EXPECT_EQ(count(film, "dur=\"5s\""), count(film, "<animate "));
  EXPECT_EQ(count(film, "<path fill=\"none\""), 2u) << "the two halves of the grid";
  EXPECT_NE(film.find("a &lt;film&gt;"), film.npos);
  // Alone small, together large: the last radius is the largest.
  const std::size_t at = film.find("attributeName=\"r\" values=\"");
  const std::string radii = film.substr(at + 26, film.find('"', at + 26) - at - 26);
  EXPECT_EQ(radii.substr(radii.rfind(';') + 1), "22") << radii;
}

TEST(Film, OtherPicturesAreLeafedThrough) {
  Scene scene{.labels = {"one", "two"}};
  scene.plane = PlaneScene{.x = {.low = 0, .high = 1}, .y = {.low = 0, .high = 1}};
  scene.plane->lines = {{.x = {{0, 1}, {1, 0}}, .y = {{0, 1}, {0, 1}}}};
  const std::string film = film_svg(scene, 2);
  EXPECT_EQ(count(film, "<animate "), 2u);
  EXPECT_EQ(count(film, "values=\"1;0;0\""), 1u);
  EXPECT_EQ(count(film, "values=\"0;1;1\""), 1u);
}

TEST(Film, FramesLieBetweenMoments) {
  const std::string start = film_frame(sphere(), 0, 640), middle = film_frame(sphere(), 0.5, 640);
  EXPECT_NE(start, middle);
  EXPECT_NE(start.find("width=\"640\""), start.npos);
  EXPECT_EQ(middle, film_frame(sphere(), 0.5, 640));
}

}  // namespace
}  // namespace attractor::report
