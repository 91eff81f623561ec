"""Runs all cases, round by round, each round in a new random order, so that a slow minute hits all of them alike."""

import random
import time

from programs import Failure


def left(begin, done, total):
    seconds = (time.monotonic() - begin) / done * (total - done)
    return f"{seconds / 60:.0f} min left" if seconds >= 90 else f"{seconds:.0f} s left"


def measure(cases, run, rounds, save):
    """`run` makes figures (a dictionary) of a case (a named tuple), and describes them in a few words. A case that had
    to be stopped, whose figure "stopped" is the limit, is not run again. `save` is given all runs so far after each
    round."""
    order = random.Random(1)
    runs, stopped = [], set()
    begin, done, total = time.monotonic(), 0, len(cases) * rounds
    for number in range(1, rounds + 1):
        for case in order.sample(cases, len(cases)):
            if case in stopped:
                total -= 1
                continue
            figures, description = run(case)
            if "stopped" in figures:
                stopped.add(case)
            done += 1
            runs.append({**case._asdict(), "round": number, **figures})
            what = " ".join(map(str, case))
            print(f"{done}/{total}, {left(begin, done, total)}: {what}: {description}", flush=True)
        if not all("stopped" in run for run in runs):
            save(runs)
    if len(stopped) == len(cases):
        raise Failure("not one run came to its end within the limit")
