#include "papers/metastability/circle_waves.hpp"

#include <cmath>
#include <complex>
#include <numbers>

namespace attractor::papers {

std::vector<double> angles_of(std::span<const double> positions) {
  std::vector<double> angles;
  for (std::size_t i = 0; i < positions.size(); i += 2)
    angles.push_back(std::atan2(positions[i + 1], positions[i]));
  return angles;
}

double wave_growth(const FlowRecord& record, std::uint64_t k) {
  const auto moment = [k](const lab::Snapshot& snapshot) {
    std::complex<double> sum = 0;
    for (const double angle : angles_of(snapshot.positions))
      sum += std::polar(1.0, static_cast<double>(k) * angle);
    return std::abs(sum);
  };
  return std::log(moment(record.snapshots.back()) / moment(record.snapshots.front())) /
         record.time.value();
}

report::Series angle_density(std::span<const double> angles, std::size_t bins) {
  report::Series series;
  for (std::size_t k = 0; k < bins; ++k)
    add_point(series, 360 * (static_cast<double>(k) + 0.5) / static_cast<double>(bins), 0);
  for (const double angle : angles) {
    const double turn = angle / (2 * std::numbers::pi);
    const double place = (turn - std::floor(turn)) * static_cast<double>(bins);
    series.y[static_cast<std::size_t>(place) % bins] +=
        static_cast<double>(bins) / static_cast<double>(angles.size());
  }
  return series;
}

}  // namespace attractor::papers
