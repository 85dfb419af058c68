// Ctrl-C and SIGTERM ask a run to stop; a second one ends the program at once. A terminal that is
// closed (SIGHUP) asks too, unless nohup has started us.
#pragma once

namespace attractor::apps {

void catch_interrupts();
bool interrupted();

}  // namespace attractor::apps
