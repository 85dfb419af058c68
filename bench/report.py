"""What bench/run shows of its figures: a table, a comparison with an older run, docs/performance.md and its picture."""
import json
import subprocess
import tempfile

import machine

PAGE = machine.ROOT / "docs/performance.md"
PICTURE = machine.ROOT / "docs/pictures/performance.svg"
MARKED, SLOWER = 1.15, 1.25  # changes that are marked, and that make the status 1
TITLES = {
    "dense": ("Dense attention", "One velocity evaluation on random tokens of the sphere, β = 9. `plain` is "
              "Q = K = V = I, where each pair is taken once; `general` multiplies by Q, K and V. The peer is PyTorch "
              "as a careful user writes it, rows in chunks of 256 (64 at n = 16384). Shares of the peak count 4d flops a pair; with "
              "each pair taken once 3d are enough, so `plain` may exceed 1. The peak is the highest rate that anyone reached in the "
              "run: multiply-adds in registers, a product of matrices, or ours."),
    "circle": ("Circle, O(n)", "Softmax means of all tokens on the circle, accuracy 10^-digits."),
    "sphere": ("Sphere in dimension 3, O(n)", "All tokens with all tokens on S², accuracy 10^-digits."),
    "moments": ("Spheres, O(n), d = 4 to 8", "Velocities of all tokens by power moments, accuracy 10^-digits; dense "
                "rows of such tokens in the same run, 20,000 of them, scaled by n². Shares of the peak count 6 flops "
                "a moment and token."),
    "batches": ("Batches of small systems", "2,048 systems of 32 tokens; microseconds of one step of one system. "
                "The peer is the fastest of three batched PyTorch forms."),
    "mean-shift": ("Mean shift", "`attractor cluster`, whole program, two threads on both sides."),
    "training": ("Training the prompt", "One step of normalised gradient descent, inputs x tokens x dimension."),
    "hard-margin": ("Hard margin", "Inputs x tokens x dimension, ours to a relative gap of 1e-12, cvxopt as it comes."),
    "models": ("Trained models", "A forward pass of MiniLM's shape (6 layers, d = 384, 12 heads) with random weights on 128 tokens, single "
               "precision; products as tokens x outputs x inputs. Attention heads alone: logits, softmax and weighted values."),
    "program": ("Whole program", "Wall time of the command, observations included."),
}
SEEN = [  # what a user does: part and name of the row, in words, factor to seconds, and what else would do it
    ("dense", "f64 plain n=4096 d=64", "one velocity of 4,096 tokens, d = 64", 1e-9 * 4096**2, "PyTorch, in chunks"),
    ("batches", "n=32 2048 systems d=2", "one step of 2,048 systems of 32 tokens, d = 2", 1e-6 * 2048, "PyTorch, batched"),
    ("program", "100,000 tokens, circle, to its end", "100,000 tokens on the circle to T = 10, with what is shown", 1, ""),
    ("program", "1,000,000 tokens, circle, to its end", "a million of them", 1, ""),
    ("program", "20,000 tokens, d = 16, to its end", "20,000 tokens in d = 16 to T = 3", 1, ""),
    ("program", "64 tokens in d = 3 until they are one, beta = 10^6", "64 tokens until they are one, β = 10⁶", 1, ""),
    ("program", "the same with its page, processor time", "a flow of 64 tokens with a page to read", 1, ""),
    ("training", "512x128x128", "one step of training the prompt, 512 inputs of 128 tokens, d = 128", 1e-6, "PyTorch, its best form"),
    ("hard-margin", "1024x64x256", "a certified max margin, 1,024 inputs of 64 tokens, d = 256", 1, "cvxopt"),
    ("models", "pass with all observables, two threads", "MiniLM on 128 tokens with all that is observed", 1e-3, ""),
    ("program", "attractor reproduce all --quick", "the whole catalogue of published results, quick sizes", 1, ""),
]
COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#D55E00", "#000000", "#999999")  # Okabe and Ito


def read(file):
    result = json.loads(file.read_text())
    if result.get("schema") != 1:
        raise SystemExit(f"{file} is not a file of bench/run --json")
    return result


def number(value):
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


# ---- Table and comparison.


def cells(row):
    peer = f"{number(row['peer_value'])}" if "peer" in row else ""
    ratio = f"{row['ratio']:.2f}" if "ratio" in row else ""
    peak = f"{row['peak']:.2f}" if "peak" in row else ""
    goal = row.get("goal", "") + ("" if row.get("met", True) else ", missed")
    return [row["name"], number(row["value"]), row["unit"], peer, ratio, peak, goal]


HEADER = ["", "ours", "unit", "peer", "ratio", "of peak", "goal"]


def table(result):
    lines = [HEADER, *(cells(row) for row in result["rows"])]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEADER))]
    text = ["  ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:]))]).rstrip()
            for line in lines]
    limits = ", ".join(f"{name} {number(value)}" for name, value in result["limits"].items())
    return "\n".join([f"limits: {limits}", *text])


def change(new, old):
    """How many times slower: by the ratio to the peer where both have one, as that is less a matter of the machine."""
    if new["better"] == "near 1":
        return 1.0
    if "ratio" in new and "ratio" in old:
        return old["ratio"] / new["ratio"]
    factor = new["value"] / old["value"]
    return factor if new["better"] == "less" else 1 / factor


def against(result, older):
    """The text, and whether anything is slower by more than 25 %."""
    known = {(row["part"], row["name"]): row for row in older["rows"]}
    lines, slower, compared = [], False, 0
    for row in result["rows"]:
        old = known.get((row["part"], row["name"]))
        if old is None:
            continue
        compared += 1
        times = change(row, old)
        slower = slower or times > SLOWER
        if times > MARKED or times < 1 / MARKED:
            word = "slower" if times > 1 else "faster"
            lines.append(f"  {row['part']} {row['name']}: {max(times, 1 / times):.2f} times {word}"
                         + (", TOO SLOW" if times > SLOWER else ""))
    head = f"{compared} figures compared with those of {older['machine']['date']}; changed by over 15 %: {len(lines)}"
    return "\n".join([head, *lines]), slower


# ---- Page.


def write_page(result):
    draw(result)
    facts, limits = result["machine"], result["limits"]
    libraries = ", ".join(f"{name} {version}" for name, version in facts["libraries"].items())
    lines = [
        "# Performance", "",
        "<!-- written by bench/run --markdown; do not edit -->",
        f"Measured on {facts['date']} by `bench/run{' --quick' if result['quick'] else ''} --markdown`: both sides of "
        "every ratio in one run, in turn, best of several; processor time on one thread, wall time on two.", "",
        f"Machine: {facts['cpu']} (family/model {facts['family']}), {facts['cores']} cores, {facts['vectors']}, "
        f"{facts['memory_gb']} GB, load {facts['load']:.1f} at the start. {facts['compiler']}. {libraries}.", "",
        f"Measured limits: {limits['fma_gflops_f64']:.0f} GF/s of multiply-adds in f64 on one core and "
        f"{limits['fma_gflops_f32']:.0f} in f32; an exponential {limits['exp_ns_f64']:.2f} ns (C library "
        f"{limits['libm_ns_f64']:.1f}); reading {limits['read_gb_s']:.0f} GB/s, with two threads "
        f"{limits['read_gb_s_2']:.0f}.", "",
        *user_table(result),
        "![Times faster than the fastest peer](pictures/performance.svg)", ""]
    for part, (title, words) in TITLES.items():
        rows = [row for row in result["rows"] if row["part"] == part]
        if rows:
            lines += [f"## {title}", "", words, "", *markdown_table(rows), ""]
    _, mark, python = PAGE.read_text().partition("<!-- from Python -->")  # bench/python_peer.py writes that part
    PAGE.write_text("\n".join(lines).rstrip() + "\n" + (f"\n{mark}{python}" if mark else ""))


def seconds(value):
    for unit, size in (("min", 60), ("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= (120 if unit == "min" else size):
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def user_table(result):
    """What you do, how long it takes, and how long with what you would use instead, measured in the same run."""
    known = {(row["part"], row["name"]): row for row in result["rows"]}
    lines = ["| what you do | how long | instead | how long | times |", "|---|---|---|---|---|"]
    for part, name, words, factor, instead in SEEN:
        row = known.get((part, name))
        if row is None:
            continue
        peer = (instead or row["peer"], seconds(factor * row["peer_value"]), f"{row['ratio']:.3g}") if "peer" in row else ("", "", "")
        lines.append(f"| {words} | {seconds(factor * row['value'])} | " + " | ".join(peer) + " |")
    return [*lines, ""]


def markdown_table(rows):
    """Columns that are empty throughout are left out."""
    lines = [cells(row) for row in rows]
    kept = [k for k in range(len(HEADER)) if k == 0 or any(line[k] for line in lines)]
    draw_line = lambda line: "| " + " | ".join(line[k] for k in kept) + " |"
    return [draw_line(HEADER), "|" + "---|" * len(kept), *map(draw_line, lines)]


# ---- Picture.


def bars(result):
    """(part, label, ratio) of one thread and of the usual size, where there is a peer."""
    chosen = []
    for row in result["rows"]:
        usual = row["part"] != "dense" or "n=4096" in row["name"]
        if "ratio" in row and usual and (row["part"] == "mean-shift" or "two threads" not in row["name"]):
            name = row["name"].replace(" n=4096", "").replace("n=32 2048 systems ", "").replace(" two threads", "")
            chosen.append((row["part"], f"{row['part']} {name}", row["ratio"]))
    return chosen


def draw(result):
    chosen = bars(result)
    if not chosen:
        return
    ratios = [ratio for _, _, ratio in chosen]
    parts = list(dict.fromkeys(part for part, _, _ in chosen))
    tics = ", ".join(f'"{label}" {-k}' for k, (_, label, _) in enumerate(chosen))
    boxes = "\n".join(f"{-k} {ratio} {parts.index(part)}" for k, (part, _, ratio) in enumerate(chosen))
    labels = "\n".join(f'set label "{ratio:.3g}" at {1.06 * max(1, ratio):.6g}, {-k} left'
                       for k, ratio in enumerate(ratios))
    plots = ", ".join(f"$bars using ($3 == {k} ? $2 : 1/0):1:(1):2:($1-0.38):($1+0.38) with boxxyerror "
                      f'fillstyle solid noborder linecolor rgb "{COLOURS[k % len(COLOURS)]}" notitle'
                      for k in range(len(parts)))
    script = SCRIPT.format(height=70 + 19 * len(chosen), least=min(0.7, 0.8 * min(ratios)), most=3 * max(ratios),
                           bottom=0.4 - len(chosen), file=PICTURE, tics=tics, labels=labels, boxes=boxes, plots=plots)
    PICTURE.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".gp") as file:
        file.write(script)
        file.flush()
        subprocess.run(["gnuplot", file.name], check=True)


SCRIPT = """
set terminal svg size 900,{height} font "DejaVu Sans,12" background "#ffffff"
set output "{file}"
set logscale x
set xrange [{least}:{most}]
set yrange [{bottom}:0.6]
set xtics nomirror
set ytics ({tics}) scale 0
set xlabel "times faster than the fastest peer in the same run (1: equal)"
set grid xtics linecolor rgb "#cccccc"
set border 1
set arrow from 1, graph 0 to 1, graph 1 nohead linewidth 1.5 linecolor rgb "#000000" front
{labels}
$bars << END
{boxes}
END
plot {plots}
"""
