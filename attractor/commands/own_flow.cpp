#include "attractor/commands/own_flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/flow/lengths.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/lab/flow/output_times.hpp"

namespace attractor::lab {
namespace {

constexpr std::size_t kMostKept = std::size_t{1} << 28;  // numbers of positions

class FunctionFlow final : public flow::Flow {
 public:
  FunctionFlow(const OwnFlow& own, const OwnFlowSetup& setup)
      : own_(own), setup_(setup), space_(make_space(setup.space, own.dim)) {}

  const Space& space() const override { return *space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override {
    drift_at(flow::Time(0), state, log_unit, out);
  }
  void drift_at(const flow::Time& now, std::span<const double> state, double log_unit,
                std::span<double> out) const override {
    own_.drift(now.value(), state, out);
    const double unit = std::exp(log_unit);
    for (double& c : out) c *= unit;
    const std::size_t dim = own_.dim;
    for (std::size_t k = 0; k < out.size(); k += dim)
      space_->project(state.subspan(k, dim), out.subspan(k, dim));
  }
  void increment_at(const flow::Time& now, std::span<const double> state, double log_unit,
                    std::span<double> out) const override {
    drift_at(now, state, log_unit, out);
  }
  bool autonomous() const override { return own_.autonomous; }
  flow::NoiseLaw noise() const override { return {.own = setup_.noise}; }
  flow::Balance balance(std::span<const double> state, std::span<const double> drift,
                        double log_unit) const override {
    const double speed = flow::largest_length(*space_, drift, state) * std::exp(-log_unit);
    const bool rests = speed <= setup_.rest.value_or(100 * setup_.tolerance);
    return {.pull = rests ? std::exp(log_unit) : 0.0, .by_rounding = rests};
  }

 private:
  static std::unique_ptr<Space> make_space(OwnSpace kind, std::size_t dim) {
    if (kind == OwnSpace::sphere) return std::make_unique<Sphere>(dim);
    return std::make_unique<Euclidean>(dim);
  }

  const OwnFlow& own_;
  const OwnFlowSetup& setup_;
  std::unique_ptr<Space> space_;
};

// ---- What is asked.

flow::Method method_of(const OwnFlowSetup& p) {
  return p.stepper.value_or(p.noise > 0 ? flow::Method::euler_maruyama : flow::Method::adaptive);
}

void refuse_if(bool wrong, const std::string& sentence) {
  if (wrong) throw Error(sentence);
}

void check_own(const OwnFlow& own, const OwnFlowSetup& p) {
  check_setup(p);
  const flow::Tableau method = flow::tableau(method_of(p));
  refuse_if(own.dim == 0 || own.points.empty(), "points is empty; give n x d numbers");
  refuse_if(p.space == OwnSpace::sphere && own.dim < 2,
            "points have dimension 1; on the sphere at least 2");
  refuse_if(
      !std::all_of(own.points.begin(), own.points.end(), [](double x) { return std::isfinite(x); }),
      "points holds a number that is not finite");
  refuse_if(p.noise > 0 && !method.stochastic,
            fmt::format("noise needs stepper euler-maruyama, not {}", name(method_of(p))));
  refuse_if(std::isinf(p.time) && !method.adaptive(),
            fmt::format("time = inf needs an adaptive stepper, not {}", name(method_of(p))));
  const Spacing spacing = p.output_spacing.value_or(Spacing::steps);
  refuse_if(std::isinf(p.time) && spacing != Spacing::steps,
            fmt::format("output-spacing {} needs a finite time", name(spacing)));
  refuse_if(!p.at.empty() && p.output_spacing.has_value(),
            "at says when, and output-spacing too; give one of them");
  refuse_if(!std::is_sorted(p.at.begin(), p.at.end()), "at is not in ascending order");
  const double last = p.at.empty() ? 0 : p.at.values.back();
  refuse_if(last > p.time, fmt::format("at ends with {}, after time = {}", last, p.time));
  refuse_if(!method.adaptive() && p.time / p.step > static_cast<double>(p.max_steps),
            fmt::format("time / step = {:.3g} steps; at most max-steps = {} are allowed",
                        p.time / p.step, p.max_steps));
}

flow::Plan plan_for(const OwnFlowSetup& p) {
  flow::Plan plan{.end = flow::Time(p.time),
                  .tolerance = p.tolerance,
                  .step = p.step,
                  .max_steps = p.max_steps,
                  .noise = {.seed = p.seed, .substeps = p.noise_substeps}};
  const bool endless = std::isinf(p.time);
  const Spacing spacing =
      p.output_spacing.value_or(endless && p.at.empty() ? Spacing::steps : Spacing::linear);
  if (!p.at.empty()) {
    for (const double t : p.at) plan.outputs.emplace_back(t);
  } else if (spacing == Spacing::steps) {
    plan.output_every_step = true;
  } else if (p.time == 0) {
    plan.outputs = {flow::Time(0)};
  } else {
    plan.outputs = spacing == Spacing::log ? log_times(plan.end, p.outputs, 0)
                                           : linear_times(plan.end, p.outputs);
  }
  if (method_of(p) == flow::Method::layers) plan.outputs = at_layers(plan.outputs, p.step);
  return plan;
}

// ---- What was seen.

struct OwnRecord {
  std::size_t points = 0, dim = 0;
  std::vector<std::string> names{}, meanings{};
  std::vector<double> time{}, positions{};
  std::vector<std::vector<double>> series{};  // of each observable
};

void look(const OwnFlow& own, double time, std::span<const double> state, OwnRecord& record) {
  if (record.positions.size() + state.size() > kMostKept)
    throw Error(
        fmt::format("{} outputs of {} numbers are more than are kept; give fewer outputs, or times "
                    "with at",
                    record.time.size() + 1, state.size()));
  const std::vector<double> ones(record.points, 1.0);
  const observe::TokenView view{state, own.dim, ones, true,
                                [&] { return std::vector<double>(state.begin(), state.end()); }};
  record.time.push_back(time);
  record.positions.insert(record.positions.end(), state.begin(), state.end());
  for (std::size_t k = 0; k < own.observables.size(); ++k)
    record.series[k].push_back(own.observables[k].value(view));
}

void write_own(const OwnRecord& r, Archive& file) {
  const auto column = [&](const std::string& name, const std::vector<double>& values) {
    file.dataset("/series/" + name, values, {values.size()});
  };
  column("time", r.time);
  for (std::size_t k = 0; k < r.names.size(); ++k) {
    column(r.names[k], r.series[k]);
    file.attribute("/series/" + r.names[k], "meaning", std::string_view(r.meanings[k]));
  }
  file.dataset("/positions", r.positions, {r.time.size(), r.points, r.dim});
}

std::vector<PageFigure> draw_own(const OwnRecord& r) {
  std::vector<PageFigure> figures;
  for (std::size_t k = 0; k < r.names.size(); ++k) {
    Series line = curve(report::kPalette[k % report::kPalette.size()], 2);
    for (std::size_t i = 0; i < r.time.size(); ++i) add_point(line, r.time[i], r.series[k][i]);
    figures.push_back(plot(fmt::format("observable-{}", k), r.names[k], {.label = "time"},
                           {.label = r.names[k]}, {std::move(line)}, r.meanings[k]));
  }
  return figures;
}

std::string verdict(flow::Status status, const OwnFlowSetup& p, double time) {
  const bool rests = status == flow::Status::at_equilibrium && std::isinf(p.time);
  if (flow::delivered(status) || status == flow::Status::interrupted || rests) return "";
  return fmt::format("{} at t = {:.6g}: {}", flow::name(status), time, flow::remedy(status));
}

Result result_of(OwnRecord record, const OwnFlowSetup& p, flow::Status status,
                 const flow::Progress& progress) {
  const double time = progress.time.value();
  Json values{{"status", flow::name(status)}, {"time", number(time)},
              {"steps", progress.steps},      {"rejected_steps", progress.rejected},
              {"tokens", record.points},      {"dim", record.dim}};
  for (std::size_t k = 0; k < record.names.size(); ++k)
    values[record.names[k]] = record.series[k].empty() ? Json() : number(record.series[k].back());
  const auto shared = std::make_shared<const OwnRecord>(std::move(record));
  return {
      .title = "A flow of one's own",
      .headline =
          fmt::format("{} points in dimension {}, t = {:.6g}", shared->points, shared->dim, time),
      .values = std::move(values),
      .draw = [shared] { return draw_own(*shared); },
      .not_delivered = verdict(status, p, time),
      .interrupted = status == flow::Status::interrupted ? fmt::format("at t = {:.6g}", time) : "",
      .format = "attractor own flow 1",
      .arrays = [shared](Archive& file) { write_own(*shared, file); }};
}

}  // namespace

std::span<const std::string_view> names(OwnSpace) {
  static constexpr std::string_view kNames[] = {"sphere", "euclidean"};
  return kNames;
}

ParameterList list(OwnFlowSetup& p) {
  ParameterList l;
  l.group("Space");
  l.add("space", p.space, "sphere, where points have length 1 and drifts are projected; or R^d");
  l.add("noise", p.noise, "kappa: every point has its own Brownian motion, sqrt(2 kappa) dB")
      .within(0, 1e6);
  l.add("noise-substeps", p.noise_substeps, "draw the path of so many finer steps in each step")
      .within(1, 1e6)
      .used_if(p.noise > 0, "noise");
  l.add("seed", p.seed, "seed of the noise");
  l.group("Time and accuracy");
  l.add("time", p.time, "end time; inf: until nothing moves faster than rest").at_least(0);
  l.add("rest", p.rest, "time inf: the speed that counts as none; auto: 100 times the tolerance")
      .within(1e-300, 1);
  l.add("stepper", p.stepper,
        "euler, rk4: fixed step; adaptive: Dormand-Prince 5(4), adaptive3: Bogacki-Shampine 3(2), "
        "adaptive8: Dormand-Prince 8(5,3); auto: adaptive, with noise euler-maruyama");
  l.add("step", p.step, "step of all but adaptive").above(0);
  l.add("tolerance", p.tolerance, "adaptive: error of a point per unit of time").within(1e-14, 0.1);
  l.add("max-steps", p.max_steps, "give up after so many steps").at_least(1);
  l.group("Observation");
  l.add("outputs", p.outputs, "number of times at which points and observables are kept")
      .within(1, 1e6);
  l.add("output-spacing", p.output_spacing,
        "linear or log in time, or after every step; auto: linear, steps for time inf");
  l.add("at", p.at, "times of the outputs, instead of their number").within(0, 1e300);
  return l;
}

Result run_own_flow(OwnFlow own, const OwnFlowSetup& setup, const Context& context) {
  check_own(own, setup);
  FunctionFlow flow(own, setup);
  for (std::size_t k = 0; k < own.points.size(); k += own.dim) {
    const std::span<double> point = std::span(own.points).subspan(k, own.dim);
    if (setup.space == OwnSpace::sphere && norm(point) == 0)
      throw Error(fmt::format("point {} is zero; on the sphere points have length 1", k / own.dim));
    if (std::abs(norm(point) - 1) > 1e-15) flow.space().retract(point);
  }
  OwnRecord record{.points = own.points.size() / own.dim, .dim = own.dim};
  for (const observe::Observable& o : own.observables) {
    const bool taken =
        o.name == "time" || std::count(record.names.begin(), record.names.end(), o.name) > 0;
    refuse_if(taken, fmt::format("an observable named '{}' exists already", o.name));
    record.names.push_back(o.name);
    record.meanings.push_back(o.meaning);
  }
  record.series.resize(record.names.size());
  flow::Progress progress{.state = own.points};
  const flow::Plan plan = plan_for(setup);
  const flow::Hooks hooks{
      .output = [&](const flow::Time& t,
                    std::span<const double> s) { look(own, t.value(), s, record); },
      .safe_point =
          [&](const flow::Progress& p) {
            const double now = p.time.value();
            context.tell(std::isinf(setup.time) ? -1
                         : setup.time > 0       ? now / setup.time
                                                : 1,
                         [&] { return fmt::format("t = {:.4g}, {} steps", now, p.steps); });
          },
      .stop = context.stop};
  const flow::Status status =
      flow::run(flow, flow::tableau(method_of(setup)), plan, progress, hooks);
  if (record.time.empty() || record.time.back() < progress.time.value())
    if (setup.at.empty() || status != flow::Status::complete)
      look(own, progress.time.value(), progress.state, record);
  return result_of(std::move(record), setup, status, progress);
}

}  // namespace attractor::lab
