"""The paper's figures 7, 8 and 9, drawn from a sweep."""

import charts  # of bench/report, for the same style
from matplotlib import pyplot

# Colours that colour-blind people can tell apart (Okabe and Ito, Color Universal Design, 2008).
COLOURS = ["#d55e00", "#0072b2", "#009e73", "#e69f00", "#cc79a7"]


def style_of(name, names):
    """Baseline black; a colour for each C_max, dashed with lazy priority boost."""
    if name == "baseline":
        return {"color": "black", "marker": "s", "linewidth": 2}
    bounds = sorted({n.split(",")[0] for n in names if n != "baseline"})
    return {
        "color": COLOURS[bounds.index(name.split(",")[0]) % len(COLOURS)],
        "linestyle": "--" if "lazy" in name else "-",
        "marker": "o",
        "markersize": 4,
    }


def draw(path, title, unit, lines, logarithmic=False):
    """`lines`: for each configuration, a value for each priority."""
    with pyplot.rc_context(charts.SETTINGS):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.8))
        for name, values in lines.items():
            axes.plot(list(values), list(values.values()), label=name, **style_of(name, lines))
        axes.set_title(title)
        axes.set_xlabel("priority")
        axes.set_ylabel(unit)
        axes.set_xticks([1, 2, 3, 4, 5])
        if logarithmic:
            axes.set_yscale("log")
        axes.legend(fontsize=7, handlelength=3.5, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
        pyplot.close(figure)


def draw_figures(folder, load, table):
    """`table[configuration][priority]` has `mean` and `aborts`, and in `base` those of the baseline beside it."""
    mean = {name: {p: of["mean"] for p, of in row.items()} for name, row in table.items()}
    others = [name for name in table if name != "baseline"]
    draw(folder / f"turnaround-{load}.svg", f"Mean turnaround at {load} % load", "microseconds", mean, True)
    draw(
        folder / f"speedup-{load}.svg",
        f"Baseline's turnaround over the preemptive one's at {load} % load",
        "ratio",
        {
            name: {p: of["base"]["mean"] / of["mean"] for p, of in table[name].items() if of["mean"] > 0}
            for name in others
        },
    )
    draw(
        folder / f"aborts-{load}.svg",
        f"Change of the abort probability at {load} % load",
        "percentage points",
        {name: {p: 100 * (of["aborts"] - of["base"]["aborts"]) for p, of in table[name].items()} for name in others},
    )
