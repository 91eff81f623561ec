"""The charts: figures 6.1 to 6.15 of Mishra, "HyflowCPP" (2013), and what happens at scale. A chart has panels, a panel
has lines, and a line has a point for each x."""

import dataclasses

from points import as_measured, key
from programs import Failure  # of bench/contention

READS = 20, 50, 80
STAY, MOVE = {"color": "#d55e00", "marker": "o"}, {"color": "#0072b2", "marker": "D"}
# The nesting of a transaction's steps, and the style of each kind.
WAYS = {
    "flat": {"nesting": "flat"},
    "closed": {"nesting": "closed"},
    "checkpoint": {"nesting": "checkpoint"},
    "open": {"nesting": "open"},
    "open under locks": {"nesting": "open", "locks": True},
}
COLOURS = {"closed": "#0072b2", "checkpoint": "#d55e00", "open": "#009e73", "open under locks": "#cc79a7"}
STYLES = "-", "--", ":"
# The parts of open nesting's time, from the bottom to the top.
PARTS = {
    "commits": ("commits", "#0072b2"),
    "steps": ("steps", "#56b4e9"),
    "lost": ("attempts rolled back", "#e69f00"),
    "undoing": ("steps taken back", "#d55e00"),
    "locks": ("abstract locks", "#cc79a7"),
    "pauses": ("pauses", "#999999"),
}


@dataclasses.dataclass
class Line:
    label: str
    line_style: dict
    points: dict  # x to the key of its point
    by: dict | None = None  # x to the key of the point that divides it
    value: str | None = None  # instead of the panel's

    def keys(self):
        return [*self.points.values(), *(self.by or {}).values()]


@dataclasses.dataclass
class Panel:
    title: str
    across: str
    lines: list
    value: str = "per_second"
    logarithmic: bool = False
    up: str = ""  # if panels differ
    stacked: bool = False

    @property
    def xs(self):
        return sorted({x for line in self.lines for x in line.points})


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
        self.calm_and_crowded = (2, 8) if quick else (4, 16)
        self.open_nodes = (2, 8, 48) if quick else (2, 8, 16, 48)
        self.tpcc_nodes = (1, *self.nodes)  # the paper's range begins at 1, where nothing is remote
        self.inner = (2, 10) if quick else (2, 5, 10)
        self.many_nodes = (2, 48, 100, 1000) if quick else (2, 8, 24, 48, 100, 300, 1000)
        self.threads = (1, 4, 24) if quick else (1, 2, 4, 8, 16, 24)
        # With contention, few transactions commit, so these points get more time.
        self.plenty, self.scarce = (10, 40) if quick else (50, 500)
        # Milliseconds before the measurement: pointers to moving objects become outdated slowly, and an overloaded node
        # falls behind slowly. A quick run shows neither.
        self.aged, self.settled = (5, 5) if quick else (1000, 60)
        # Transactions are long and rows are many: in this time all rows move, and a point has at least some hundreds.
        self.long = 20 if quick else 60
        flat = {"6.1": "bank", "6.2": "list", "6.3": "skiplist", "6.4": "tree", "6.5": "hash"}
        flat |= {"6.6": "vacation", "6.7": "loan"}
        nested = {"6.9": ("bank", 200), "6.10": ("list", 50), "6.11": ("skiplist", 50), "6.12": ("hash", 300)}
        opened = {"6.13": ("hash", 300, 1500), "6.14": ("skiplist", 100, 1000), "6.15": ("tree", 100, 1000)}
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
                Line(label, line_style, {t: self.point(workload, nodes=8, threads=t, move=move) for t in self.threads})
                for label, line_style, move in (
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

    def relative(self, workload, way, inner, objects, reads, style, nodes):
        def over_nodes(how):
            return {
                n: self.point(
                    workload, nodes=n, inner=inner, **({"objects": objects, "reads": reads} | WAYS[how])
                )
                for n in nodes
            }

        return {
            "line_style": {"color": COLOURS[way], "linestyle": style, "marker": "o"},
            "points": over_nodes(way),
            "by": over_nodes("flat"),
        }

    def nested(self, number, workload, objects):
        panels = []
        for title, grows in ((f"{objects} objects", False), (f"{objects} objects for 2 steps, as many more", True)):
            lines = [
                Line(
                    f"{way}, {inner} steps",
                    **self.relative(
                        workload, way, inner, objects * inner // 2 if grows else objects, 20, style, self.few_nodes
                    ),
                )
                for way in ("closed", "checkpoint")
                for inner, style in zip(self.inner, STYLES)
            ]
            panels.append(Panel(title, "nodes", lines, up="transactions a second, by flat"))
        panels += self.granularity(workload, objects)
        return Chart(number, f"Figure {number}: closed and checkpoint, {workload}, 20 % reads", "", panels)

    def granularity(self, workload, objects):
        def lines():
            for inner, colour in zip((2 if workload == "bank" else 4, 10), ("#009e73", "#d55e00")):
                for nodes, style in zip(self.calm_and_crowded, STYLES):
                    point = {"nodes": nodes, "inner": inner, "objects": objects, "reads": 20, "nesting": "checkpoint"}
                    points = {
                        n: self.point(workload, **point, checkpoints=n if n < inner else None)
                        for n in range(1, inner + 1)
                        if inner % n == 0
                    }
                    line_style = {"color": colour, "linestyle": style, "marker": "o"}
                    yield Line(f"{inner} steps, {nodes} nodes", line_style, points, dict.fromkeys(points, points[1]))

        across = "checkpoints of a transaction"
        for what, figure in (("transactions a second", "per_second"), ("beginnings anew", "anew")):
            yield Panel(f"{objects} objects", across, list(lines()), figure, up=f"{what}, by one checkpoint")

    def opened(self, number, workload, objects, more):
        def by_inner(objects):
            return [
                Line(f"{way}, {inner} steps", **self.relative(workload, way, inner, objects, 20, style, self.open_nodes))
                for way in ("closed", "open", "open under locks")
                for inner, style in zip(self.inner, STYLES)
            ]

        inner = self.inner[1]
        by_reads = [
            Line(f"{way}, {reads} % reads", **self.relative(workload, way, inner, objects, reads, style, self.open_nodes))
            for way in ("closed", "open", "open under locks")
            for reads, style in zip(READS, STYLES)
        ]
        up = "transactions a second, by flat"
        under_locks = {
            n: self.point(workload, nodes=n, inner=4, objects=objects, reads=20, **WAYS["open under locks"])
            for n in self.open_nodes
        }
        split = [Line(label, {"color": colour}, under_locks, value=of) for of, (label, colour) in PARTS.items()]
        panels = [
            Panel(f"{objects} objects, 20 % reads", "nodes", by_inner(objects), up=up),
            Panel(f"{objects} objects, {inner} steps", "nodes", by_reads, up=up),
            Panel(f"{more} objects, 20 % reads", "nodes", by_inner(more), up=up),
            Panel(
                f"{objects} objects, 20 % reads, 4 steps, under locks",
                "nodes",
                split,
                up="microseconds of a transaction",
                stacked=True,
            ),
        ]
        return Chart(number, f"Figure {number}: open and closed, {workload}", "", panels)

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
            Panel("objects and pointers, of a node", "nodes", lines, "directory_entries", True),
            Panel("old values kept, of a node", "nodes", lines, "old_versions"),
        ]
        return Chart("scale", f"Bank at scale, 20 % reads, after {self.settled} ms", "", panels)

    def points(self):
        """Each once."""
        lines = [line for chart in self.all for panel in chart.panels for line in panel.lines]
        return list(dict.fromkeys(k for line in lines for k in line.keys()))


def measured(line, real, of):
    """Of the points of a line, those that real processes have run: x to figure."""
    known = {as_measured(point): real.get(as_measured(point)) for point in line.keys()}
    return {x: figure for x in line.points if (figure := value(line, x, known, of, as_measured)) is not None}


def value(line, x, found, of, named=lambda point: point):
    """Of a line at that x, or None; `found` has figures by what a point is `named`."""

    def figure(points):
        of_point = found.get(named(points[x])) if x in points else None
        return None if of_point is None else of_point.get(line.value or of)

    over = figure(line.points)
    if line.by is None or over is None:
        return over
    return over / base if (base := figure(line.by)) else None
