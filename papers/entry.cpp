#include "papers/entry.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attractor::papers {

Check near(std::string what, double got, double expected, double within, std::string why) {
  return {std::move(what), got, expected - within, expected + within, std::move(why)};
}

Check near_relative(std::string what, double got, double expected, double share, std::string why) {
  return near(std::move(what), got, expected, share * std::abs(expected), std::move(why));
}

Check between(std::string what, double got, double least, double most, std::string why) {
  return {std::move(what), got, least, most, std::move(why)};
}

Check at_least(std::string what, double got, double least, std::string why) {
  return {std::move(what), got, least, HUGE_VAL, std::move(why)};
}

Check at_most(std::string what, double got, double most, std::string why) {
  return {std::move(what), got, -HUGE_VAL, most, std::move(why)};
}

bool Finding::agrees() const {
  return !checks.empty() &&
         std::all_of(checks.begin(), checks.end(), [](const Check& c) { return c.agrees(); });
}

}  // namespace attractor::papers
