// How wide a terminal is, and a sentence on it.
#pragma once

#include <cstddef>
#include <string_view>

namespace attractor::apps {

/// Columns of the terminal behind a file descriptor; what COLUMNS says, or 80, if there is none.
std::size_t terminal_width(int descriptor);

/// Of help and answers on standard output: COLUMNS decides first, so that a script can ask for a
/// width.
std::size_t text_width();

/// "attractor: SENTENCE" on standard error, in one line whatever the sentence holds. Never throws:
/// a terminal that is gone is no trouble of the run.
void say(std::string_view sentence);

}  // namespace attractor::apps
