// How wide a terminal is.
#pragma once

#include <cstddef>

namespace attractor::apps {

/// Columns of the terminal behind a file descriptor; what COLUMNS says, or 80, if there is none.
std::size_t terminal_width(int descriptor);

/// Of help and answers on standard output: COLUMNS decides first, so that a script can ask for a
/// width.
std::size_t text_width();

}  // namespace attractor::apps
