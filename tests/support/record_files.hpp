// Records of runs as files, as the program writes them.
#pragma once

#include <filesystem>

#include "attractor/experiment/bridge_answer.hpp"
#include "attractor/experiment/flow_answer.hpp"
#include "attractor/experiment/select_answer.hpp"

namespace attractor::experiment {

inline Answer answer_of(const FlowRecord& record) { return flow_answer(record); }
inline Answer answer_of(const SelectRecord& record) { return select_answer(record); }
inline Answer answer_of(const BridgeRecord& record) { return bridge_answer(record); }

inline std::string program_of(const FlowRecord&) { return "attractor flow"; }
inline std::string program_of(const SelectRecord&) { return "attractor select"; }
inline std::string program_of(const BridgeRecord&) { return "attractor bridge"; }

/// Calls use(answer, question) with what a record's command would be.
template <class Record, class Use>
auto with_answer(const Record& record, const Use& use) {
  auto now = record.parameters;
  decltype(now) usual{};
  return use(answer_of(record), Question{program_of(record), list(now), list(usual)});
}

template <class Record>
void write_result_file(const Record& record, const std::filesystem::path& file) {
  with_answer(record, [&](const Answer& a, const Question& q) { write_arrays(a, q, file); });
}

template <class Record>
void write_record_page(const Record& record, const std::filesystem::path& directory) {
  with_answer(record, [&](const Answer& a, const Question& q) { write_page(a, q, directory); });
}

template <class Record>
void write_record(const Record& record, double seconds, const std::filesystem::path& directory) {
  with_answer(record,
              [&](const Answer& a, const Question& q) { write_answer(a, q, seconds, directory); });
}

template <class Record>
Json summary_of(const Record& record, double seconds) {
  return with_answer(record,
                     [&](const Answer& a, const Question& q) { return summary(a, q, seconds); });
}

}  // namespace attractor::experiment
