"""What the policies came to: tables, a summary, and what is to be drawn."""

import statistics

from cells import Cells, rounds_of
from sheet import sheet
from tables import factor, number

BASE = "backoff"  # suicide with back-off: the simplest policy without starvation


class Report:
    name = "policies"

    def __init__(self, document):
        context = document["context"]
        self.default = context["default"]
        self.programs, self.policies = context["programs"], context["policies"]
        self.threads = context["threads"]
        self.sizes = context["sizes"]
        self.algorithm = context["algorithm"]
        self.cells = Cells(document["runs"], "program", "policy", "threads")

    def seconds(self, program, policy, threads):
        return self.cells.median((program, policy, threads), "seconds")

    def over(self, program, policy, other, threads):
        """Throughput by that of another policy. The input is the same, so it is all in the time."""
        one, base = self.seconds(program, policy, threads), self.seconds(program, other, threads)
        return base / one if one and base else None

    def best(self, program, threads, among):
        done = [p for p in among if self.seconds(program, p, threads)]
        return min(done, key=lambda p: self.seconds(program, p, threads), default=None)

    def rows(self):
        return [(f"{p} (default)" if p == self.default else p, p) for p in self.policies]

    def heading(self, program):
        size = f", size {self.sizes[program]}" if program in self.sizes else ""
        return f"{program}{size}: {rounds_of(self.cells)}, {self.algorithm}"

    def table(self, program):
        def time(policy, threads):
            limit = self.cells.limit((program, policy, threads))
            seconds = self.seconds(program, policy, threads)
            return f">{limit:g}" if limit and seconds is None else number(seconds)

        def aborts(policy, threads):
            value = self.cells.median((program, policy, threads), "aborts_per_commit")
            return f"{value:.4f}" if value is not None and value < 0.1 else number(value)

        def by_base(policy, threads):
            return factor(self.over(program, policy, BASE, threads))

        blocks = [("seconds", time), ("aborts a commit", aborts), (f"throughput by {BASE}", by_base)]
        return sheet(self.rows(), self.threads, blocks)

    def mean(self, policy, threads):
        """Geometric mean over the programs; None unless every one of them ended."""
        factors = [self.over(program, policy, BASE, threads) for program in self.programs]
        return statistics.geometric_mean(factors) if all(factors) else None

    def summary(self):
        crowded = [t for t in self.threads if t >= 8] or self.threads[-1:]
        threads = [t for t in self.threads if t == 1 or t in crowded]
        others = [p for p in self.policies if p != self.default]

        def best_of(program, t):
            return self.best(program, t, self.policies)

        def default_by_other(program, t):
            return factor(self.over(program, self.default, self.best(program, t, others), t))

        blocks = [
            ("fastest policy", lambda program, t: best_of(program, t) or ""),
            (f"it by {BASE}", lambda program, t: factor(self.over(program, best_of(program, t), BASE, t))),
            (f"{self.default} by {BASE}", lambda program, t: factor(self.over(program, self.default, BASE, t))),
            (f"{self.default} by the fastest other", default_by_other),
        ]
        means = [("geometric mean over the programs", lambda policy, t: factor(self.mean(policy, t)))]
        return [
            f"summary: throughput, {rounds_of(self.cells)}, {self.algorithm}",
            self.cells.trust("seconds"),
            "",
            *sheet([(p, p) for p in self.programs], threads, blocks),
            "",
            f"throughput by {BASE}",
            *sheet(self.rows(), self.threads, means),
        ]

    def text(self):
        parts = [[self.heading(program), "", *self.table(program), ""] for program in self.programs]
        return "\n".join([line for part in parts for line in part] + self.summary()) + "\n"

    def draw(self, drawing, folder):
        lines = [
            (label, policy, self.line_style(i, policy, drawing.charts)) for i, (label, policy) in enumerate(self.rows())
        ]
        for program in self.programs:
            alone = self.seconds(program, BASE, 1) or self.seconds(program, self.default, self.threads[0])

            def speed(policy, threads, program=program, alone=alone):
                seconds = self.seconds(program, policy, threads)
                return alone / seconds if seconds and alone else None

            def aborts(policy, threads, program=program):
                return self.cells.median((program, policy, threads), "aborts_per_commit")

            panels = [
                drawing.Panel(f"throughput by that of {BASE} alone", speed),
                drawing.Panel("aborts a commit, logarithmic", aborts, logarithmic=1e-4),
            ]
            drawing.draw(folder / f"{program}.svg", self.heading(program), self.threads, panels, lines)

    def line_style(self, index, policy, charts):
        if policy == self.default:
            return {"color": "#d55e00", "marker": "o", "linewidth": 2.4, "zorder": 5}
        if policy == BASE:
            return {"color": "black", "marker": "s", "linewidth": 1.8, "zorder": 4}
        colours = [*charts.OTHERS, "#0072b2"]
        styles = ["-", "--", ":"]
        return {
            "color": colours[index % len(colours)],
            "linestyle": styles[index // len(colours) % len(styles)],
            "marker": "^vDxP<>"[index % 7],
        }
