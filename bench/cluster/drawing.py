"""Charts as SVG: panels side by side, three in a row."""

import math

import charts  # of bench/report: the same looks
from matplotlib import pyplot

from figures import measured, value

COLUMNS = 3


STAR = {"marker": "*", "markersize": 11, "linestyle": "none", "markeredgecolor": "black", "zorder": 3}


def draw_panel(axes, panel, found, real):
    """Whether any of it is real."""
    any_real = False
    for line in panel.lines:
        xs = list(line.points)
        points = [(i, value(line, x, found, panel.value)) for i, x in enumerate(xs)]
        points = [point for point in points if point[1] is not None]
        axes.plot(*zip(*points), label=line.label, markersize=4, linewidth=1.6, **line.look)
        axes.set_xticks(range(len(xs)), [str(x) for x in xs])
        stars = measured(line, real, panel.value)
        axes.plot([xs.index(x) for x in stars], list(stars.values()), color=line.look["color"], **STAR)
        any_real = any_real or bool(stars)
    if panel.lines[0].by is not None:
        axes.axhline(1, color="black", linewidth=1)
    if panel.logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_minor_formatter("")
    axes.yaxis.set_major_formatter(lambda v, _: f"{v / 1e6:g} M" if v >= 1e6 else f"{v / 1e3:g} k" if v >= 1e3 else f"{v:g}")
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.across)
    return any_real


def legend(axes, beside, columns):
    beside.axis("off")
    handles = axes.get_legend_handles_labels()
    beside.legend(*handles, loc="center", ncols=min(columns, len(handles[1])), frameon=False)


def draw(path, chart, found, real):
    with pyplot.rc_context(charts.SETTINGS):
        together = [line.label for line in chart.panels[0].lines]
        apart = any([line.label for line in panel.lines] != together for panel in chart.panels)
        columns = len(chart.panels) if len(chart.panels) < 5 else COLUMNS
        rows = math.ceil(len(chart.panels) / columns)
        size = (max(7.0, (4.0 if apart else 2.9) * columns), (1.9 if apart else 1.4) + 2.5 * rows)
        figure = pyplot.figure(figsize=size, layout="constrained")
        # The last row is for the legend: one for all panels, or one under each.
        grid = figure.add_gridspec(rows + 1, columns, height_ratios=[1] * rows + [(0.4 if apart else 0.2) / rows])
        stars = False
        for i, panel in enumerate(chart.panels):
            axes = figure.add_subplot(grid[i // columns, i % columns])
            stars = draw_panel(axes, panel, found, real) or stars
            if apart:
                legend(axes, figure.add_subplot(grid[rows, i % columns]), 2)
        if not apart:
            legend(axes, figure.add_subplot(grid[rows, :]), 3)
        figure.supylabel(chart.up, fontsize=9)
        real_ones = "; stars: real nodes" if stars else ""
        figure.suptitle(f"{chart.title} (simulated{real_ones})", fontsize=10)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
