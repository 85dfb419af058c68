// What `attractor meanfield` says in sentences: what happened, what could not be done and what to
// do about it, and what a reader of its numbers must know.
#pragma once

#include <string>
#include <vector>

#include "attractor/commands/density/meanfield_record.hpp"

namespace attractor::lab {

std::string meanfield_headline(const MeanfieldSetup& p, const MeanfieldKind& kind,
                               const MeanfieldRecord& record);

/// Empty: the run is an answer.
std::string what_failed(const MeanfieldSetup& p, const MeanfieldKind& kind,
                        const MeanfieldRecord& record);

std::vector<std::string> meanfield_remarks(const MeanfieldSetup& p, const MeanfieldKind& kind,
                                           const MeanfieldRecord& record);

}  // namespace attractor::lab
