"""A chart for each family: a panel for each workload, and in it a line for each engine over the number of threads."""

import math

import matplotlib
import relative
import tables

matplotlib.use("svg")
from matplotlib import pyplot  # pylint: disable=wrong-import-position

# Colours that colour-blind people can tell apart (Okabe and Ito, Color Universal Design, 2008).
STYLES = {
    "tutti": {"color": "#d55e00", "marker": "o", "linewidth": 2.4, "zorder": 5},
    "tutti-no-unwind": {"color": "#d55e00", "marker": "v", "linestyle": ":", "zorder": 4},
    "tutti-statistics": {"color": "#cc79a7", "marker": "s", "linestyle": ":"},
    "tutti-safe": {"color": "#d55e00", "marker": "o", "linewidth": 2.4, "zorder": 5},
    "libitm": {"color": "#0072b2", "marker": "D", "linewidth": 2.0},
    "language": {"color": "#56b4e9", "marker": "P", "linewidth": 2.0},
    "mutex": {"color": "#009e73", "marker": "^"},
    "spin": {"color": "#e69f00", "marker": "x"},
    "sequential": {"color": "black", "marker": "*", "markersize": 9, "linestyle": ""},
    "atomics": {"color": "#777777", "marker": "+"},
    "tutti-hash": {"color": "#d55e00", "marker": "o", "linewidth": 2.4, "zorder": 5},
    "tutti-ordered": {"color": "#d55e00", "marker": "v", "linestyle": ":", "zorder": 4},
    "tutti-counter": {"color": "#d55e00", "marker": "o", "linewidth": 2.4, "zorder": 5},
    "tbb": {"color": "#0072b2", "marker": "D", "linewidth": 2.0},
    "closed": {"color": "#0072b2", "marker": "D"},
    "checkpoint": {"color": "#d55e00", "marker": "o", "linewidth": 2.4, "zorder": 5},
    "open": {"color": "#009e73", "marker": "^"},
}
OTHERS = ["#009e73", "#e69f00", "#cc79a7", "#56b4e9"]

SETTINGS = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "tutti",  # the same figures produce the same file
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
}


def style_of(engine, index):
    return STYLES.get(engine, {"color": OTHERS[index % len(OTHERS)], "marker": "o"})


def draw_panel(axes, family, workload, unit):
    threads = family.threads()
    for index, engine in enumerate(family.engines()):
        points = [(t, family.cell(workload, engine, t)) for t in threads]
        points = [(threads.index(t), cell) for t, cell in points if cell]
        if points:
            values = [cell.rate / 1e6 if unit == "rate" else cell.time for _, cell in points]
            axes.plot([x for x, _ in points], values, label=engine, **{"markersize": 5, **style_of(engine, index)})
    axes.set_title(workload, fontsize=10)
    axes.set_xticks(range(len(threads)), [str(t) for t in threads])
    axes.set_xlim(-0.3, len(threads) - 0.7)
    if unit == "rate":
        axes.set_ylim(bottom=0)
    else:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")


def draw_relative_panel(axes, family, shape, threads):
    steps = relative.steps_of(family, shape)
    axes.axhline(1, color="black", linewidth=1)
    for index, engine in enumerate(relative.others(family)):
        points = [(i, relative.ratio(family, f"{shape}-{n}", engine, threads)) for i, n in enumerate(steps)]
        points = [point for point in points if point[1]]
        axes.plot(*zip(*points), label=engine, **{"markersize": 5, **style_of(engine, index)})
    axes.set_title(f"{shape}, {threads} thread{'s' if threads > 1 else ''}", fontsize=10)
    axes.set_xticks(range(len(steps)), [str(n) for n in steps])
    axes.set_ylim(0, 1.08 * relative.highest(family, shape))  # the same scale in a row, so that threads can be compared


def panels(family):
    """Functions that draw one panel each, how many go in a row, and what the axes are."""
    if relative.applies(family):
        keys = [(s, t) for s in relative.shapes(family) for t in family.threads()]
        draws = [lambda axes, k=k: draw_relative_panel(axes, family, *k) for k in keys]
        return draws, len(family.threads()), "steps", f"rate by that of {relative.BASE[family.name]}"
    unit, _ = tables.style(family)
    draws = [lambda axes, w=w: draw_panel(axes, family, w, unit) for w in family.workloads()]
    label = "million operations a second" if unit == "rate" else "ns an operation and thread, logarithmic"
    return draws, min(4, len(draws)), "threads", label


def draw(family, context, path):
    draws, columns, across, up = panels(family)
    rows = math.ceil(len(draws) / columns)
    with pyplot.rc_context(SETTINGS):
        figure = pyplot.figure(figsize=(max(6.0, 2.9 * columns), 1.2 + 2.5 * rows), layout="constrained")
        # The last row is for the legend.
        grid = figure.add_gridspec(rows + 1, columns, height_ratios=[1] * rows + [0.2 / rows])
        lines = {}
        for index, draw_one in enumerate(draws):
            axes = figure.add_subplot(grid[index // columns, index % columns])
            draw_one(axes)
            if index + columns >= len(draws):
                axes.set_xlabel(across)
            for line, engine in zip(*axes.get_legend_handles_labels()):
                lines.setdefault(engine, line)
        engines = [engine for engine in family.engines() if engine in lines]
        bottom = figure.add_subplot(grid[rows, :])
        bottom.axis("off")
        bottom.legend(
            [lines[e] for e in engines], engines, loc="center", ncols=min(2 * columns, len(engines)), frameon=False
        )
        figure.supylabel(up)
        heading = relative.chart_heading if relative.applies(family) else tables.heading
        figure.suptitle(heading(family, context), fontsize=10, wrap=True)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
