"""How Swarm kept its deadlines: a table, and what is to be drawn."""

import itertools

from cells import Cells, rounds_of
from sheet import sheet
from tables import number


class Report:
    name = "deadlines"

    def __init__(self, document):
        self.context = document["context"]
        self.threads = self.context["threads"]
        self.keys = list(itertools.product(self.context["modes"], self.context["policies"]))
        self.cells = Cells(document["runs"], "mode", "policy", "threads")

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
        return "\n".join([self.heading(), self.cells.trust("steps"), "", *sheet(rows, self.threads, blocks), ""])

    def draw(self, drawing, folder):
        colours = ["#0072b2", "#009e73", "#e69f00", "#d55e00"]  # Okabe and Ito, as in bench/report
        lines = []
        for mode, policy in self.keys:
            colour = colours[self.context["modes"].index(mode) % len(colours)]
            which = self.context["policies"].index(policy)
            look = {"color": colour, "linestyle": ["--", "-", ":"][which % 3], "marker": "o^s"[which % 3]}
            lines.append((f"{mode} {policy}", (mode, policy), look))
        panels = [
            drawing.Panel("deadline kept, %", self.figure("success", 100), top=103, level=100 * self.context["qos"]),
            drawing.Panel("others' attempts retried, %", self.figure("retry_rate", 100)),
            drawing.Panel("frames a second", self.figure("fps")),
        ]
        drawing.draw(folder / "deadlines.svg", self.heading(), self.threads, panels, lines)
