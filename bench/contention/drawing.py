"""A chart over the number of threads: panels side by side, the same lines in each of them."""

import dataclasses
import typing

import charts  # of bench/report, for the same style
from matplotlib import pyplot


@dataclasses.dataclass
class Panel:
    title: str
    value: typing.Callable  # of a line's key and a number of threads; None if there is no value
    logarithmic: float | None = None  # if set, logarithmic from this value on
    bottom: float = 0
    top: float | None = None
    level: float | None = None  # a reference value


def draw_panel(axes, panel, threads, lines):
    if panel.level is not None:
        axes.axhline(panel.level, color="#777777", linewidth=1)
    for label, key, line_style in lines:
        points = [(i, panel.value(key, t)) for i, t in enumerate(threads)]
        points = [point for point in points if point[1] is not None]
        if points:
            axes.plot(*zip(*points), label=label, **{"markersize": 4, **line_style})
    if panel.logarithmic is not None:
        axes.set_yscale("symlog", linthresh=panel.logarithmic)
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_ylim(bottom=panel.bottom, top=panel.top)
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel("threads")
    axes.set_xticks(range(len(threads)), [str(t) for t in threads])
    axes.set_xlim(-0.3, len(threads) - 0.7)


def draw(path, heading, threads, panels, lines):
    """`lines` are triples of a label, a key and keywords of matplotlib for the line."""
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


def draw_lengths(path, sites, modes, microseconds):
    """A line for each site, from the median over the 90th to the 99th percentile, in each mode."""
    with pyplot.rc_context(charts.SETTINGS):
        figure = pyplot.figure(figsize=(7.5, 0.36 * len(sites) + 1.2), layout="constrained")
        axes = figure.add_subplot()
        for i, mode in enumerate(modes):
            colour = ["#0072b2", "#d55e00", "#009e73"][i % 3]
            for row, site in enumerate(sites):
                points = [microseconds(site, mode, field) for field in ("median_ns", "p90_ns", "p99_ns")]
                if None in points:
                    continue
                at = [row + 0.22 * (i - (len(modes) - 1) / 2)] * 3
                axes.plot(points, at, color=colour, linewidth=1.2, label=mode if row == 0 else None)
                for point, marker in zip(points, "o|>"):
                    axes.plot(point, at[0], color=colour, marker=marker, markersize=4)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("microseconds: median, 90th and 99th percentile")
        axes.set_yticks(range(len(sites)), sites)
        axes.invert_yaxis()
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        figure.suptitle("lengths of blocks, one thread", fontsize=10)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
