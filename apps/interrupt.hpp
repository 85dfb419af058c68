// Ctrl-C and SIGTERM ask a run to stop; a second one ends the program at once.
#pragma once

namespace attractor::apps {

void catch_interrupts();
bool interrupted();

}  // namespace attractor::apps
