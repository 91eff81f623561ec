"""The runs of a measurement, gathered in cells: all rounds of one case."""

import math
import statistics


class Cells:
    def __init__(self, runs, *keys):
        """`keys` name the parts of a case."""
        self.runs = runs
        self.cells = {}
        for run in runs:
            self.cells.setdefault(tuple(run[k] for k in keys), []).append(run)

    def median(self, case, field):
        """A run that was stopped took for ever. None if it does not matter how long, or if there was no run."""
        values = [math.inf if "stopped" in run else run[field] for run in self.cells.get(case, [])]
        value = statistics.median(values) if values else math.inf
        return value if math.isfinite(value) else None

    def limit(self, case):
        """After how many seconds runs of the case were stopped; None if none was."""
        return next((run["stopped"] for run in self.cells.get(case, []) if "stopped" in run), None)

    def rounds(self):
        return max(len(runs) for runs in self.cells.values())

    def trust(self, field):
        """How far the numbers can be trusted: what others had of the processors, and how far rounds differ."""
        spreads = []
        for runs in self.cells.values():
            values = [run[field] for run in runs if "stopped" not in run]
            if len(values) > 1 and statistics.median(values) > 0:
                spreads.append((max(values) - min(values)) / 2 / statistics.median(values))
        disturbed = statistics.median(run["disturbed_percent"] for run in self.runs)
        text = f"others had {disturbed:.0f} % of the processors"
        if spreads:
            spread = 100 * statistics.median(spreads)
            text = f"half of the cells spread by more than {spread:.0f} % to either side; {text}"
        return text + (": too much to rely on" if disturbed > 20 else "")


def rounds_of(cells):
    return f"median of {cells.rounds()} rounds" if cells.rounds() > 1 else "one round"
