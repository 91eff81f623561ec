"""What a run of tutti-bench measured: reads its JSON and takes medians."""

import json
import statistics
from dataclasses import dataclass


# Engines in the order of reports; other engines follow in the order of their results.
ENGINES = ["sequential", "atomics", "mutex", "spin", "libitm", "language"]
ENGINES += ["tutti", "tutti-no-unwind", "tutti-statistics"]
ENGINES += ["flat", "closed", "checkpoint", "open"]
ENGINES += ["tutti-hash", "std-unordered", "tbb", "tutti-ordered", "std-map"]


# Percentage of the processors' time below which other processes count as background.
BACKGROUND = 5


@dataclass
class Round:
    rate: float  # operations a second, of all threads together
    time: float  # nanoseconds of one operation of one thread
    aborts: float | None  # percent of the executions of bodies; None if not counted
    disturbed: float  # percent of the machine's processor time used by other programs
    work: float | None  # executions of steps per effective step; None without steps


class Cell:
    """One workload on one engine at one number of threads.

    Of its rounds the half that was disturbed least counts, or all that were not disturbed: what others do on the
    machine has nothing to do with the engine, so this favours none.
    """

    def __init__(self, best):
        self.best = best  # use the best round of a cell instead of the median
        self.rounds = []

    @property
    def kept(self):
        limit = max(BACKGROUND, statistics.median(r.disturbed for r in self.rounds))
        return [r for r in self.rounds if r.disturbed <= limit]

    @property
    def rate(self):
        rates = [r.rate for r in self.kept]
        return max(rates) if self.best else statistics.median(rates)

    @property
    def time(self):
        times = [r.time for r in self.kept]
        return min(times) if self.best else statistics.median(times)

    @property
    def abort_percent(self):
        aborts = [r.aborts for r in self.kept if r.aborts is not None]
        return statistics.median(aborts) if aborts else None

    @property
    def restarts(self):
        """Of the outermost block, for each commit."""
        percent = self.abort_percent
        return percent / (100 - percent) if percent is not None else None

    @property
    def work(self):
        return statistics.median(r.work for r in self.kept)

    @property
    def spread(self):
        """Half the distance between the extremes, as a part of the median."""
        rates = [r.rate for r in self.kept]
        return (max(rates) - min(rates)) / 2 / statistics.median(rates)


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

    def best(self):
        return any(cell.best for cell in self.cells.values())

    def rounds(self):
        return max(len(cell.rounds) for cell in self.cells.values())

    def spread(self):
        return statistics.median(cell.spread for cell in self.cells.values())

    def disturbed(self):
        return statistics.median(r.disturbed for cell in self.cells.values() for r in cell.kept)


def read(paths, best):
    """Returns the families, in the order of the files, and the context of the first file."""
    families, context = {}, None
    for path in paths:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        context = context or document["context"]
        # In the order of registration: the rounds were run and written in a random order.
        for entry in sorted(document["benchmarks"], key=lambda entry: entry["family_index"]):
            if entry["run_type"] != "iteration" or entry.get("error_occurred"):
                continue
            family, workload, engine, threads = entry["name"].split("/")[:4]
            cells = families.setdefault(family, Family(family)).cells
            cell = cells.setdefault((workload, engine, int(threads)), Cell(best))
            cell.rounds.append(
                Round(
                    rate=entry["operations_per_second"],
                    time=entry["real_time"],
                    aborts=entry.get("abort_percent"),
                    disturbed=entry["disturbed_percent"],
                    work=entry.get("steps_per_step_due"),
                )
            )
    return list(families.values()), context
