"""The results of a measurement by curve: a unit's figure at each size, and the exponent by which the whole grows."""

import math
import statistics

from size_series import WITHOUT

UPPER = 100  # the exponent is fitted to sizes from the largest divided by this on
ENOUGH = 3  # points to fit a line through
MARGIN = 0.2  # an exponent that exceeds the expected one by more than this is marked
MARGIN_OF_INSTRUCTIONS = 0.1  # instruction counts have no noise


def slope(points):
    """By least squares, of the logarithms; None where there are too few points."""
    points = [(math.log(x), math.log(y)) for x, y in points if y > 0]
    if len(points) < ENOUGH:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def scaled(value, units, by):
    unit = 0
    while value >= by and unit + 1 < len(units):
        value /= by
        unit += 1
    digits = 0 if value >= 100 or value == 0 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {units[unit]}"


def size_text(size):
    """3e5 rather than 300000."""
    exponent = len(str(size)) - 1
    return f"{size / 10**exponent:g}e{exponent}" if size >= 10_000 else str(size)


class Line:
    """One curve under one algorithm."""

    def __init__(self, curve, algorithm, document):
        def own(runs):
            return [run for run in runs if (run["curve"], run["algorithm"]) == (curve["name"], algorithm)]

        self.curve, self.algorithm = curve, algorithm
        self.values = {run["size"]: statistics.median(run["values"]) for run in own(document["runs"])}
        self.instructions = next((run["exponent"] for run in own(document.get("instructions", []))), None)
        self.stopped = min((run["size"] for run in own(document["stopped"])), default=None)
        # A size that was measured in one round but stopped in another has no figure.
        self.values = {size: value for size, value in self.values.items() if size < (self.stopped or math.inf)}

    def unit(self, size):
        """Of one, where what was measured is the whole."""
        value = self.values.get(size)
        return value / size if value is not None and self.curve["linear"] else value

    def upper(self):
        top = max(self.values, default=0)
        return sorted(size for size in self.values if size * UPPER >= top)

    def exponent(self):
        return slope([(size, self.values[size]) for size in self.upper()])

    def text_of(self, size):
        if size == self.stopped:
            return "stopped"
        value = self.unit(size)
        if value is None:
            return ""
        return scaled(value, ["B", "KiB", "MiB"], 1024) if self.curve["bytes"] else scaled(
            value, ["ns", "us", "ms", "s"], 1000
        )


class Report:
    def __init__(self, document):
        self.context = document["context"]
        self.curves = document["curves"]
        self.algorithms = [*self.context["algorithms"], WITHOUT]
        self.lines = {}
        for curve in self.curves:
            for algorithm in self.algorithms:
                line = Line(curve, algorithm, document)
                if line.values or line.stopped:
                    self.lines[curve["name"], algorithm] = line

    def families(self):
        return list(dict.fromkeys(c["family"] for c in self.curves))

    def of(self, family):
        return [c for c in self.curves if c["family"] == family]

    def lines_of(self, curve):
        found = (self.lines.get((curve["name"], a)) for a in self.algorithms)
        return [line for line in found if line]

    def sizes(self, curve):
        lines = self.lines_of(curve)
        return sorted({size for line in lines for size in [*line.values, line.stopped] if size})

    def due(self, curve):
        """The exponent that needs no explanation; where the same without transactions has more, that one. A curve
        that only differs from another in what came before has its."""
        without = self.lines.get((curve["name"], WITHOUT)) or self.lines.get((curve["beside"], WITHOUT))
        least = 1 if curve["linear"] else 0
        return max(least, (without and without.exponent()) or 0)

    def above(self, line):
        """Instructions, where they were counted, decide: what only time has more of, caches take."""
        exponent = line.exponent()
        if exponent is None or exponent <= self.due(line.curve) + MARGIN:
            return False
        return line.instructions is None or line.instructions > self.due(line.curve) + MARGIN_OF_INSTRUCTIONS

    def above_due(self):
        return [line for line in self.lines.values() if self.above(line)]

    def exponent_text(self, line):
        exponent = line.exponent()
        if exponent is None:
            return ""
        counted = f" ({line.instructions:.2f})" if line.instructions is not None else ""
        # Avoids a minus sign before a number that rounds to zero.
        return f"{round(exponent, 2) + 0:.2f}{counted}" + (" *" if self.above(line) else "")

    def beside_text(self, line):
        """By what it is compared with, at the largest size that both have."""
        other = self.lines.get((line.curve["beside"], line.algorithm))
        common = [size for size in line.values if other and other.values.get(size)]
        if not common:
            return ""
        return f"{line.values[max(common)] / other.values[max(common)]:.3g}x"

    def heading(self):
        c = self.context
        rounds = f"median of {c['rounds']} rounds" if c["rounds"] > 1 else "one round"
        return (
            f"growth: {rounds} of {c['milliseconds']} ms, stopped after {c['limit']:g} s; others had "
            f"{c['disturbed_percent']:.0f} % of the processors"
        )

    def title(self, curve):
        due = "" if curve["linear"] else ", should stay"
        beside = f"; factor: by {curve['beside']}" if curve["beside"] else ""
        return f"{curve['family']}/{curve['name']}: {curve['of']}, by {curve['over']}{due}{beside}"

    def table(self, curve):
        sizes = self.sizes(curve)
        beside = ["factor"] if curve["beside"] else []
        rows = [["", *map(size_text, sizes), "exponent  ", *beside]]
        for line in self.lines_of(curve):
            exponent = self.exponent_text(line)
            row = [line.algorithm, *(line.text_of(size) for size in sizes)]
            row += [exponent if exponent.endswith("*") else f"{exponent}  "]
            rows.append(row + ([self.beside_text(line)] if beside else []))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return [
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))]).rstrip()
            for row in rows
        ]

    def marked(self):
        """In words."""
        above = [
            f"  {line.curve['name']} {line.algorithm}: exponent {line.exponent():.2f}, due {self.due(line.curve):.2f}"
            for line in self.above_due()
        ]
        stopped = [
            f"  {line.curve['name']} {line.algorithm}: {size_text(line.stopped)} {line.curve['over']}"
            for line in self.lines.values()
            if line.stopped
        ]
        return [
            *(["* grows faster than it should:", *above] if above else ["nothing grows faster than it should"]),
            *(["stopped:", *stopped] if stopped else []),
        ]

    def text(self):
        parts = [[self.title(curve), *self.table(curve), ""] for curve in self.curves]
        return "\n".join([self.heading(), "", *(line for part in parts for line in part), *self.marked()]) + "\n"

    def ends(self, line):
        """The figures between which the exponent was taken, and it."""
        upper = line.upper()
        if not upper:
            return "stopped"
        first, last = line.text_of(upper[0]), line.text_of(upper[-1])
        at = f" at {size_text(upper[-1])}" if line.stopped else ""
        exponent = self.exponent_text(line)
        return f"{first} → {last}{at}" + (f", {exponent}" if exponent else "")

    def markdown(self):
        """A table for each family: a row for each curve, a column for each algorithm."""
        text = [f"{self.heading()[0].upper()}{self.heading()[1:]}.", ""]
        for family in self.families():
            curves = self.of(family)
            algorithms = [a for a in self.algorithms if any((c["name"], a) in self.lines for c in curves)]
            heads = ["without" if a == WITHOUT else f"`{a}`" for a in algorithms]
            text += [f"| {family} | sizes | " + " | ".join(heads) + " |"]
            text += ["| --- " * (len(algorithms) + 2) + "|"]
            for curve in curves:
                upper = [size for size in self.sizes(curve) if size * UPPER >= max(self.sizes(curve))]
                lines = [self.lines.get((curve["name"], a)) for a in algorithms]
                cells = [self.ends(line).replace("*", "\\*") if line else "" for line in lines]
                label = f"`{curve['name']}`: {curve['of']}"
                over = f"{size_text(upper[0])} → {size_text(upper[-1])} {curve['over']}"
                text.append(f"| {label} | {over} | " + " | ".join(cells) + " |")
            text.append("")
        return "\n".join([*text, *self.marked_markdown()])

    def marked_markdown(self):
        text = []
        for line in self.marked():
            heads = [line.replace("*", "\\*").capitalize(), ""]
            text += [f"- {line.strip()}"] if line.startswith("  ") else ["", *heads] if text else heads
        return [*text, ""]

    def summary(self):
        """A line for each curve."""
        width = max(len(self.title(curve)) for curve in self.curves)
        text = [self.heading(), ""]
        for curve in self.curves:
            cells = [f"{line.algorithm} {self.ends(line)}" for line in self.lines_of(curve)]
            text.append(f"{self.title(curve).ljust(width)}  {'; '.join(cells)}")
        return "\n".join([*text, "", *self.marked()]) + "\n"
