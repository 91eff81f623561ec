"""The charts: figures 6.1 to 6.15 of Mishra, "HyflowCPP" (2013), and what happens at scale. A chart has panels, a panel
has lines, and a line has a point for each x."""

import dataclasses

from points import as_measured, key
from programs import Failure  # of bench/contention

READS = 20, 50, 80
STAY, MOVE = {"color": "#d55e00", "marker": "o"}, {"color": "#0072b2", "marker": "D"}
COLOURS = {"closed": "#0072b2", "checkpoint": "#d55e00", "open": "#009e73"}
STYLES = "-", "--", ":"


@dataclasses.dataclass
class Line:
    label: str
    look: dict
    points: dict  # x to the key of its point
    by: dict | None = None  # x to the key of the point that it is divided by


@dataclasses.dataclass
class Panel:
    title: str
    across: str
    lines: list
    value: str = "per_second"
    logarithmic: bool = False


@dataclasses.dataclass
class Chart:
    number: str
    title: str
    up: str
    panels: list

    @property
    def name(self):
        return f"figure-{self.number}" if self.number[0].isdigit() else self.number


def is_contended(workload):
    return workload in ("list", "skiplist", "tree")


class Charts:
    """All of them, or those of `wanted`. `quick`: fewer points, and less time for each."""

    def __init__(self, quick, wanted=None):
        self.nodes = (2, 8, 48) if quick else (2, 4, 8, 16, 32, 48)
        self.few_nodes = (2, 8) if quick else (2, 4, 8, 16)
        self.tpcc_nodes = (1, *self.nodes)  # the paper's begins where nothing is remote
        self.inner = (2, 10) if quick else (2, 5, 10)
        self.many_nodes = (2, 48, 100, 1000) if quick else (2, 8, 24, 48, 100, 300, 1000)
        self.threads = (1, 4, 24) if quick else (1, 2, 4, 8, 16, 24)
        # Where there is contention few transactions come through, so they get more time.
        self.plenty, self.scarce = (10, 40) if quick else (50, 500)
        # Milliseconds that pass first: pointers to objects that move get old slowly, and a node that has too much to do
        # falls behind slowly. A quick run sees neither.
        self.aged, self.settled = (5, 5) if quick else (1000, 60)
        # Its transactions are long, and its rows many: so all move by then, and a point has some hundreds at least.
        self.long = 20 if quick else 60
        flat = {"6.1": "bank", "6.2": "list", "6.3": "skiplist", "6.4": "tree", "6.5": "hash"}
        flat |= {"6.6": "vacation", "6.7": "loan"}
        nested = {"6.9": ("bank", 200), "6.10": ("list", 50), "6.11": ("skiplist", 50), "6.12": ("hash", 300)}
        opened = {"6.13": ("hash", 300), "6.14": ("skiplist", 50), "6.15": ("tree", 50)}
        self.all = [self.flat(n, w) for n, w in flat.items()]
        self.all.append(self.tpcc())
        self.all += [self.nested(n, *w) for n, w in nested.items()]
        self.all += [self.opened(n, *w) for n, w in opened.items()]
        self.all.append(self.scale())
        known = [chart.number for chart in self.all]
        if strange := set(wanted or []) - set(known):
            raise Failure(f"there is no figure {min(strange)}; there are: {', '.join(known)}")
        self.all = [chart for chart in self.all if wanted is None or chart.number in wanted]

    def point(self, workload, **how):
        if how.get("move"):
            how["warm_up"] = self.aged
        contended = is_contended(workload) or "inner" in how
        return key(workload=workload, **how, milliseconds=self.scarce if contended else self.plenty)

    def flat(self, number, workload):
        def over_nodes(reads, move):
            return {n: self.point(workload, nodes=n, reads=reads, move=move) for n in self.nodes}

        panels = [
            Panel(
                f"{reads} % reads",
                "nodes",
                [
                    Line("objects stay", STAY, over_nodes(reads, False)),
                    Line(f"objects move to writers, after {self.aged} ms", MOVE, over_nodes(reads, True)),
                ],
                logarithmic=is_contended(workload),
            )
            for reads in READS
        ]
        if workload in ("bank", "hash"):
            lines = [
                Line(label, look, {t: self.point(workload, nodes=8, threads=t, move=move) for t in self.threads})
                for label, look, move in (
                    ("objects stay", STAY, False),
                    (f"objects move to writers, after {self.aged} ms", MOVE, True),
                )
            ]
            panels.append(Panel("8 nodes, 20 % reads", "threads of each node", lines))
        return Chart(number, f"Figure {number}: flat, {workload}", "transactions a second", panels)

    def tpcc(self):
        def over_nodes(warehouses, move):
            return {
                n: key(
                    workload="tpcc",
                    nodes=n,
                    objects=warehouses(n),
                    move=move,
                    warm_up=self.long,
                    milliseconds=self.long,
                )
                for n in self.tpcc_nodes
            }

        def lines(warehouses):
            return [
                Line("rows stay", STAY, over_nodes(warehouses, False)),
                Line(f"rows move to writers, after {self.long} ms", MOVE, over_nodes(warehouses, True)),
            ]

        panels = [
            Panel(f"{title}: {what}", "nodes", lines(warehouses), value, value == "per_second")
            for title, warehouses in (("1 warehouse", lambda n: 1), ("a warehouse a node", lambda n: n))
            for what, value in (
                ("transactions/s", "per_second"),
                ("aborts by transactions", "aborts"),
                ("round trips", "round_trips"),
            )
        ]
        return Chart("6.8", "Figure 6.8: flat, TPC-C, a hundredth of its rows", "", panels)

    def relative(self, workload, nesting, inner, objects, reads, style):
        def over_nodes(how):
            return {
                n: self.point(workload, nodes=n, inner=inner, nesting=how, objects=objects, reads=reads)
                for n in self.few_nodes
            }

        return {
            "look": {"color": COLOURS[nesting], "linestyle": style, "marker": "o"},
            "points": over_nodes(nesting),
            "by": over_nodes("flat"),
        }

    def nested(self, number, workload, objects):
        panels = []
        for title, grows in ((f"{objects} objects", False), (f"{objects} objects for 2 steps, as many more", True)):
            lines = [
                Line(
                    f"{nesting}, {inner} steps",
                    **self.relative(workload, nesting, inner, objects * inner // 2 if grows else objects, 20, style),
                )
                for nesting in ("closed", "checkpoint")
                for inner, style in zip(self.inner, STYLES)
            ]
            panels.append(Panel(title, "nodes", lines))
        return Chart(
            number, f"Figure {number}: closed and checkpoint, {workload}, 20 % reads", "by flat", panels
        )

    def opened(self, number, workload, objects):
        by_inner = [
            Line(f"{nesting}, {inner} steps", **self.relative(workload, nesting, inner, objects, 20, style))
            for nesting in ("closed", "open")
            for inner, style in zip(self.inner, STYLES)
        ]
        by_reads = [
            Line(f"{nesting}, {reads} % reads", **self.relative(workload, nesting, self.inner[-1], objects, reads, style))
            for nesting in ("closed", "open")
            for reads, style in zip(READS, STYLES)
        ]
        panels = [Panel("20 % reads", "nodes", by_inner), Panel(f"{self.inner[-1]} steps", "nodes", by_reads)]
        return Chart(number, f"Figure {number}: open and closed, {workload}, {objects}", "by flat", panels)

    def scale(self):
        def over_nodes(objects, move=False):
            return {
                n: key(
                    workload="bank",
                    nodes=n,
                    objects=objects(n),
                    move=move,
                    warm_up=self.settled,
                    milliseconds=self.plenty / 5,
                )
                for n in self.many_nodes
            }

        lines = [
            Line("10,000 accounts", STAY, over_nodes(lambda n: 10_000)),
            Line("the same, and they move", MOVE, over_nodes(lambda n: 10_000, True)),
            Line("1,000 accounts a node", {"color": "#009e73", "marker": "^"}, over_nodes(lambda n: 1000 * n)),
        ]
        panels = [
            Panel("transactions a second", "nodes", lines, "per_second", True),
            Panel("aborted attempts by transactions", "nodes", lines, "aborts"),
            Panel("messages a transaction", "nodes", lines, "messages"),
            Panel("of these about owners", "nodes", lines, "directory"),
            Panel("the busiest node's time", "nodes", lines, "busiest"),
            Panel("all nodes' time", "nodes", lines, "busy"),
            Panel("highest clock by lowest", "nodes", lines, "clock_apart"),
            Panel("objects and pointers, of a node", "nodes", lines, "entries", True),
            Panel("old values kept, of a node", "nodes", lines, "old_values"),
        ]
        return Chart("scale", f"Bank at scale, 20 % reads, after {self.settled} ms", "", panels)

    def points(self):
        """Each once."""
        lines = [line for chart in self.all for panel in chart.panels for line in panel.lines]
        return list(dict.fromkeys(k for line in lines for k in [*line.points.values(), *(line.by or {}).values()]))


def measured(line, real, of):
    """Of the points of a line, those that real processes have run: x to figure."""
    known = {} if line.by is not None else {x: real.get(as_measured(point)) for x, point in line.points.items()}
    return {x: figures[of] for x, figures in known.items() if figures is not None and of in figures}


def value(line, x, found, of):
    figure = found[line.points[x]][of]
    if line.by is None:
        return figure
    base = found[line.by[x]][of]
    return figure / base if base else None
