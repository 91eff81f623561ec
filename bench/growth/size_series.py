"""Goes up each curve, size by size, under all algorithms in turns, each point in a process of its own."""

import json
import math
import os
import time

import campaign  # of bench/contention
import programs

WITHOUT = "none"  # instead of an algorithm: the same without transactions

# A point that takes more seconds than this is measured once: short disturbances no longer matter.
LONG = 0.2

# These algorithms run one transaction at a time, so curves that need two cannot be measured.
ONE_AT_A_TIME = ["serial", "global-lock"]


def rounded(number):
    """To its first digit, which is what people call a size."""
    unit = 10 ** (len(str(int(number))) - 1)
    return round(number / unit) * unit


def sizes(largest, quick):
    """From 1 or so on by tens, and by the square root of that in the two upper decades, where the exponent is taken."""
    by = 1 if quick else 0.5
    upper = [rounded(largest / 10 ** (by * step)) for step in range(int(2 / by) + 1)]
    lower = [rounded(largest / 10**step) for step in range(3, 20)]
    return sorted({size for size in upper + lower if size >= 1})


def wanted(curves, names):
    if names is not None:
        programs.chosen(names, [c[key] for c in curves for key in ("name", "family")], "curve")
    return [c for c in curves if names is None or c["name"] in names or c["family"] in names]


def possible(curve, algorithm):
    if algorithm == WITHOUT:
        return curve["without"]
    return not (curve["concurrent"] and algorithm in ONE_AT_A_TIME)


def points_of(curve, algorithms, most, quick):
    return [
        (curve["name"], size, algorithm)
        for size in sizes(min(curve["largest"], most), quick)
        for algorithm in [*algorithms, WITHOUT]
        if possible(curve, algorithm)
    ]


def climb(order, run):
    """`run` makes a number of a point, or None if it had to be stopped. Returns the numbers of each point, and from
    which size on a curve stopped under an algorithm."""
    values, stopped, long = {}, {}, set()
    begin = time.monotonic()
    for done, point in enumerate(order, start=1):
        name, size, algorithm = point
        if size >= stopped.get((name, algorithm), math.inf) or point in long:
            continue
        began = time.monotonic()
        value = run(*point)
        if time.monotonic() - began > LONG:
            long.add(point)
        if value is None:
            stopped[name, algorithm] = size
        else:
            values.setdefault(point, []).append(value)
        description = "stopped" if value is None else f"{value:.4g}"
        print(f"{done}/{len(order)}, {campaign.left(begin, done, len(order))}: {' '.join(map(str, point))}: {description}",
              flush=True)
    return values, stopped


def measure(options):
    """What growth.json holds."""
    program = programs.Program(options.bin, "tutti-bench-growth")
    offered = json.loads(program.start([], limit=60).stdout)
    named = options.algorithms and [offered["algorithms"][0] if a == "default" else a for a in options.algorithms]
    curves = wanted(offered["curves"], options.curves)
    most = min(options.largest or math.inf, 10**5 if options.quick else math.inf)
    context = {
        "algorithms": programs.chosen(named, offered["algorithms"], "algorithm"),
        "milliseconds": options.milliseconds or (10 if options.quick else 20),
        "rounds": options.rounds or (1 if options.quick else 3),
        "limit": options.limit or (2 if options.quick else 10),
    }

    def run(name, size, algorithm):
        arguments = [name, size, "--milliseconds", context["milliseconds"]]
        under = {"TUTTI_ALGORITHM": algorithm}
        if algorithm == WITHOUT:
            arguments, under = [*arguments, "--without"], {}
        output, _ = program.run(arguments, context["limit"], under)
        return output and float(output)

    # Measures all sizes and algorithms, then all of them again: a slow moment affects all lines equally, and no point
    # twice.
    order = [
        point
        for curve in curves
        for point in context["rounds"] * points_of(curve, context["algorithms"], most, options.quick)
    ]
    begin, machine, own = time.monotonic(), programs.machine_seconds(), programs.own_seconds()
    values, stopped = climb(order, run)
    others = programs.machine_seconds() - machine - (programs.own_seconds() - own)
    context["seconds"] = time.monotonic() - begin
    context["disturbed_percent"] = max(0.0, 100 * others / context["seconds"] / os.cpu_count())

    runs = [dict(zip(("curve", "size", "algorithm"), point)) | {"values": found} for point, found in values.items()]
    stops = [{"curve": name, "algorithm": algorithm, "size": size} for (name, algorithm), size in stopped.items()]
    return {"context": context, "curves": curves, "runs": runs, "stopped": stops}
