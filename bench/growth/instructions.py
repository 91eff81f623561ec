"""Counts the instructions of curves whose time grows faster than it should: caches make time grow, but not them."""

import math
import os
import re
import shutil
import subprocess

import programs  # of bench/contention

LIMIT = 60  # seconds; counting slows a program down about fifty times
LEAST = 1000  # smaller sizes need little more than the process itself


def tool():
    found = shutil.which("valgrind")
    if not found:
        raise programs.Failure("instructions are counted by valgrind, which is not there (Debian: valgrind)")
    return [found, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]


def of_process(program, name, size, algorithm):
    """None if it took too long."""
    # One operation takes longer than a millisecond, so only one is run.
    command = [*tool(), program, name, str(size), "--milliseconds", "1"]
    environment = {**os.environ, "TUTTI_ALGORITHM": algorithm}
    try:
        ended = subprocess.run(command, env=environment, timeout=LIMIT, capture_output=True, text=True, check=True)
    except subprocess.TimeoutExpired:
        return None
    except subprocess.CalledProcessError as failed:
        raise programs.Failure(f"{' '.join(map(str, command))}: {failed.stderr.strip()}") from failed
    return int(re.search(r"I +refs: +([\d,]+)", ended.stderr)[1].replace(",", ""))


def exponent(program, name, sizes, algorithm):
    """Between two sizes from 2 on, of what a process needs for more than one of size 1."""
    counts = [of_process(program, name, size, algorithm) for size in (1, *sizes)]
    if None in counts:
        return None
    start, small, large = counts
    return math.log((large - start) / (small - start)) / math.log(sizes[1] / sizes[0])


def count(program, lines):
    """Of each line whose operations one thread makes, and whose whole grows; returns their exponents."""
    found = []
    lines = [line for line in lines if line.curve["linear"] and not line.curve["threads"] and max(line.values) >= LEAST]
    for done, line in enumerate(lines, start=1):
        name, largest = line.curve["name"], max(line.values)
        grows = exponent(program, name, (largest // 10, largest), line.algorithm)
        if grows is not None:
            found.append({"curve": name, "algorithm": line.algorithm, "exponent": grows})
        description = "stopped" if grows is None else f"exponent {grows:.2f}"
        print(f"{done}/{len(lines)}, instructions: {name} {largest} {line.algorithm}: {description}", flush=True)
    return found
