"""How Swarm kept its deadlines, and what stricter modes cost who is alone: tables, and what is to be drawn."""

import itertools
import statistics

from cells import Cells, rounds_of
from sheet import sheet
from tables import factor, number


class Report:
    name = "deadlines"

    def __init__(self, document):
        self.context = document["context"]
        self.threads = self.context["threads"]
        self.keys = list(itertools.product(self.context["modes"], self.context["policies"]))
        self.cells = Cells([run for run in document["runs"] if "policy" in run], "mode", "policy", "threads")
        self.lengths = Lengths(document) if "modes_of_lengths" in self.context else None

    def figure(self, field, scale=1):
        def of(key, threads):
            value = self.cells.median((*key, threads), field)
            return None if value is None else scale * value

        return of

    def heading(self):
        c = self.context
        return (
            f"swarm: {c['objects']} objects, deadline {c['deadline_ms']} ms, {rounds_of(self.cells)} of "
            f"{c['seconds']:g} s, {c['algorithm']}"
        )

    def text(self):
        def digits(of, form):
            return lambda key, t: "" if of(key, t) is None else format(of(key, t), form)

        def rate(key, t):
            steps, seconds = self.cells.median((*key, t), "steps"), self.cells.median((*key, t), "seconds")
            return number(steps / seconds / 1e3) if steps and seconds else ""

        blocks = [
            ("deadline kept %", digits(self.figure("success", 100), ".1f")),
            ("frames a second", digits(self.figure("fps"), ".1f")),
            ("others retry %", digits(self.figure("retry_rate", 100), ".2f")),
            ("p99 of snapshots, ms", digits(self.figure("p99_ms"), ".2f")),
            ("thousand steps a second", rate),
        ]
        rows = [(" ".join(key), key) for key in self.keys]
        table = sheet(rows, self.threads, blocks)
        lengths = self.lengths.text() if self.lengths else []
        return "\n".join([self.heading(), self.cells.trust("steps"), "", *table, "", *lengths])

    def draw(self, drawing, folder):
        colours = ["#0072b2", "#009e73", "#e69f00", "#d55e00", "#cc79a7"]  # Okabe and Ito, as in bench/report
        lines = []
        for mode, policy in self.keys:
            colour = colours[self.context["modes"].index(mode) % len(colours)]
            which = self.context["policies"].index(policy)
            line_style = {"color": colour, "linestyle": ["--", "-", ":"][which % 3], "marker": "o^s"[which % 3]}
            lines.append((f"{mode} {policy}", (mode, policy), line_style))
        panels = [
            drawing.Panel("deadline kept, %", self.figure("success", 100), top=103, level=100 * self.context["qos"]),
            drawing.Panel("others' attempts retried, %", self.figure("retry_rate", 100)),
            drawing.Panel("frames a second", self.figure("fps")),
        ]
        drawing.draw(folder / "deadlines.svg", self.heading(), self.threads, panels, lines)
        if self.lengths:
            self.lengths.draw(drawing, folder)


class Lengths:
    """The blocks of the programs after STAMP, in each mode."""

    def __init__(self, document):
        self.modes = document["context"]["modes_of_lengths"]
        self.runs = {}
        for run in document["runs"]:
            if "lengths" in run:
                for site, length in run["lengths"].items():
                    self.runs.setdefault((site, run["mode"]), []).append(length)
        self.sites = sorted({site for site, _ in self.runs})

    def microseconds(self, site, mode, field):
        lengths = self.runs.get((site, mode))
        return statistics.median(length[field] for length in lengths) / 1e3 if lengths else None

    def over(self, site, mode, field):
        """By that in the first mode, which is the optimistic one."""
        strict, optimistic = (self.microseconds(site, m, field) for m in (mode, self.modes[0]))
        return strict / optimistic if strict and optimistic else None

    def text(self):
        def cell(site, column):
            mode, field = column
            if mode == self.modes[0]:
                return number(self.microseconds(site, mode, field))
            return factor(self.over(site, mode, field))

        rows = [(site, site) for site in self.sites]
        fields = {"median": "median_ns", "90th percentile": "p90_ns", "99th percentile": "p99_ns"}
        lines = [f"lengths of blocks, one thread: {self.modes[0]} in us, the others by that"]
        columns = [(title, lambda site, mode, f=field: cell(site, (mode, f))) for title, field in fields.items()]
        means = []
        for mode in self.modes[1:]:
            factors = [self.over(site, mode, "median_ns") for site in self.sites]
            if factors and all(factors):
                means.append(f"{mode}: geometric mean of the medians {factor(statistics.geometric_mean(factors))}")
        return [*lines, "", *sheet(rows, self.modes, columns, head="mode"), "", *means, ""]

    def draw(self, drawing, folder):
        if self.sites:
            drawing.draw_lengths(folder / "lengths.svg", self.sites, self.modes, self.microseconds)
