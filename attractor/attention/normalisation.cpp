#include "attractor/attention/normalisation.hpp"

#include <algorithm>
#include <array>

namespace attractor {
namespace {

constexpr std::array<std::string_view, 1> kSwitch = {"switch-time"}, kScale = {"deepnorm-scale"};
constexpr std::array<std::string_view, 2> kAlpha = {"alpha", "alpha-power"};

constexpr std::array kSchemes = {
    Scheme{.id = Normalisation::post,
           .name = "post",
           .title = "post-norm",
           .description = "normalise after adding attention",
           .late_law = "n K exp(-2 t)"},
    Scheme{.id = Normalisation::pre,
           .name = "pre",
           .title = "pre-norm",
           .description = "normalise what attention sees; the residual stream grows",
           .late_law = "K / t^2",
           .grows = true},
    Scheme{.id = Normalisation::mix,
           .name = "mix",
           .title = "mix-norm",
           .description = "post-norm in the first layers, pre-norm in the others",
           .late_law = "K / (t - switch_time)^2",
           .parameters = kSwitch,
           .grows = true,
           .switches = true},
    Scheme{.id = Normalisation::peri,
           .name = "peri",
           .title = "peri-norm",
           .description = "normalise what attention sees and what it returns",
           .late_law = "K / t^2",
           .grows = true,
           .unit = true},
    Scheme{.id = Normalisation::sandwich,
           .name = "sandwich",
           .title = "sandwich-norm",
           .description = "as peri when attention is the whole layer",
           .late_law = "K / t^2",
           .grows = true,
           .unit = true,
           .twin = Normalisation::peri},
    Scheme{.id = Normalisation::ngpt,
           .name = "ngpt",
           .title = "nGPT",
           .description = "stay on the sphere; move by alpha towards normalised attention",
           .late_law = "n K exp(-2 alpha t)",
           .parameters = kAlpha,
           .pace = Pace::alpha,
           .unit = true},
    Scheme{.id = Normalisation::ln_scaling,
           .name = "ln-scaling",
           .title = "LN-scaling",
           .description = "pre-norm with attention damped by 1 / sqrt(1 + depth)",
           .late_law = "K / (4 t)",
           .pace = Pace::damped,
           .grows = true},
    Scheme{.id = Normalisation::damped_post,
           .name = "damped-post",
           .alias = "sqrt-scaling",
           .title = "damped post-norm",
           .description = "post-norm with attention damped by 1 / sqrt(1 + depth)",
           .late_law = "n K exp(-4 (sqrt(1 + t) - 1))",
           .pace = Pace::damped},
    Scheme{.id = Normalisation::deepnorm,
           .name = "deepnorm",
           .title = "DeepNorm",
           .description = "post-norm with the residual stream scaled up by a constant",
           .late_law = "n K exp(-2 t / deepnorm_scale)",
           .parameters = kScale,
           .pace = Pace::scaled},
    Scheme{.id = Normalisation::branch,
           .name = "branch",
           .title = "branch-norm",
           .description = "normalise what attention returns only; logits grow with the stream",
           .late_law = "K > 0: tokens stop turning",
           .grows = true,
           .unit = true,
           .sees_length = true},
};

}  // namespace

std::span<const Scheme> schemes() { return kSchemes; }

const Scheme& scheme(Normalisation normalisation) {
  return kSchemes[static_cast<std::size_t>(normalisation)];
}

std::span<const std::string_view> names(Normalisation) {
  static const auto all = [] {
    std::array<std::string_view, std::size(kSchemes)> list;
    for (const Scheme& s : kSchemes) list[static_cast<std::size_t>(s.id)] = s.name;
    return list;
  }();
  return all;
}

std::vector<std::pair<std::string_view, Normalisation>> aliases(Normalisation) {
  std::vector<std::pair<std::string_view, Normalisation>> all;
  for (const Scheme& s : kSchemes)
    if (!s.alias.empty()) all.emplace_back(s.alias, s.id);
  return all;
}

std::vector<std::string> schemes_with(std::string_view parameter) {
  std::vector<std::string> all;
  for (const Scheme& s : kSchemes)
    if (std::find(s.parameters.begin(), s.parameters.end(), parameter) != s.parameters.end())
      all.emplace_back(s.name);
  return all;
}

}  // namespace attractor
