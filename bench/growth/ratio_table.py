"""One chart of all curves: a small panel for each, in it a line for each algorithm, level where nothing grows."""

import math

import charts  # of bench/report, for the same style
from matplotlib import pyplot

from size_series import WITHOUT

COLUMNS = 5
STYLES = {
    "wb-etl": {"color": "#d55e00", "marker": "o", "linewidth": 2.0, "zorder": 5},
    "wt-etl": {"color": "#e69f00", "marker": "^"},
    "wb-ctl": {"color": "#0072b2", "marker": "D"},
    "norec": {"color": "#009e73", "marker": "v"},
    "serial": {"color": "#777777", "marker": "x"},
    "global-lock": {"color": "#cc79a7", "marker": "+"},
    WITHOUT: {"color": "black", "linestyle": ":", "marker": ""},
}
WITHOUT_LABEL = "no transactions"


def draw_panel(axes, report, curve):
    for index, line in enumerate(report.lines_of(curve)):
        points = [(size, line.unit(size)) for size in sorted(line.values)]
        points = [(size, value) for size, value in points if value > 0]
        if points:
            label = WITHOUT_LABEL if line.algorithm == WITHOUT else line.algorithm
            line_style = STYLES.get(line.algorithm) or charts.style_of(line.algorithm, index)
            axes.plot(*zip(*points), label=label, **{"markersize": 3, "linewidth": 1.2, **line_style})
            if line.stopped:
                where = {"xytext": (3, 3), "textcoords": "offset points"}
                axes.annotate("stopped", points[-1], fontsize=6, color=line_style["color"], **where)
    axes.set_xscale("log")
    axes.set_yscale("log")
    # Shows at least two decades, so that noise does not look like a jump.
    low, high = axes.get_ylim()
    if high / low < 100:
        middle = math.sqrt(low * high)
        axes.set_ylim(middle / 10, middle * 10)
    axes.set_title(f"{curve['name']}\n{curve['of']}{', bytes' if curve['bytes'] else ', ns'}", fontsize=8)
    axes.set_xlabel(curve["over"], fontsize=7)
    axes.tick_params(labelsize=7)
    axes.minorticks_off()


def draw(path, report):
    with pyplot.rc_context(charts.SETTINGS):
        columns = min(COLUMNS, len(report.curves))
        rows = math.ceil(len(report.curves) / columns)
        figure = pyplot.figure(figsize=(max(6.0, 2.7 * columns), 0.8 + 2.1 * rows), layout="constrained")
        # The first row is for the legend.
        grid = figure.add_gridspec(rows + 1, columns, height_ratios=[0.15, *[1] * rows])
        handles = {}
        for index, curve in enumerate(report.curves):
            axes = figure.add_subplot(grid[1 + index // columns, index % columns])
            draw_panel(axes, report, curve)
            for handle, label in zip(*axes.get_legend_handles_labels()):
                handles.setdefault(label, handle)
        top = figure.add_subplot(grid[0, :])
        top.axis("off")
        top.legend(handles.values(), handles, loc="center", ncols=len(handles), frameon=False)
        figure.suptitle("What one takes by how many there are: a level line is what is due", fontsize=10)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
