// Text of the catalogue's pages: headlines know raised text, other text does not.
#pragma once

#include <string>

namespace attractor::papers {

/// "e^{-2t}" becomes "e^(-2t)", "10^{12}" becomes "10^12".
std::string without_markup(const std::string& text);

}  // namespace attractor::papers
