#!/usr/bin/env python3
"""Copies of sources in which attention is a little wrong: every logit is multiplied by 0.9.

usage: mutate.py ROOT OUT   writes the mutated files under OUT; fails if a line to be changed is not found.
"""
import pathlib
import sys

# File, the text that must be there, and what stands in its place.
MUTATIONS = [
    ("attractor/kernels/dense/symmetric_rows.cpp", "-0.5 * kLogitSteps<T> * beta;", "-0.45 * kLogitSteps<T> * beta;"),
    ("attractor/kernels/dense/attention_rows.cpp", "kDistance ? -0.5 * job.beta : job.beta",
     "kDistance ? -0.45 * job.beta : 0.9 * job.beta"),
    ("attractor/kernels/dense/logit_panels.cpp", "= in.beta * kLogitSteps<T>", "= 0.9 * in.beta * kLogitSteps<T>"),
    ("attractor/kernels/dense/logit_lanes.cpp", ".scale = in.beta / step<T>()", ".scale = 0.9 * in.beta / step<T>()"),
    ("attractor/kernels/batch/system_batch.cpp", "-0.5 * std::numbers::log2e", "-0.45 * std::numbers::log2e"),
    ("attractor/attention/attention_layer.cpp", "std::exp(l - peak)", "std::exp(0.9 * (l - peak))"),
    ("attractor/attention/attention_layer.cpp", "std::exp(l - out_.log_scale)",
     "std::exp(0.9 * (l - out_.log_scale))"),
    ("attractor/models/pass.cpp", ".scale = switches_.beta_scale /", ".scale = 0.9 * switches_.beta_scale /"),
    ("attractor/training/objective.cpp", "kernels::row_products(rows, query(i, e), s);\n  const auto a =",
     "kernels::row_products(rows, query(i, e), s);\n  for (double& logit : s) logit *= 0.9;\n  const auto a ="),
]


def main():
    root, out = map(pathlib.Path, sys.argv[1:3])
    texts = {}
    for name, before, after in MUTATIONS:
        text = texts.get(name) or (root / name).read_text()
        if text.count(before) != 1:
            sys.exit(f"mutate.py: {name} holds '{before}' {text.count(before)} times, not once")
        texts[name] = text.replace(before, after)
    for name, text in texts.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)


main()
