"""Figures of results by matplotlib, from the same data that the pages of runs are drawn from; and a result in a notebook."""
import html as escape
import io
import math
import pathlib
import re
import shutil
import subprocess
from typing import Any, Dict, List

import numpy as np

_GRID = "#d9dde2"


def use_style() -> None:
    """Figures as the pages of runs have them: colours of Okabe and Ito, light grid, no box."""
    import matplotlib.pyplot as plt
    from cycler import cycler
    plt.rcParams.update({
        "axes.prop_cycle": cycler(color=["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"]), "axes.spines.top": False,
        "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "axes.edgecolor": "#5b626b", "grid.color": _GRID, "grid.linewidth": 0.6,
        "legend.frameon": False, "legend.fontsize": "small", "figure.constrained_layout.use": True, "figure.dpi": 110, "savefig.dpi": 220,
        "lines.linewidth": 1.8, "font.size": 10, "axes.titlesize": "medium"})


def _axes(columns: int, rows: int, width: float, height: float) -> Any:
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(rows, columns, figsize=(width / 90, height / 90), squeeze=False, constrained_layout=True)
    return figure, list(axes.flat)


def _text(markup: str) -> str:
    """Markup of figures (^{12}, _{max}) as matplotlib has it."""
    parts = re.split(r"(\^\{[^}]*\}|_\{[^}]*\})", markup)
    return "".join(f"${p[0]}{{\\mathrm{{{p[2:-1]}}}}}$" if p[:2] in ("^{", "_{") else p.replace("$", r"\$") for p in parts)


def _numbers(values: List[Any]) -> Any:
    return np.array([math.nan if v is None else v for v in values], dtype=float)


def _series(ax: Any, s: Dict[str, Any]) -> None:
    x, y = _numbers(s["x"]), _numbers(s["y"])
    label = _text(s["title"]) or None
    colours = s["colours"] or s["colour"]
    if s["mark"] == "points":
        sizes = _numbers(s["sizes"]) if s["sizes"] else s["size"]
        ax.scatter(x, y, s=math.pi * np.square(sizes) * 0.7, c=colours, label=label, linewidths=s["rim"], edgecolors="white", alpha=s["opacity"], zorder=3)
    elif s["mark"] == "area":
        ax.fill(x, y, color=s["colour"], alpha=s["opacity"], label=label, linewidth=0, zorder=2)
    elif s["mark"] == "boxes":
        ax.bar(x, y, width=0.8 * (np.min(np.diff(x)) if len(x) > 1 else 1), color=s["colour"], label=label, zorder=3)
    else:
        style = "--" if s["dashed"] else "-"
        draw = ax.step if s["mark"] == "steps" else ax.plot
        where = {"where": "post"} if s["mark"] == "steps" else {}
        draw(x, y, style, color=s["colour"], linewidth=0.75 * s["width"], alpha=s["opacity"], label=label, zorder=3, **where)


def _scale(ax: Any, which: str, axis: Dict[str, Any]) -> None:
    getattr(ax, f"set_{which}label")(_text(axis["label"]))
    if axis["scale"] == "log":
        getattr(ax, f"set_{which}scale")("log")
    limits = {k: v for k, v in (("left" if which == "x" else "bottom", axis["low"]), ("right" if which == "x" else "top", axis["high"]))
              if v is not None}
    if limits:
        getattr(ax, f"set_{which}lim")(**limits)
    side = getattr(ax, f"{which}axis")
    if not axis["ticks"]:
        side.set_ticks([])
    elif axis["names"]:  # of the values 0, 1, ...
        side.set_ticks(range(len(axis["names"])), [_text(name) for name in axis["names"]])
    elif axis["whole"] and axis["scale"] == "linear":
        from matplotlib.ticker import MaxNLocator
        side.set_major_locator(MaxNLocator(6, integer=True))
    elif axis["scale"] == "power":  # values are exponents
        from matplotlib.ticker import FuncFormatter, MaxNLocator
        side.set_major_locator(MaxNLocator(6, integer=True))
        side.set_major_formatter(FuncFormatter(lambda v, _: f"$10^{{{v:.0f}}}$"))


def _line(guide: Dict[str, Any]) -> Dict[str, Any]:
    return {"color": guide["colour"], "lw": guide["width"], "ls": "--" if guide["dashed"] else "-"}


def _panel(ax: Any, panel: Dict[str, Any]) -> None:
    if panel["heat"] is not None:
        heat = panel["heat"]
        x, y = _numbers(heat["x"]), _numbers(heat["y"])
        value = _numbers(heat["value"]).reshape(len(y), len(x))  # what is not finite stays white
        mesh = ax.pcolormesh(x, y, value, cmap="Blues" if heat["ramp"] == "fade" else "viridis", vmin=heat["low"], vmax=heat["high"], shading="nearest", rasterized=True)
        if heat["label"]:
            ax.figure.colorbar(mesh, ax=ax, label=_text(heat["label"]))
    for guide in panel["vertical"]:
        ax.axvline(guide["at"], 0, guide["length"], zorder=1, **_line(guide))
        ax.annotate(_text(guide["label"]), (guide["at"], 1), (3, -3), xycoords=ax.get_xaxis_transform(), textcoords="offset points", va="top",
                    fontsize="small", color=guide["colour"])
    for guide in panel["horizontal"]:
        ax.axhline(guide["at"], 0, guide["length"], zorder=1, **_line(guide))
        ax.annotate(_text(guide["label"]), (1, guide["at"]), (-3, 3), xycoords=ax.get_yaxis_transform(), textcoords="offset points", ha="right",
                    fontsize="small", color=guide["colour"])
    for s in panel["series"]:
        _series(ax, s)
    _scale(ax, "x", panel["x"])
    _scale(ax, "y", panel["y"])
    if panel["title"]:
        ax.set_title(_text(panel["title"]), fontsize="medium")
    if panel["equal_scale"]:
        ax.set_aspect("equal", adjustable="datalim" if not panel["bare"] else "box")
    if panel["bare"]:
        ax.axis("off")
    elif panel["heat"] is None:
        ax.grid(True, color=_GRID, linewidth=0.6, zorder=0)
        ax.spines[["top", "right"]].set_visible(False)
    if any(s["title"] for s in panel["series"]):
        ax.legend(frameon=False, fontsize="small")


def draw(figure: Dict[str, Any], ax: Any = None) -> Any:
    """A figure of a result (its JSON) by matplotlib."""
    panels = figure["panels"]
    if ax is not None:
        if len(panels) != 1:
            raise ValueError(f"figure {figure['id']} has {len(panels)} panels; leave ax out")
        _panel(ax, panels[0])
        return ax.figure
    columns = min(max(1, figure["columns"]), len(panels))
    drawn, axes = _axes(columns, -(-len(panels) // columns), figure["width"], figure["height"])
    for place, panel in zip(axes, panels):
        _panel(place, panel)
    for place in axes[len(panels):]:
        place.axis("off")
    if figure["title"]:
        drawn.suptitle(_text(figure["title"]))
    return drawn


def picture(file: pathlib.Path, ax: Any = None) -> Any:
    """A figure that was drawn before: the .svg beside a page, or a .png."""
    import matplotlib.pyplot as plt
    if file.suffix == ".svg":
        if shutil.which("rsvg-convert") is None:
            raise ValueError(f"{file} is shown by rsvg-convert, which is not on PATH; install librsvg2-bin, or open the file itself")
        png = subprocess.run(["rsvg-convert", "--zoom", "2", "--background-color", "white", str(file)], capture_output=True, check=True).stdout
        image = plt.imread(io.BytesIO(png))
    else:
        image = plt.imread(file)
    if ax is None:
        height, width = image.shape[:2]
        drawn, (ax, *_) = _axes(1, 1, width / 2, height / 2)
    ax.imshow(image)
    ax.axis("off")
    return ax.figure


_TILE = ("<div style='border:1px solid #d9dde2;border-radius:6px;padding:.35em .8em;min-width:7em'><div style='font-size:80%;"
         "opacity:.7'>{}</div><div style='font-size:115%'>{}</div><div style='font-size:80%;opacity:.7'>{}</div></div>")


def html(view: Dict[str, Any], svg: str, not_delivered: str, command: str) -> str:
    """Tiles and the first figure, for a notebook."""
    tiles = "".join(_TILE.format(*tile) for tile in view["tiles"][:18])
    trouble = f"<p style='color:#b3261e'>{escape.escape(not_delivered)}</p>" if not_delivered else ""
    figure = svg[svg.find("<svg"):] if "<svg" in svg else ""
    return (f"<div><p><b>{view['headline']}</b></p>{trouble}<div style='display:flex;flex-wrap:wrap;gap:.5em;margin-bottom:.6em'>"
            f"{tiles}</div>{figure}<p style='font-size:80%;opacity:.7'><code>{escape.escape(command)}</code></p></div>")
