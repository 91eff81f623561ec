"""Charts as SVG: panels side by side, three in a row."""

import math

import charts  # of bench/report, for the same style
from matplotlib import pyplot

from figures import measured, value

COLUMNS = 3


STAR = {"marker": "*", "markersize": 11, "linestyle": "none", "markeredgecolor": "black", "zorder": 3}


def draw_panel(axes, panel, found, real):
    """Whether any of it is real."""
    any_real = False
    xs = panel.xs
    axes.set_xticks(range(len(xs)), [str(x) for x in xs])
    if panel.stacked:
        heights = [[value(line, x, found, panel.value) for x in xs] for line in panel.lines]
        colours = [line.line_style["color"] for line in panel.lines]
        styles = {"labels": [line.label for line in panel.lines], "colors": colours}
        axes.stackplot(range(len(xs)), heights, **styles)
    for line in [] if panel.stacked else panel.lines:
        points = [(i, value(line, x, found, panel.value)) for i, x in enumerate(xs)]
        points = [point for point in points if point[1] is not None]
        axes.plot(*zip(*points), label=line.label, markersize=4, linewidth=1.6, **line.line_style)
        stars = measured(line, real, panel.value)
        axes.plot([xs.index(x) for x in stars], list(stars.values()), color=line.line_style["color"], **STAR)
        any_real = any_real or bool(stars)
    if panel.lines[0].by is not None:
        axes.axhline(1, color="black", linewidth=1)
    if panel.logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, axes.get_ylim()[1] * 1.04)
    axes.yaxis.set_minor_formatter("")
    axes.yaxis.set_major_formatter(lambda v, _: f"{v / 1e6:g} M" if v >= 1e6 else f"{v / 1e3:g} k" if v >= 1e3 else f"{v:g}")
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.across)
    axes.set_ylabel(panel.up, fontsize=9)
    return any_real


def legend(axes, beside, columns):
    beside.axis("off")
    handles = axes.get_legend_handles_labels()
    beside.legend(*handles, loc="center", ncols=min(columns, len(handles[1])), frameon=False)


def draw(path, chart, found, real):
    with pyplot.rc_context(charts.SETTINGS):
        together = [line.label for line in chart.panels[0].lines]
        apart = any([line.label for line in panel.lines] != together for panel in chart.panels)
        columns = min(len(chart.panels), 2) if apart else len(chart.panels) if len(chart.panels) < 5 else COLUMNS
        rows = math.ceil(len(chart.panels) / columns)
        # A legend under each panel, or one for all panels in a row of its own.
        heights = [1, 0.45] * rows if apart else [1] * rows + [0.2 / rows]
        size = (max(7.0, (4.0 if apart else 2.9) * columns), 3.7 * rows + 0.7 if apart else 2.5 * rows + 1.4)
        figure = pyplot.figure(figsize=size, layout="constrained")
        grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
        stars = False
        for i, panel in enumerate(chart.panels):
            row = i // columns * (2 if apart else 1)
            axes = figure.add_subplot(grid[row, i % columns])
            stars = draw_panel(axes, panel, found, real) or stars
            if apart:
                legend(axes, figure.add_subplot(grid[row + 1, i % columns]), 2)
        if not apart:
            legend(axes, figure.add_subplot(grid[rows, :]), 3)
        figure.supylabel(chart.up, fontsize=9)
        real_ones = "; stars: real nodes" if stars else ""
        figure.suptitle(f"{chart.title} (simulated{real_ones})", fontsize=10)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
