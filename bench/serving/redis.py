#!/usr/bin/env python3
"""Compares the transaction server with redis-server: a trivial call, and short calls among long ones.

In the first comparison the system places all threads. In the second what computes has a processor to itself, one for
redis-server and for each of our workers, and I/O threads and the client have the rest: otherwise it would show how long
the system lets computing threads keep an I/O thread from its processor.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

from servers import Processors
from trivial_calls import Process, Tutti, compare, free_port

# Scripts have no running clock, so a long script counts to a number, which is measured before.
SCRIPTS = {
    "increment": "return redis.call('INCR', KEYS[1])",
    "compute": "local x = 0 for i = 1, tonumber(ARGV[1]) do x = x + i end return 1",
}


class Preemptive(Tutti):
    def long_call(self, microseconds):
        return f"CALL compute {microseconds}"

    def share_out(self, processors):
        """Moves the threads to where they belong."""
        processors.share_out(self.process.pid)


class Redis(Process):
    name = "redis, Lua"

    def __init__(self):
        port = free_port()
        super().__init__(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"], port)
        try:
            self.increment = ["EVALSHA", self.load("increment"), "1", "n"]
            self.digest = self.load("compute")
            self.speed = max(self.steps_a_microsecond() for _ in range(10))  # other tries were disturbed
        except BaseException:
            self.end()  # no other code knows the process
            raise

    def load(self, name):
        command = ["redis-cli", "-p", self.port, "SCRIPT", "LOAD", SCRIPTS[name]]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def steps_a_microsecond(self, steps=2_000_000):
        with socket.create_connection(("127.0.0.1", int(self.port))) as s:
            start = time.perf_counter()
            s.sendall(f"EVALSHA {self.digest} 0 {steps}\r\n".encode())
            s.recv(100)
            return steps / (time.perf_counter() - start) / 1e6

    def share_out(self, processors):
        """Moves the threads to where they belong."""
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), processors.workers)

    def long_call(self, microseconds):
        return f"EVALSHA {self.digest} 0 {round(microseconds * self.speed)}"


def mixed(server, arguments, seed):
    command = [str(arguments.programs / "tutti-bench-mix"), "--port", server.port]
    command += ["--short", " ".join(server.increment), "--long", server.long_call(arguments.long_us)]
    command += ["--rate", str(arguments.rate), "--seconds", str(arguments.seconds), "--seed", str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        os.sched_setaffinity(client.pid, Processors().generators)
        output, errors = client.communicate()
    if client.returncode != 0:
        raise RuntimeError(f"{server.name}: {errors.strip()}")
    return json.loads(output)


class Plain:
    """The same redis-server, by a command of its own."""

    name = "redis, INCR"
    increment = ["INCR", "m"]

    def __init__(self, server):
        self.port = server.port
        self.processor_seconds = server.processor_seconds


def compare_throughput(arguments):
    servers = []
    try:
        for name, options in ("tutti", []), ("tutti, one worker", ["--workers", "1"]):
            servers.append(Tutti(arguments.programs, name, [*options, *arguments.options]))
        servers.append(Redis())
        ours, lua, plain = servers[:2], servers[2], Plain(servers[2])
        many = arguments.clients
        for title, clients, pipeline, share, first, last in (
            ("one client", 1, 1, 0.1, lua, plain),
            (f"{many} clients, one request each", many, 1, 0.4, lua, plain),
            (f"{many} clients, {arguments.pipeline} requests in each pipeline", many, arguments.pipeline, 1, plain, lua),
        ):
            requests = int(arguments.requests * share)
            compare(f"a trivial call, {title}", [first, *ours, last], arguments.rounds, requests, clients, pipeline)
    finally:
        for server in servers:
            server.end()


def compare_mix(servers, arguments):
    rounds = {s.name: [] for s in servers}
    for number in range(arguments.rounds):
        for server in servers:
            rounds[server.name].append(mixed(server, arguments, 7 + number))
    print(
        f"{arguments.rate:.0f} requests a second, every tenth of {arguments.long_us} us, the others trivial; "
        "turnaround in us"
    )
    print(f"  {'':<16}{'answered':>10}{'mean':>10}{'p50':>10}{'p99':>10}{'p99.9':>10}")
    middle = {}
    for name, results in rounds.items():
        for kind in ("short", "long"):
            row = {k: statistics.median(r[kind][k] for r in results) for k in results[0][kind]}
            middle[name, kind] = row
            print(
                f"  {name + ', ' + kind:<16}{row['answered']:>10.0f}{row['mean']:>10.0f}{row['p50']:>10.0f}"
                f"{row['p99']:>10.0f}{row['p999']:>10.0f}"
            )
    ratio = middle[Redis.name, "short"]["p99"] / middle["tutti", "short"]["p99"]
    print(f"  p99 of the short ones, Redis's by ours: {ratio:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of tutti and tutti-bench-mix")
    parser.add_argument("--rounds", type=int, default=5, help="of each (default: 5)")
    parser.add_argument(
        "--requests", type=int, default=1_000_000, help="of a round with pipelines; others have less (default: 1000000)"
    )
    parser.add_argument("--clients", type=int, default=50, help="where there are several (default: 50)")
    parser.add_argument("--pipeline", type=int, default=16, help="(default: 16)")
    parser.add_argument("--rate", type=float, default=800, help="of the mix, requests a second (default: 800)")
    parser.add_argument("--long-us", type=int, default=5000, help="a long call computes for so long (default: 5000)")
    parser.add_argument("--seconds", type=float, default=5, help="of a round of the mix (default: 5)")
    parser.add_argument("options", nargs="*", help="after --: of tutti serve")
    arguments = parser.parse_args()
    arguments.programs = arguments.programs.resolve()
    servers = []
    try:
        compare_throughput(arguments)
        processors = Processors()
        workers = ["--workers", str(len(processors.workers))]
        servers.append(Preemptive(arguments.programs, "tutti", [*workers, *arguments.options]))
        servers.append(Redis())
        for server in servers:
            server.share_out(processors)
        compare_mix(servers, arguments)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as failure:
        print(f"redis.py: {failure}", file=sys.stderr)
        return 1
    finally:
        for server in servers:
            server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
