#!/usr/bin/env python3
"""Runs the transaction server under TPC-C, without and with preemption. README.md says how to read the result."""

import argparse
import pathlib
import statistics
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "report"))

from lost_time import mean  # pylint: disable=wrong-import-position
from servers import Server  # pylint: disable=wrong-import-position
from turnarounds import combine, show  # pylint: disable=wrong-import-position

COMMON = ["--executor", "preemptive", "--max-queued-calls", "1000000"]  # under overload, calls wait instead of being refused
BASELINE = ("baseline", [*COMMON, "--tick-source", "none"])
PREEMPTIVE = ("preemptive", COMMON)
# Transactions of microseconds end before they could be preempted: their requests wait in sockets.
IN_TURN = ("baseline", [*BASELINE[1], "--round-robin-reads"])
# Connections of each generator for each profile. Replies come in the order of requests, so a request needs many
# connections to overtake others of its profile. Transactions of microseconds need few: reading and writing a socket
# takes longer than most of them.
MANY = 8
# Runs on whichever processor the system chooses.
HALF_A_PROCESSOR = """
import time
while True:
    end = time.perf_counter() + 0.005
    while time.perf_counter() < end:
        pass
    time.sleep(0.005)
"""
WITHOUT_END = "while True: pass"


def sweep():
    """C_max of {1, 2, 4, 8, no bound}, each with and without lazy priority boost."""
    for bound in (1, 2, 4, 8, None):
        for lazy in (False, True):
            options = [] if bound is None else ["--max-preemptions", str(bound)]
            options += ["--lazy-priority-boost"] if lazy else []
            name = f"C_max {bound if bound is not None else 'none'}" + (", lazy" if lazy else "")
            yield name, [*COMMON, *options]


class Runs:
    """Starts servers and ends them all, whatever happens."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.running = []

    def start(self, configuration, *settings):
        a = self.arguments
        name, options = configuration
        self.running.append(Server(a.programs, name, [*options, *a.serve], [*settings, *a.set], a.workers))
        return self.running[-1]

    def long_ones(self):
        """The settings of transactions that take time."""
        return [f"demand={self.arguments.demand}"]

    def end(self, server):
        self.running.remove(server)
        server.end()

    def kill(self):
        for server in self.running:
            server.kill()

    def drive(self, server, **options):
        a = self.arguments
        return server.drive(
            a.generators, realtime=a.realtime_generators, warm_up=a.warm_up, districts=a.districts, **options
        )

    def warm_up_server(self, server):
        """Some hundred calls, after which nothing is left of how it was filled."""
        self.drive(server, closed=64, seconds=0.5, connections=MANY)

    def capacity(self, servers, seconds, connections):
        """What the first of them gets done. The others do the same, so that all have lived through as much."""
        measured = [self.drive(s, closed=64, seconds=seconds, connections=connections)[0] for s in servers]
        return sum(r["throughput"] for r in measured[0])

    def alternate(self, servers, rate, seconds, rounds, connections):
        """Rounds in turn; for each server its table, its throughput, and the processor time that others had."""
        results = {s.name: [] for s in servers}
        lost = {s.name: [] for s in servers}
        for number in range(rounds):
            for server in servers:
                measured, of_others = self.drive(
                    server, rate=rate, seconds=seconds, seed=7 + number, connections=connections
                )
                results[server.name].append(measured)
                lost[server.name].append(of_others)
        return (
            {name: combine([p for processes in r for p in processes]) for name, r in results.items()},
            {
                name: statistics.mean(sum(p["throughput"] for p in processes) for processes in r)
                for name, r in results.items()
            },
            {name: mean(shares) for name, shares in lost.items()},
        )


def compare(runs, title, baseline, settings, seconds, rounds, connections):
    """Baseline, preemptive and others beside each other at each load. Returns the baseline's capacity."""
    servers = [runs.start(one, *settings) for one in (baseline, PREEMPTIVE, *runs.arguments.also)]
    capacity = runs.capacity(servers, seconds, connections)
    print(f"\n{title}\ncapacity of the baseline: {capacity:.0f} calls a second")
    for load in runs.arguments.loads:
        rate = capacity * load / 100
        tables = runs.alternate(servers, rate, seconds, rounds, connections)
        show(f"{load} % of capacity, {rate:.0f} calls a second", *tables)
    for server in servers:
        runs.end(server)
    return capacity


def vary(runs, capacity, load, seconds, rounds):
    """The sweep; for each configuration its table, with the baseline of the same rounds."""
    print(f"\nC_max and lazy priority boost at {load} % of capacity; mean turnaround in microseconds, by priority")
    baseline = runs.start(BASELINE, *runs.long_ones())
    runs.warm_up_server(baseline)
    figures = {}
    for configuration in sweep():
        other = runs.start(configuration, *runs.long_ones())
        runs.warm_up_server(other)
        if runs.arguments.full or not figures:
            beside = runs.alternate([baseline], capacity * load / 100, seconds, rounds, MANY)[0]["baseline"]
        tables, throughput, _ = runs.alternate([other], capacity * load / 100, seconds, rounds, MANY)
        if not figures:
            print(f"{'':<16}" + "".join(f"{p:>10}" for p in reversed(beside)) + f"{'calls/s':>10}")
            print(f"{'baseline':<16}" + "".join(f"{r['mean']:>10.0f}" for r in reversed(beside.values())))
        figures.setdefault("baseline", beside)
        figures[other.name] = {p: {**row, "base": beside[p]} for p, row in tables[other.name].items()}
        means = "".join(f"{row['mean']:>10.0f}" for row in reversed(tables[other.name].values()))
        print(f"{other.name:<16}{means}{throughput[other.name]:>10.0f}")
        sys.stdout.flush()
        runs.end(other)
    runs.end(baseline)
    return figures


def measure(runs):
    # The module for drawing is not needed to report an invalid command line.
    import figures as drawn  # pylint: disable=import-outside-toplevel

    a = runs.arguments
    part = "" if a.demand == 100 else f"{a.demand} % "
    title = f"Transactions {part}as long as the paper's (table I)"
    if not a.short_calls:
        capacity = compare(runs, title, BASELINE, runs.long_ones(), a.seconds, a.rounds, MANY)
    compare(runs, "Transactions as they are: microseconds", IN_TURN, [], a.seconds / 5, a.rounds, 1)
    if a.short_calls:
        return
    a.charts.mkdir(parents=True, exist_ok=True)
    for load in a.loads if a.full else a.loads[-1:]:
        figures = vary(runs, capacity, load, a.seconds if a.full else a.seconds / 3, a.rounds if a.full else 1)
        drawn.draw_figures(a.charts, load, figures)
    print(f"\nTPC-C's consistency conditions hold on every server; figures 7, 8 and 9 are in {a.charts}")


def further(text):
    """A configuration from the command line."""
    name, found, options = text.partition("=")
    if not found or name in ("baseline", "preemptive"):
        raise argparse.ArgumentTypeError("give NAME=OPTIONS, with a name of its own")
    return name, [*COMMON, *options.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of tutti and tutti-tpcc-load")
    parser.add_argument("--full", action="store_true", help="the sweep of C_max as long as the rest, at every load")
    parser.add_argument("--short-calls", action="store_true", help="only transactions of microseconds")
    parser.add_argument("--charts", type=pathlib.Path, default=pathlib.Path("build/serving"), help="folder for charts")
    parser.add_argument("--seconds", type=float, default=4, help="of each round (default: 4)")
    parser.add_argument("--warm-up", type=float, default=0.3, help="seconds before each round (default: 0.3)")
    parser.add_argument("--rounds", type=int, default=2, help="of each configuration and load (default: 2)")
    parser.add_argument("--loads", type=int, nargs="+", default=[95, 120], help="percent of capacity (default: 95 120)")
    parser.add_argument("--generators", type=int, default=2, help="processes that send (default: 2)")
    parser.add_argument("--workers", type=int, default=0, help="(default: the processors that I/O and generators leave)")
    parser.add_argument("--districts", type=int, default=1, help="of the warehouse that are asked for (default: 1)")
    parser.add_argument("--demand", type=int, default=100, help="percent of the paper's lengths (default: 100)")
    parser.add_argument("--serve", action="append", default=[], help="option of every server: --serve=--io-realtime=2")
    parser.add_argument("--realtime-generators", action="store_true", help="no other program makes their clocks late")
    parser.add_argument("--also", action="append", default=[], type=further, metavar="NAME=OPTIONS",
                        help="a further preemptive server: --also 'io=--io-realtime 2'")
    parser.add_argument("--beside", action="store_true", help="with a program that takes half a processor")
    parser.add_argument("--busy-programs", type=int, default=0, metavar="N",
                        help="with N programs that compute without end")
    parser.add_argument("--set", action="append", default=[], help="setting of the procedures, name=value")
    arguments = parser.parse_args()
    if any(s.startswith("demand=") for s in arguments.set):
        parser.error("--set demand: one of the comparisons goes without; say --demand")
    runs = Runs(arguments)
    others = [HALF_A_PROCESSOR] * arguments.beside + [WITHOUT_END] * arguments.busy_programs
    others = [subprocess.Popen([sys.executable, "-c", program]) for program in others]
    try:
        measure(runs)
    except RuntimeError as failure:
        print(f"serving.py: {failure}", file=sys.stderr)
        return 1
    finally:
        runs.kill()
        for other in others:
            other.kill()
            other.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
