"""Measures builds of memcached in turns: throughput, and the server's processor time for a request.

A round starts each build's server once, loads it by tutti-mc-load and ends it, in an order that changes from round to
round, so that a slow minute hits all alike. Figures are medians over rounds; ratios are medians of the rounds' ratios.
`:system` behind a build's name means GCC's own libitm, by LD_LIBRARY_PATH, under the same binary.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

BUILDS = ["baseline", "copies", "cache-naive", "cache", "slabs", "stats", "cache+stats", "all-steps", "all", "all:system"]
SYSTEM_LIBRARIES = "/usr/lib/x86_64-linux-gnu"


def serve(folder, build, threads, socket):
    """Starts the server of a build; returns its process once it listens."""
    name, _, runtime = build.partition(":")
    environment = dict(os.environ)
    if runtime == "system":
        environment["LD_LIBRARY_PATH"] = SYSTEM_LIBRARIES
    command = [str(folder / name / "memcached"), "-u", "root", "-s", socket, "-t", str(threads), "-m", "1024"]
    server = subprocess.Popen(command, env=environment)
    for _ in range(200):
        if os.path.exists(socket):
            return server
        if server.poll() is not None:
            break
        time.sleep(0.05)
    server.kill()
    server.wait()
    sys.exit(f"bench.py: {build} does not start: {' '.join(command)}")


def measure(options, build, threads, sets):
    """One run of one build: what tutti-mc-load reports."""
    with tempfile.TemporaryDirectory() as place:
        socket = os.path.join(place, "socket")
        server = serve(options.folder, build, threads, socket)
        try:
            answer = subprocess.run(
                [options.load, "--socket", socket, "--server", str(server.pid), "--sets", str(sets),
                 "--seconds", str(options.seconds)],
                check=True, capture_output=True, text=True, timeout=120 + 2 * options.seconds).stdout
        finally:
            server.terminate()
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    return json.loads(answer)


def run_rounds(options):
    """All rounds: {(build, threads, sets): [report of each round]}."""
    results = {}
    order = random.Random(1)
    for number in range(options.rounds):
        for threads in options.threads:
            for sets in options.sets:
                builds = list(options.builds)
                order.shuffle(builds)
                for build in builds:
                    print(f"round {number + 1}/{options.rounds}: {build}, {threads} threads, {sets} % sets",
                          file=sys.stderr, flush=True)
                    results.setdefault((build, threads, sets), []).append(measure(options, build, threads, sets))
    return results


def median_of(results, case, figure):
    return statistics.median(round_[figure] for round_ in results[case])


def ratio_of(results, case, other, figure):
    pairs = zip(results[case], results[other])
    return statistics.median(mine[figure] / theirs[figure] for mine, theirs in pairs if theirs[figure] > 0)


def table(options, results):
    """The report: a line for each case, with ratios to the first build."""
    first = options.builds[0]
    lines = [f"{'build':12} {'threads':>7} {'sets':>5} {'requests/s':>11} {'user ns':>8} {'system ns':>9}"
             f" {'throughput':>11} {'user':>6}   (the last two by {first}'s)"]
    for sets in options.sets:
        for threads in options.threads:
            for build in options.builds:
                case, base = (build, threads, sets), (first, threads, sets)
                lines.append(
                    f"{build:12} {threads:7} {sets:4}% {median_of(results, case, 'throughput'):11.0f}"
                    f" {median_of(results, case, 'user_ns'):8.0f} {median_of(results, case, 'system_ns'):9.0f}"
                    f" {ratio_of(results, case, base, 'throughput'):11.2f}"
                    f" {ratio_of(results, case, base, 'user_ns'):6.2f}")
    return "\n".join(lines)


def chart(options, results):
    """Figure 1 of the paper: time of a million requests by threads, a bar for each build; below it, user time."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figures = [("time of a million requests, s", lambda case: 1e6 / median_of(results, case, "throughput")),
               ("user time of a request, ns", lambda case: median_of(results, case, "user_ns"))]
    canvas, axes = pyplot.subplots(len(figures), len(options.sets), figsize=(6 * len(options.sets), 7), squeeze=False)
    width = 0.8 / len(options.builds)
    for row, (title, value) in enumerate(figures):
        for column, sets in enumerate(options.sets):
            plot = axes[row][column]
            for index, build in enumerate(options.builds):
                places = [place + (index - len(options.builds) / 2) * width for place in range(len(options.threads))]
                plot.bar(places, [value((build, threads, sets)) for threads in options.threads], width, label=build)
            plot.set_xticks(range(len(options.threads)), [str(threads) for threads in options.threads])
            plot.set_xlabel("server threads")
            plot.set_ylabel(title)
            plot.set_title(f"{sets} % sets")
    canvas.legend(*axes[0][0].get_legend_handles_labels(), loc="upper center", ncols=5)
    canvas.tight_layout(rect=(0, 0, 1, 0.92))
    canvas.savefig(options.out / "figure1.svg")


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--load", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--builds", type=lambda text: text.split(","), default=BUILDS,
                        help="a,b; the first is what others are compared to")
    parser.add_argument("--threads", type=numbers, default=[1, 2, 4, 8], help="threads of the server")
    parser.add_argument("--sets", type=numbers, default=[10, 50], help="percent of requests that store")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.out = options.out or options.folder
    for build in options.builds:
        if build not in BUILDS:
            parser.error(f"there is no build '{build}'; there are: {', '.join(BUILDS)}")
    results = run_rounds(options)
    report = table(options, results)
    print(report)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "bench.txt").write_text(report + "\n")
    (options.out / "bench.json").write_text(json.dumps(
        [{"build": build, "threads": threads, "sets": sets, "rounds": rounds}
         for (build, threads, sets), rounds in results.items()], indent=1) + "\n")
    chart(options, results)
    print(f"bench.txt, bench.json and figure1.svg are in {options.out}")


if __name__ == "__main__":
    main()
