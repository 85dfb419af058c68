// What a page may ask of the core, by name, with JSON in and out: the whole of the boundary but for
// arrays of positions. Every call is a function of its request and of the one live flow of this
// core; a page that wants two flows has two cores, each in a worker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "web/core/live_flow.hpp"

namespace attractor::web {

class Core {
 public:
  /// {"call": name, ...} -> {"ok": true, "value": ...} or {"ok": false, "error": one sentence}.
  /// Never throws.
  std::string call(std::string_view request);

  /// Of the live flow after the last call that moved it: tokens x dim, and the cluster of each
  /// token.
  const std::vector<double>& positions() const { return positions_; }
  const std::vector<std::uint32_t>& clusters() const { return clusters_; }

 private:
  lab::Json answer(const lab::Json& request);
  lab::Json flow_call(std::string_view name, const lab::Json& request);
  LiveFlow& live();
  void keep();

  std::unique_ptr<LiveFlow> flow_;
  std::vector<double> positions_;
  std::vector<std::uint32_t> clusters_;
};

}  // namespace attractor::web
