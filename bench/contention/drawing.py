"""A chart over the number of threads: panels side by side, the same lines in each of them."""

import dataclasses
import typing

import charts  # of bench/report: the same looks
from matplotlib import pyplot


@dataclasses.dataclass
class Panel:
    title: str
    value: typing.Callable  # of a line's key and a number of threads; None where there is nothing to show
    logarithmic: float | None = None  # if so, from this value on
    bottom: float = 0
    top: float | None = None
    level: float | None = None  # a value to compare with


def draw_panel(axes, panel, threads, lines):
    if panel.level is not None:
        axes.axhline(panel.level, color="#777777", linewidth=1)
    for label, key, look in lines:
        points = [(i, panel.value(key, t)) for i, t in enumerate(threads)]
        points = [point for point in points if point[1] is not None]
        if points:
            axes.plot(*zip(*points), label=label, **{"markersize": 4, **look})
    if panel.logarithmic is not None:
        axes.set_yscale("symlog", linthresh=panel.logarithmic)
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylim(bottom=panel.bottom, top=panel.top)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel("threads")
    axes.set_xticks(range(len(threads)), [str(t) for t in threads])
    axes.set_xlim(-0.3, len(threads) - 0.7)


def draw(path, heading, threads, panels, lines):
    """`lines` are triples of a label, a key and what matplotlib is told of the line."""
    with pyplot.rc_context(charts.SETTINGS):
        count = len(panels)
        figure = pyplot.figure(figsize=(3.6 * count + 1.8, 3.6), layout="constrained")
        # The last column is for the legend.
        grid = figure.add_gridspec(1, count + 1, width_ratios=[1] * count + [0.45])
        for i, panel in enumerate(panels):
            axes = figure.add_subplot(grid[0, i])
            draw_panel(axes, panel, threads, lines)
        beside = figure.add_subplot(grid[0, count])
        beside.axis("off")
        beside.legend(*axes.get_legend_handles_labels(), loc="center", frameon=False)
        figure.suptitle(heading, fontsize=10)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
