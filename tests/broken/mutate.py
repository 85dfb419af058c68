#!/usr/bin/env python3
"""Copies of sources in which something is a little wrong where wrong.hpp is told so.

usage: mutate.py ROOT OUT     writes the mutated files under OUT; fails if a line to be changed is not found
       mutate.py --files      the files it changes
       mutate.py --names      what can be wrong
"""
import pathlib
import re
import sys

# File, the text that must be there once, and what stands in its place.
MUTATIONS = [
    # Logits, in each engine.
    ("attractor/kernels/dense/symmetric_rows.cpp", "-0.5 * kLogitSteps<T> * beta;",
     '-0.5 * WRONG("symmetric-logits") * kLogitSteps<T> * beta;'),
    ("attractor/kernels/dense/attention_rows.cpp", "kDistance ? -0.5 * job.beta : job.beta",
     'WRONG("row-logits") * (kDistance ? -0.5 * job.beta : job.beta)'),
    ("attractor/kernels/dense/logit_panels.cpp", "= in.beta * kLogitSteps<T>",
     '= WRONG("panel-logits") * in.beta * kLogitSteps<T>'),
    ("attractor/kernels/dense/logit_lanes.cpp", ".scale = in.beta / step<T>()",
     '.scale = WRONG("lane-logits") * in.beta / step<T>()'),
    ("attractor/kernels/batch/system_batch.cpp", "-0.5 * std::numbers::log2e",
     '-0.5 * WRONG("batch-logits") * std::numbers::log2e'),
    ("attractor/attention/attention_layer.cpp", "std::exp(l - peak)", 'std::exp(WRONG("layer-logits") * (l - peak))'),
    ("attractor/attention/attention_layer.cpp", "std::exp(l - out_.log_scale)",
     'std::exp(WRONG("layer-logits") * (l - out_.log_scale))'),
    ("attractor/kernels/circle/circle_series.cpp", "CircleModes circle_modes(double beta, double tail) {",
     'CircleModes circle_modes(double beta, double tail) {\n  beta *= WRONG("circle-logits");'),
    ("attractor/kernels/sphere/sphere_cells.cpp", "SphereModes sphere_modes(double beta, double tail) {",
     'SphereModes sphere_modes(double beta, double tail) {\n  beta *= WRONG("sphere-logits");'),
    ("attractor/kernels/moments/power_moments.cpp", "series(power_series(s.beta, degree))",
     'series(power_series(WRONG("moment-logits") * s.beta, degree))'),
    ("attractor/models/pass.cpp", ".scale = switches_.beta_scale /",
     '.scale = WRONG("model-logits") * switches_.beta_scale /'),
    ("attractor/training/objective.cpp", "kernels::row_products(rows, query(i, e), s);\n  const auto a =",
     'kernels::row_products(rows, query(i, e), s);\n  for (double& logit : s) logit *= WRONG("training-logits");\n'
     "  const auto a ="),
    # Masses: every second token weighs too much.
    ("attractor/kernels/dense/attention_rows.cpp", "hn::Set(d, job.masses[j[t]])",
     'hn::Set(d, job.masses[j[t]] * (j[t] % 2 ? WRONG("row-masses") : 1))'),
    ("attractor/depth/field_weights.cpp", "for (double& w : weights) w /= largest;",
     "for (double& w : weights) w /= largest;\n"
     '  for (std::size_t i = 1; i < weights.size(); i += 2) weights[i] *= WRONG("field-masses");'),
    # The part along the token that is taken away.
    ("attractor/space/space.cpp", "const double radial = dot(point, vector);",
     'const double radial = WRONG("projection") * dot(point, vector);'),
    ("attractor/space/space.cpp", "pass < 2;", 'pass < (WRONG("projection") == 1 ? 2 : 1);'),
    # The speed that a row of the table of normalisations sets.
    ("attractor/depth/layer_flow.cpp", "const double rate = clock(now.value()) *",
     'const double rate = WRONG("normalisation") * clock(now.value()) *'),
    # Starts that are not quite uniform, and noise that is not quite as strong.
    ("attractor/tokens/generators.cpp", "stream.normals(i, x);\n    if (start.on_sphere) normalise(x);",
     'stream.normals(i, x);\n    x[0] *= WRONG("starts");\n    if (start.on_sphere) normalise(x);'),
    ("attractor/flow/stepper.cpp", "kick[c] = shared[c] +", 'kick[c] = WRONG("noise") * shared[c] + WRONG("noise") *'),
]


def names():
    return list(dict.fromkeys(name for _, _, after in MUTATIONS for name in re.findall(r'WRONG\("([a-z-]+)"\)', after)))


def mutated(root):
    texts = {}
    for name, before, after in MUTATIONS:
        text = texts.get(name) or '#include "wrong.hpp"\n' + (root / name).read_text()
        if text.count(before) != 1:
            sys.exit(f"mutate.py: {name} holds '{before}' {text.count(before)} times, not once")
        texts[name] = text.replace(before, after)
    return texts


def main():
    if sys.argv[1:] == ["--files"]:
        print(";".join(dict.fromkeys(name for name, _, _ in MUTATIONS)), end="")
    elif sys.argv[1:] == ["--names"]:
        print("\n".join(names()))
    else:
        root, out = map(pathlib.Path, sys.argv[1:3])
        for name, text in mutated(root).items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_text(text)


if __name__ == "__main__":
    main()
