// Studies and journal lines: any bytes are parsed or refused with an Error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/study/journal.hpp"
#include "attractor/study/study.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attractor::lab;
  const std::string text(reinterpret_cast<const char*>(data), size);
  UnitResult result;
  parse_journal_line(text, result);
  try {
    const Study study = parse_study(text, "fuzz");
    (void)study.settings(study.points() - 1, study.replicates - 1);
  } catch (const attractor::Error&) {
  }
  return 0;
}
