// Records of runs as files, as the program writes them.
#pragma once

#include <filesystem>

#include "attractor/commands/bridge/bridge_result.hpp"
#include "attractor/commands/flow/flow_figures.hpp"
#include "attractor/commands/flow/flow_page.hpp"
#include "attractor/commands/flow/flow_result.hpp"
#include "attractor/commands/select/select_result.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/files/result_file.hpp"

namespace attractor::lab {

inline Result result_of(const FlowRecord& record) { return flow_result(record); }
inline Result result_of(const SelectRecord& record) { return select_result(record); }
inline Result result_of(const BridgeRecord& record) { return bridge_result(record); }

inline std::string program_of(const FlowRecord&) { return "attractor flow"; }
inline std::string program_of(const SelectRecord&) { return "attractor select"; }
inline std::string program_of(const BridgeRecord&) { return "attractor bridge"; }

/// Calls use(result, call) with what a record's command would be.
template <class Record, class Use>
auto with_result(const Record& record, const Use& use) {
  auto now = record.setup;
  decltype(now) usual{};
  return use(result_of(record), Call{program_of(record), list(now), list(usual)});
}

template <class Record>
void write_result_file(const Record& record, const std::filesystem::path& file) {
  with_result(record, [&](const Result& a, const Call& q) { write_arrays(a, q, file); });
}

/// What a page shows, without the numbers beside it: also of records that no run leaves.
inline Result page_of(const FlowRecord& r) {
  return {.title = flow_title(r),
          .headline = headline(r, flow_view(r)),
          .draw = [&r] { return flow_figures(r, flow_view(r)); },
          .page = [&r] { return flow_page(r, flow_view(r)); },
          .footer = r.engine};
}
inline Result page_of(const SelectRecord& r) { return select_result(r); }
inline Result page_of(const BridgeRecord& r) { return bridge_result(r); }

template <class Record>
void write_record_page(const Record& record, const std::filesystem::path& directory) {
  auto now = record.setup;
  decltype(now) usual{};
  write_page(page_of(record), {program_of(record), list(now), list(usual)}, directory);
}

template <class Record>
void write_record(const Record& record, double seconds, const std::filesystem::path& directory) {
  with_result(record,
              [&](const Result& a, const Call& q) { write_result(a, q, seconds, directory); });
}

template <class Record>
Json summary_of(const Record& record, double seconds) {
  return with_result(record,
                     [&](const Result& a, const Call& q) { return summary(a, q, seconds); });
}

}  // namespace attractor::lab
