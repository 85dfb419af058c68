// How wrong a mean field is, by its twin: the same run with more modes (or labels) and shorter
// steps. Its own error is small beside that of the first (modes, steps), or smaller by a known part
// (labels), so a small multiple of their difference bounds the error of the first closely, whatever
// its cause: modes cut off, steps, rounding, and their growth in an unstable flow. Errors are those
// of all that is handed out up to a time, the worst of it.
#pragma once

#include "attractor/commands/density/meanfield_record.hpp"

namespace attractor::lab {

/// The tolerance of the twin's steps, relative to that of the run.
inline constexpr double kTwinTolerance = 1. / 8;

/// Fills record.errors, and the smallest and largest density of a density with an axis, which are
/// not told where modes do not tell it. If the error grows beyond most_error, the record ends
/// before that and is unresolved.
void judge(const MeanfieldSetup& p, const MeanfieldKind& kind, const MeanfieldRecord& twin,
           MeanfieldRecord& record);

}  // namespace attractor::lab
