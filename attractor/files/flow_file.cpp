#include "attractor/files/flow_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/lab/json.hpp"

namespace attractor::lab {

FlowRecord read_flow(const std::filesystem::path& run) {
  const Hdf5Reader file(std::filesystem::is_directory(run) ? run / "result.h5" : run);
  if (!file.exists("/snapshots/positions"))
    throw Error(fmt::format("{} holds no snapshots; a film needs a run of flow", run.string()));
  const Array positions = file.read("/snapshots/positions");
  const std::vector<double> times = file.read("/snapshots/log10_time").data,
                            clusters = file.read("/snapshots/clusters").data;
  const std::size_t frames = times.size();
  if (positions.shape.size() != 3 || positions.shape[0] != frames || positions.data.empty() ||
      clusters.size() != frames * positions.shape[1])
    throw Error(fmt::format("{} holds snapshots of different sizes", run.string()));
  for (const double x : positions.data)
    if (!std::isfinite(x)) throw Error(fmt::format("{} holds the position {}", run.string(), x));
  for (const double t : times)  // t = 0 is -infinity here
    if (std::isnan(t) || t == kInfinity)
      throw Error(fmt::format("{} holds a snapshot at log10_time {}", run.string(), t));
  for (const double label : clusters)
    if (!(label >= 0 && label < static_cast<double>(positions.shape[1])))
      throw Error(fmt::format("{} holds the cluster {}; allowed: 0 to {}", run.string(), label,
                              positions.shape[1] - 1));
  FlowRecord record{.tokens = positions.shape[1], .dim = positions.shape[2]};
  const Json parameters = Json::parse_or_null(file.text_attribute("/", "parameters"));
  if (parameters.is_object())
    record.setup.space = find_named<depth::Geometry>(parameters.value("space", "sphere"))
                             .value_or(depth::Geometry::sphere);
  const std::size_t size = record.tokens * record.dim;
  for (std::size_t k = 0; k < frames; ++k) {
    const auto begin = static_cast<std::ptrdiff_t>(k * size),
               first = static_cast<std::ptrdiff_t>(k * record.tokens);
    Snapshot& s = record.snapshots.emplace_back();
    s.time = std::isfinite(times[k]) ? flow::Time(1, times[k] * std::numbers::ln10) : flow::Time(0);
    s.positions.assign(positions.data.begin() + begin,
                       positions.data.begin() + begin + static_cast<std::ptrdiff_t>(size));
    for (std::size_t i = 0; i < record.tokens; ++i)
      s.clusters.push_back(
          static_cast<std::uint32_t>(clusters[static_cast<std::size_t>(first) + i]));
  }
  return record;
}

}  // namespace attractor::lab
