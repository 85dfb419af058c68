#include "attractor/files/scene_file.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/bridge/bridge_page.hpp"
#include "attractor/commands/density/density_scene.hpp"
#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/commands/select/select_scene.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/files/flow_file.hpp"
#include "attractor/lab/json.hpp"

namespace attractor::lab {
namespace {

/// A result with its name, for sentences.
struct SceneSource {
  const Hdf5Reader& file;
  std::string name;

  std::vector<double> numbers(const std::string& path) const { return file.read(path).data; }
  std::vector<double> if_there(const std::string& path) const {
    return file.exists(path) ? numbers(path) : std::vector<double>{};
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(fmt::format("{} {}", name, what));
  }
  /// Refuses numbers that no picture can show.
  std::vector<double> finite(const std::string& path) const {
    std::vector<double> values = numbers(path);
    for (const double value : values)
      if (!std::isfinite(value)) refuse(fmt::format("holds {} in {}", value, path));
    return values;
  }
  std::string parameter(const char* key) const {
    const Json all = Json::parse_or_null(file.text_attribute("/", "parameters"));
    return all.is_object() ? all.value(key, "") : "";
  }
  template <class E>
  E parameter_named(const char* key, E otherwise) const {
    return find_named<E>(parameter(key)).value_or(otherwise);
  }
};

report::Scene read_bridge(const SceneSource& source) {
  const Array start = source.file.read("/tokens/start"), end = source.file.read("/tokens/end");
  const std::vector<double> times = source.numbers("/checkpoints/log_time"),
                            norms = source.finite("/checkpoints/norm"),
                            labels = source.finite("/tokens/clusters");
  if (start.shape.size() != 2 || end.shape.size() != 3 || end.shape[0] != times.size() ||
      end.shape[1] != start.shape[0] || end.shape[2] != start.shape[1] || end.data.empty() ||
      norms.size() != times.size() || labels.size() != times.size() * start.shape[0])
    source.refuse("holds checkpoints of different sizes");
  for (const double x : end.data)
    if (!std::isfinite(x)) source.refuse(fmt::format("holds the position {}", x));
  for (const double label : labels)
    if (!(label >= 0 && label < static_cast<double>(start.shape[0])))
      source.refuse(fmt::format("holds the cluster {}", label));
  BridgeRecord r;
  r.setup.train = source.parameter_named("train", r.setup.train);
  r.start = {.dim = start.shape[1], .data = start.data};
  const std::size_t n = start.shape[0], size = n * start.shape[1];
  for (std::size_t k = 0; k < times.size(); ++k) {
    BridgeCheckpoint& c = r.checkpoints.emplace_back();
    c.training = {.log_time = times[k], .norm = norms[k]};
    const auto from = end.data.begin() + static_cast<std::ptrdiff_t>(k * size);
    c.positions.assign(from, from + static_cast<std::ptrdiff_t>(size));
    double most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      c.clusters.push_back(static_cast<std::uint32_t>(labels[k * n + i]));
      most = std::max(most, labels[k * n + i]);
    }
    c.end.clusters = most + 1;
  }
  return bridge_scene(r);
}

// ---- Training.

training::Problem read_stored_problem(const SceneSource& source) {
  if (!source.file.exists("/problem/X"))
    source.refuse("holds no tokens: a film needs a run of training that keeps them");
  const Array x = source.file.read("/problem/X");
  if (x.shape.size() != 3) source.refuse("holds tokens of no use: X must be inputs x tokens x dim");
  training::Problem p{.inputs = x.shape[0], .tokens = x.shape[1], .dim = x.shape[2], .x = x.data};
  p.labels = source.if_there("/problem/Y");
  p.head.v = source.if_there("/problem/v");
  p.weights = source.if_there("/problem/W");
  p.queries = source.if_there("/problem/z");
  p.prompt = source.if_there("/problem/p0");
  p.key_factor = source.if_there("/problem/K");
  p.query_factor = source.if_there("/problem/Q");
  if (source.file.exists("/problem/head")) {
    p.head.hidden = source.if_there("/problem/head/U");
    p.head.bias = source.if_there("/problem/head/b");
    p.head.penalty = source.file.number_attribute("/problem/head", "lambda");
    p.head.activation =
        training::activation_named(source.file.text_attribute("/problem/head", "activation"));
  }
  training::check(p);
  return p;
}

report::Scene read_select(const SceneSource& source) {
  SelectRecord r{.trained = source.file.exists("/trajectory/weights")};
  if (!r.trained) source.refuse("holds no training, so nothing moves");
  r.setup.train = source.parameter_named("train", r.setup.train);
  r.setup.loss = source.parameter_named("loss", r.setup.loss);
  r.setup.optimizer = source.parameter_named("optimizer", r.setup.optimizer);
  r.problem = read_stored_problem(source);
  r.trajectory = source.numbers("/trajectory/weights");
  const std::vector<double> times = source.numbers("/series/log10_time"),
                            steps = source.numbers("/series/steps"),
                            least = source.numbers("/series/softmax_min");
  if (steps.size() != times.size() || least.size() != times.size())
    source.refuse("holds a series of different lengths");
  for (std::size_t k = 0; k < times.size(); ++k) {
    SelectMoment& m = r.series.emplace_back();
    m.log10_time = times[k], m.steps = steps[k], m.softmax_min = least[k];
  }
  for (const double token : source.if_there("/final/selected"))
    r.selected.push_back(static_cast<std::size_t>(std::max(0.0, token)));
  if (source.file.exists("/svm/solution") &&
      source.file.text_attribute("/svm", "status") == solve::name(solve::MarginStatus::optimal)) {
    r.svm.emplace();
    r.svm->solution = source.numbers("/svm/solution");
    r.svm->status = solve::MarginStatus::optimal;
  }
  std::optional<report::Scene> scene = select_scene(r);
  if (!scene) source.refuse("holds a training of the head alone: attention does not move");
  return std::move(*scene);
}

// ---- Densities: rows of (time, angle, density), all angles of a time after each other.

report::Scene read_density(const SceneSource& source) {
  const std::vector<double> time = source.finite("/density/time"),
                            angle = source.finite("/density/angle"),
                            density = source.numbers("/density/density");
  std::size_t angles = 0;
  while (angles < time.size() && time[angles] == time[0]) ++angles;
  if (angles < 2 || time.size() % angles != 0 || angle.size() != time.size() ||
      density.size() != time.size())
    source.refuse("holds densities of different sizes");
  DensityHistory history{
      .angles = {angle.begin(), angle.begin() + static_cast<std::ptrdiff_t>(angles)}};
  for (std::size_t j = 1; j < angles; ++j)
    if (!(history.angles[j] > history.angles[j - 1]))
      source.refuse("holds angles that do not ascend");
  history.circle = history.angles.back() - history.angles.front() > 3.3;
  for (std::size_t k = 0; k < time.size(); k += angles) {
    const auto from = density.begin() + static_cast<std::ptrdiff_t>(k);
    history.times.push_back(time[k]);
    history.density.emplace_back(from, from + static_cast<std::ptrdiff_t>(angles));
  }
  return density_scene(history);
}

}  // namespace

report::Scene read_scene(const std::filesystem::path& run) {
  const Hdf5Reader file(std::filesystem::is_directory(run) ? run / "result.h5" : run);
  const SceneSource source{file, run.string()};
  if (file.exists("/tokens/end")) return read_bridge(source);
  if (file.exists("/problem")) return read_select(source);
  if (file.exists("/density/angle")) return read_density(source);
  const FlowRecord record = read_flow(run);
  const FlowView view = flow_view(record);
  return flow_scene(record, view, record.snapshots.size());
}

}  // namespace attractor::lab
