#include "apps/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace attractor::apps {
namespace {

constexpr std::size_t kUsualWidth = 80, kLeastHelp = 40;

std::size_t columns_of_environment() {
  const char* columns = std::getenv("COLUMNS");
  const int width = columns != nullptr ? std::atoi(columns) : 0;
  return width > 0 ? static_cast<std::size_t>(width) : 0;
}

}  // namespace

std::size_t terminal_width(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::size_t width = columns_of_environment();
  return width > 0 ? width : kUsualWidth;
}

std::size_t text_width() {
  const std::size_t asked = columns_of_environment();
  const std::size_t width = asked > 0 ? asked : terminal_width(STDOUT_FILENO);
  return width >= kLeastHelp ? width : kUsualWidth;
}

void say(std::string_view sentence) {
  std::string line = "attractor: ";
  for (const char c : sentence) {
    const auto byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  std::fputs((line + "\n").c_str(), stderr);
}

}  // namespace attractor::apps
