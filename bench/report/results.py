"""What a run of tutti-bench measured: reads its JSON and takes medians."""

import json
import statistics
from dataclasses import dataclass, field


# Engines in the order in which reports show them; others follow as they come.
ENGINES = ["sequential", "atomics", "mutex", "spin", "libitm", "tutti", "tutti-no-unwind", "tutti-statistics"]


@dataclass
class Cell:
    """One workload on one engine at one number of threads: a value for each round."""

    rates: list = field(default_factory=list)  # operations a second, of all threads together
    times: list = field(default_factory=list)  # nanoseconds of one operation of one thread
    aborts: list = field(default_factory=list)  # percent of the executions of bodies; empty if nobody counted

    @property
    def rate(self):
        return statistics.median(self.rates)

    @property
    def time(self):
        return statistics.median(self.times)

    @property
    def abort_percent(self):
        return statistics.median(self.aborts) if self.aborts else None

    @property
    def spread(self):
        """Half the distance between the extremes, as a part of the median."""
        return (max(self.rates) - min(self.rates)) / 2 / self.rate


class Family:
    """All cells of one family, by (workload, engine, threads)."""

    def __init__(self, name):
        self.name = name
        self.cells = {}

    def cell(self, workload, engine, threads):
        return self.cells.get((workload, engine, threads))

    def workloads(self):
        return list(dict.fromkeys(workload for workload, _, _ in self.cells))

    def engines(self, workload=None):
        present = dict.fromkeys(e for w, e, _ in self.cells if workload in (None, w))
        return sorted(present, key=lambda e: ENGINES.index(e) if e in ENGINES else len(ENGINES))

    def threads(self, workload=None):
        return sorted({t for w, _, t in self.cells if workload in (None, w)})

    def ratio(self, workload, above, below):
        """The rate of `above` by that of `below`, each an (engine, threads); None if one was not measured."""
        one, other = self.cell(workload, *above), self.cell(workload, *below)
        return one.rate / other.rate if one and other else None

    def rounds(self):
        return max(len(cell.rates) for cell in self.cells.values())

    def spread(self):
        return statistics.median(cell.spread for cell in self.cells.values())


def read(paths):
    """Returns the families, in the order of the files, and the context of the first file."""
    families, context = {}, None
    for path in paths:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        context = context or document["context"]
        # In the order of registration: the rounds were run, and written, in a random one.
        for entry in sorted(document["benchmarks"], key=lambda entry: entry["family_index"]):
            if entry["run_type"] != "iteration" or entry.get("error_occurred"):
                continue
            family, workload, engine, threads = entry["name"].split("/")[:4]
            cells = families.setdefault(family, Family(family)).cells
            cell = cells.setdefault((workload, engine, int(threads)), Cell())
            cell.rates.append(entry["operations_per_second"])
            cell.times.append(entry["real_time"])
            if "abort_percent" in entry:
                cell.aborts.append(entry["abort_percent"])
    return list(families.values()), context
