#!/usr/bin/env python3
"""Runs the transaction server under TPC-C, without and with preemption. README.md says how to read the result."""

import argparse
import pathlib
import statistics
import sys

from servers import Server

COMMON = ["--executor", "preemptive", "--queue", "1000000"]  # overload is to wait, not to be refused
BASELINE = ("baseline", [*COMMON, "--ticks", "none"])
PREEMPTIVE = ("preemptive", COMMON)


def sweep():
    """C_max of {1, 2, 4, 8, no bound}, each with and without lazy promotion."""
    for bound in (1, 2, 4, 8, None):
        for lazy in (False, True):
            options = [] if bound is None else ["--c-max", str(bound)]
            options += ["--lazy-promotion"] if lazy else []
            name = f"C_max {bound if bound is not None else 'none'}" + (", lazy" if lazy else "")
            yield name, [*COMMON, *options]


def combine(rounds):
    """One table of several rounds: by priority."""
    table = {}
    for profiles in zip(*(r["profiles"] for r in rounds)):
        answered = sum(p["answered"] for p in profiles)
        row = {
            "name": profiles[0]["name"],
            "answered": answered,
            "refused": sum(p["refused"] for p in profiles),
            "mean": sum(p["mean"] * p["answered"] for p in profiles) / answered if answered else 0,
            "aborts": statistics.mean(p["aborts"] for p in profiles),
        }
        for key in ("p50", "p99", "p999"):
            row[key] = statistics.median(p[key] for p in profiles)
        table[profiles[0]["priority"]] = row
    return dict(sorted(table.items()))


def alternate(servers, options, rounds):
    """Rounds in turn; for each server its table and its throughput."""
    results = {s.name: [] for s in servers}
    for number in range(rounds):
        for server in servers:
            results[server.name].append(server.drive(*options, "--seed", 7 + number))
    return (
        {name: combine(r) for name, r in results.items()},
        {name: statistics.mean(x["throughput"] for x in r) for name, r in results.items()},
    )


def show(load, rate, tables, throughput):
    print(f"\n{load} % of capacity: {rate:.0f} calls a second; turnarounds in microseconds")
    columns = ("mean", "p50", "p99", "p999")
    print(f"{'priority':<22}{'server':<18}" + "".join(f"{c:>11}" for c in columns) + f"{'aborts':>9}{'busy':>9}{'to base':>9}")
    base = tables["baseline"]
    for priority in reversed(base):
        for name, table in tables.items():
            row = table[priority]
            label = f"{priority} {row['name']}" if name == "baseline" else ""
            ratio = f"{100 * (row['mean'] / base[priority]['mean'] - 1):+8.0f}%" if base[priority]["mean"] else ""
            print(
                f"{label:<22}{name:<18}" + "".join(f"{row[c]:>11.0f}" for c in columns)
                + f"{100 * row['aborts']:>8.2f}%{row['refused']:>9}{ratio if name != 'baseline' else '':>9}"
            )
    for name, calls in throughput.items():
        print(f"throughput, {name}: {calls:.0f} calls a second, {calls / throughput['baseline']:.3f} of the baseline's")
    sys.stdout.flush()


def measure(arguments, running, start):
    configurations = list(sweep()) if arguments.full else [PREEMPTIVE]
    baseline = start(BASELINE)
    closed = ["--closed", 64, "--seconds", arguments.seconds, "--warm-up", arguments.warm_up]
    capacity = statistics.median(baseline.drive(*closed)["throughput"] for _ in range(3 if arguments.full else 1))
    print(f"capacity of the baseline: {capacity:.0f} calls a second")
    figures = {load: {} for load in arguments.loads}
    for configuration in configurations:
        other = start(configuration)
        for load in arguments.loads:
            rate = capacity * load / 100
            options = ["--rate", rate, "--seconds", arguments.seconds, "--warm-up", arguments.warm_up]
            tables, throughput = alternate([baseline, other], options, arguments.rounds)
            show(load, rate, tables, throughput)
            figures[load].setdefault("baseline", tables["baseline"])
            figures[load][other.name] = tables[other.name]
            for priority, row in tables[other.name].items():
                row["base"] = tables["baseline"][priority]  # that of the same rounds
        running.remove(other)
        other.end()
    running.remove(baseline)
    baseline.end()
    print("\nTPC-C's consistency conditions hold on every server")
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of tutti and tutti-tpcc-load")
    parser.add_argument("--full", action="store_true", help="the whole sweep of C_max and lazy promotion, with charts")
    parser.add_argument("--charts", type=pathlib.Path, help="folder for charts (with --full: build/serving)")
    parser.add_argument("--seconds", type=float, default=4, help="of each round (default: 4)")
    parser.add_argument("--warm-up", type=float, default=0.5, help="seconds before each round (default: 0.5)")
    parser.add_argument("--rounds", type=int, default=3, help="of each configuration and load (default: 3)")
    parser.add_argument("--loads", type=int, nargs="+", default=[95, 120], help="percent of capacity (default: 95 120)")
    parser.add_argument("--set", action="append", default=[], help="setting of the procedures, name=value")
    arguments = parser.parse_args()
    if arguments.full and arguments.charts is None:
        arguments.charts = pathlib.Path("build/serving")
    running = []

    def start(configuration):
        running.append(Server(arguments.programs, *configuration, arguments.set))
        return running[-1]

    try:
        figures = measure(arguments, running, start)
    except RuntimeError as failure:
        print(f"serving.py: {failure}", file=sys.stderr)
        return 1
    finally:
        for server in running:
            server.kill()
    if arguments.charts is not None:
        import charts  # only who draws needs what it draws with  pylint: disable=import-outside-toplevel

        arguments.charts.mkdir(parents=True, exist_ok=True)
        for load, table in figures.items():
            charts.draw_figures(arguments.charts, load, table)
        print(f"charts are in {arguments.charts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
