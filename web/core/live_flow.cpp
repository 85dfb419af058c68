#include "web/core/live_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/observe/observation.hpp"
#include "attractor/observe/principal_axes.hpp"

namespace attractor::web {
namespace {

using lab::FlowSetup;
using lab::Json;
using lab::Settings;

constexpr double kLongAgo =
    1000;  // what follows a change takes a few units of time, which could not be told apart later
constexpr std::uint64_t kAnySteps = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kMostTokens = 50'000;
constexpr std::size_t kMostNumbers = 2'000'000;  // tokens x dim: what a page can show and keep
constexpr const char* kOfTheStart[] = {"init",      "tokens",  "dim",    "seed", "rho",
                                       "cap-angle", "centres", "spread", "mode", "amplitude",
                                       "phase",     "angles",  "space"};

void apply(FlowSetup& setup, const Settings& settings) {
  const lab::ParameterList parameters = list(setup);
  for (const auto& [name, text] : settings) find(parameters, name).set(text);
}

void require_size(std::size_t tokens, std::size_t dim) {
  if (tokens > kMostTokens || tokens * dim > kMostNumbers)
    throw Error(fmt::format(
        "{} tokens of {} numbers are too many for a page; allowed: {} tokens, {} numbers", tokens,
        dim, kMostTokens, kMostNumbers));
}

FlowSetup made(const Settings& settings) {
  FlowSetup setup;
  apply(setup, settings);
  require_size(setup.tokens, setup.dim);
  check_setup(setup);
  return setup;
}

/// Normalised where tokens live on the sphere; throws Error where there is no direction.
void place(std::span<double> x, bool on_sphere) {
  double largest = 0;
  for (const double c : x) {
    if (!std::isfinite(c)) throw Error("a position has a coordinate that is no finite number");
    largest = std::max(largest, std::abs(c));
  }
  if (!on_sphere) return;
  if (largest == 0) throw Error("a position of length 0 has no direction on the sphere");
  for (double& c : x) c /= largest;
  const double length = norm(x);
  for (double& c : x) c /= length;
}

}  // namespace

LiveFlow::LiveFlow(const Settings& settings) : setup_(made(settings)) {
  simulation_ = std::make_unique<lab::Simulation>(setup_);
  simulation_->watch_merges();
}

void LiveFlow::restart(FlowSetup setup, std::vector<double> tokens) {
  const std::size_t dim = simulation_->dim();
  require_size(tokens.size() / dim, dim);
  setup.init = Arrangement::file;
  const FlowSetup usual;  // what made the tokens is over
  setup.tokens = usual.tokens, setup.dim = usual.dim;
  setup.rho = usual.rho, setup.cap_angle = usual.cap_angle, setup.centres = usual.centres;
  setup.spread = usual.spread, setup.mode = usual.mode, setup.amplitude = usual.amplitude;
  setup.phase = usual.phase, setup.angles = {};
  setup.tokens_file = Array{{tokens.size() / dim, dim}, std::move(tokens)};
  setup.tokens_file.name = "tokens.npy";
  check_setup(setup);
  auto next = std::make_unique<lab::Simulation>(setup);
  before_ += simulation_->time().value();
  if (before_ > kLongAgo) before_ = 0;
  steps_before_ += simulation_->steps();
  simulation_ = std::move(next);
  simulation_->watch_merges();
  setup_ = std::move(setup);
  status_ = flow::Status::complete;
  ++changes_;
}

void LiveFlow::change(const Settings& settings) {
  for (const auto& [name, text] : settings)
    if (std::find(std::begin(kOfTheStart), std::end(kOfTheStart), name) != std::end(kOfTheStart))
      throw Error(fmt::format("{} says how tokens start, and these have started", name));
  FlowSetup setup = setup_;
  apply(setup, settings);
  restart(std::move(setup), positions());
}

void LiveFlow::move(std::size_t token, std::span<const double> position) {
  if (token >= simulation_->count())
    throw Error(
        fmt::format("token {} does not exist; allowed: 0 to {}", token, simulation_->count() - 1));
  if (position.size() != simulation_->dim())
    throw Error(
        fmt::format("a position has {} numbers; allowed: {}", position.size(), simulation_->dim()));
  std::vector<double> tokens = positions();
  const auto to = std::span(tokens).subspan(token * simulation_->dim(), simulation_->dim());
  std::copy(position.begin(), position.end(), to.begin());
  place(to, setup_.space == depth::Geometry::sphere);
  restart(setup_, std::move(tokens));
}

void LiveFlow::add(std::span<const double> rows) {
  const std::size_t dim = simulation_->dim();
  if (rows.empty() || rows.size() % dim != 0)
    throw Error(fmt::format("{} numbers are no tokens of dimension {}", rows.size(), dim));
  std::vector<double> tokens = positions();
  const std::size_t old = tokens.size();
  tokens.insert(tokens.end(), rows.begin(), rows.end());
  for (std::size_t at = old; at < tokens.size(); at += dim)
    place(std::span(tokens).subspan(at, dim), setup_.space == depth::Geometry::sphere);
  restart(setup_, std::move(tokens));
}

void LiveFlow::nudge() {
  std::vector<double> tokens = positions();
  for (double& c : tokens) c = std::nextafter(c, kInfinity);
  restart(setup_, std::move(tokens));
}

double LiveFlow::log10_time() const {
  const flow::Time& now = simulation_->time();
  return before_ == 0 ? now.log() / std::numbers::ln10 : std::log10(before_ + now.value());
}

Json LiveFlow::moment() const {
  return {{"time", lab::number(before_ + simulation_->time().value())},
          {"log10_time", lab::number(log10_time())},
          {"changed_at", before_},
          {"steps", steps_before_ + simulation_->steps()},
          {"rejected", simulation_->rejected()},
          {"distinct", simulation_->distinct()},
          {"status", name(status_)}};
}

std::string LiveFlow::repeating_command() const {
  FlowSetup setup = setup_;
  const double time = simulation_->time().value();
  if (status_ == flow::Status::collapsed)
    setup.time = kInfinity;
  else
    setup.time = time;
  return command(setup);
}

Json LiveFlow::axes() const {
  const std::vector<double> x = positions();
  return observe::principal_axes(x, simulation_->dim(), 3).axes;
}

Json LiveFlow::facts() const {
  return {{"tokens", simulation_->count()},
          {"dim", simulation_->dim()},
          {"engine", simulation_->engine()},
          {"cluster_cosine", cluster_cosine_of(setup_)},
          {"beta", setup_.beta},
          {"changes", changes_},
          {"needs_tokens", changes_ > 0},
          {"command", repeating_command()},
          {"moment", moment()}};
}

Json LiveFlow::advance(const Advance& wanted) {
  using Clock = std::chrono::steady_clock;
  const auto end =
      Clock::now() + std::chrono::duration<double, std::milli>(std::min(wanted.milliseconds, 1e9));
  const flow::Time until(std::max(0.0, wanted.until - before_));
  if (std::isnan(wanted.until)) throw Error("until is no number");
  const auto stop = [&] { return !(simulation_->time() < until) || Clock::now() >= end; };
  if (simulation_->time() < until) {
    const flow::Status now = simulation_->step(wanted.steps > 0 ? wanted.steps : kAnySteps, stop);
    status_ = now == flow::Status::interrupted ? flow::Status::complete : now;
  }
  return moment();
}

Json LiveFlow::observation(bool thorough) const {
  const observe::Observation o = simulation_->observe(thorough);
  Json values = Json::object();
  for (const observe::Column& column : observe::columns())
    values[column.name] = lab::number(o.*column.value);
  values["time"] = lab::number(before_ + simulation_->time().value());
  values["log10_time"] = lab::number(log10_time());
  return values;
}

Json LiveFlow::tree() const {
  Json merges = Json::array();
  for (const observe::Linkage& m : simulation_->merges()) {
    Json row = Json::array();
    row.push_back(m.left), row.push_back(m.right), row.push_back(m.size);
    const double log10 =
        before_ == 0 ? m.time.log() / std::numbers::ln10 : std::log10(before_ + m.time.value());
    row.push_back(lab::number(log10));
    merges.push_back(std::move(row));
  }
  return merges;
}

}  // namespace attractor::web
