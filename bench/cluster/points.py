"""Points of charts: what the simulation, or a cluster of real processes, is asked, and what it answers."""

import concurrent.futures
import json
import os
import re
import statistics

from programs import Failure, Program  # of bench/contention

LIMIT = 300  # seconds, of one run


def key(**how):
    """The arguments of a point, which are its name too: nodes=2 is --nodes 2, moves=True is --moves."""
    words = []
    for name, value in how.items():
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value is not False and value is not None:
            words.append(f"--{name.replace('_', '-')} {value}")
    return " ".join(words)


def as_measured(point):
    """The key that real processes of that point have: they know no virtual time, and TPC-C's warehouses by another
    name. None: no real step is open without its lock."""
    if "--nesting open" in point and "--locks" not in point:
        return None
    words = re.sub(r" --(milliseconds|warm-up) [\d.]+| --locks", "", point)
    return words.replace(" --objects 1", "") if "--workload tpcc" in words else words


def simulate(folder, points, costs, print_progress):
    """The figures of each point, by its key; as many at once as there are processors."""
    program = Program(folder, "tutti-bench-cluster")
    common = key(**costs)

    def run(point):
        ended = program.start(f"{point} {common}".split(), LIMIT)
        if ended.returncode != 0:
            raise Failure(f"tutti-bench-cluster {point} ended with status {ended.returncode}: {ended.stderr.strip()}")
        return json.loads(ended.stdout)

    found = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for i, (point, figures) in enumerate(zip(points, pool.map(run, points))):
            found[point] = figures
            if (i + 1) % 50 == 0:
                print_progress(f"{i + 1} of {len(points)} points")
    return found


ROWS = {
    "per_second": r"transactions/s +([\d.]+)",
    "median": r"latency, us +([\d.]+) median",
    "aborts": r"aborted attempts +([\d.]+)",
    "round_trips": r"round trips +([\d.]+)",
    "messages": r"messages +([\d.]+)",
    "bytes": r"bytes +([\d.]+)",
}


def measure(folder, points, rounds, seconds, print_progress):
    """The same of real processes, the median of some rounds. What else runs makes rounds slower, so they alternate."""
    program = Program(folder, "tutti-cluster")
    found = {point: [] for point in points}
    for i in range(rounds):
        print_progress(f"real processes, round {i + 1} of {rounds}")
        for point in points:
            # Without copies, like the simulated points.
            text, _ = program.run([*point.split(), "--cache", "0", "--seconds", seconds], LIMIT)
            rows = {name: re.search(row, text) for name, row in ROWS.items()}
            if None in rows.values():
                raise Failure(f"tutti-cluster {point} printed another result than before: {text.strip()}")
            found[point].append({name: float(row[1]) for name, row in rows.items()})
    return {point: {n: statistics.median(r[n] for r in all_of) for n in ROWS} for point, all_of in found.items()}
