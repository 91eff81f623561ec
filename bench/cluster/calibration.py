"""Costs, from runs of real processes; and what the simulation then predicts for other runs of them."""

import os

from points import key, simulate

WORKLOADS = "bank", "hash", "list"
READS = 20, 50, 80
ALONE = [key(workload=w, nodes=1) for w in WORKLOADS]
TWO = [key(workload=w, nodes=2, reads=r) for w in WORKLOADS for r in READS]
TWO += [key(workload=w, nodes=2, reads=20, move=True) for w in WORKLOADS]
TWO += [key(workload="bank", nodes=2, reads=20, threads=8)]
TWO += [key(workload="tpcc", nodes=2, move=move) for move in (False, True)]
# Each node has its own processor.
OPEN = [
    key(workload="hash", nodes=n, inner=5, objects=300, reads=20, nesting=nesting)
    for n in (2, 4, 8, 16)
    for nesting in ("flat", "open")
    if n <= max(2, os.cpu_count())
]
FITTED = key(workload="bank", nodes=2, reads=20)
OBJECTS_OF_LIST, OBJECTS_OF_HASH = 13.5, 1  # half of 25 keys, and the head


def simulated(point):
    """The same point of the simulation, whose open steps take abstract locks on request."""
    return f"{point} --milliseconds 200" + (" --locks" if "--nesting open" in point else "")


def fit(folder, real, print_progress):
    """The costs in nanoseconds. From one node those of blocks and objects: the list opens half of its 25 keys and the head, the
    hash table one bucket. From two nodes that of a message, which its sender and its receiver share evenly, by halving: the bank's median,
    which what else runs disturbs least. All else of two nodes is not fitted, but predicted."""
    keys, table = (1000 * real[key(workload=w, nodes=1)]["median"] for w in ("list", "hash"))
    object_ns = max(50.0, (keys - table) / (OBJECTS_OF_LIST - OBJECTS_OF_HASH))
    costs = {"object": round(object_ns), "attempt": round(max(50.0, table - OBJECTS_OF_HASH * object_ns))}
    low, high = 100, 1_000_000
    while high - low > 50:
        message = (low + high) // 2
        costs |= {"send": message, "receive": message}
        found = simulate(folder, [f"{FITTED} --milliseconds 50"], costs, print_progress)
        median = next(iter(found.values()))["median"]
        low, high = (message, high) if median < real[FITTED]["median"] else (low, message)
    return costs
