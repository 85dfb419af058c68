// Text for HTML pages.
#pragma once

#include <string>
#include <string_view>

namespace attractor::report {

/// The text itself: & < > " ' are escaped.
std::string html_text(std::string_view text);

/// The markup of figures (figure.hpp): escaped, ^{...} raised, _{...} lowered.
std::string html_markup(std::string_view text);

}  // namespace attractor::report
