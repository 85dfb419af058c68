// Text of the catalogue's pages: headlines know raised text, other text does not.
#pragma once

#include <string>

namespace attractor::papers {

/// "1.8e-15" becomes "1.8·10^{−15}", which also does not break at a hyphen; "0.0e+00" becomes "0".
std::string with_powers_of_ten(const std::string& text);
/// "e^{-2t}" becomes "e^(-2t)", "10^{12}" becomes "10^12".
std::string without_markup(const std::string& text);

}  // namespace attractor::papers
