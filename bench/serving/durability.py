#!/usr/bin/env python3
"""What a log costs: a trivial procedure without one and with --fsync everysec, and --fsync always beside redis-server.

All servers live at the same time, each with its files in a folder of its own on the same disk; rounds alternate, and the
client is redis-benchmark for all of them.
"""

import argparse
import pathlib
import subprocess
import sys

from trivial_calls import Process, Tutti, compare, free_port


class RedisWithLog(Process):
    def __init__(self, name, policy):
        self.name = name
        port = free_port()
        # The log must not be rewritten in the middle of a round.
        super().__init__(
            ["redis-server", "--port", str(port), "--save", "", "--appendonly", "yes", "--appendfsync", policy]
            + ["--auto-aof-rewrite-percentage", "0"],
            port,
        )
        self.increment = ["INCR", "n"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of tutti")
    parser.add_argument("--rounds", type=int, default=7, help="of each (default: 7)")
    parser.add_argument("--requests", type=int, default=200_000, help="of a round without a wait (default: 200000)")
    parser.add_argument("--synced", type=int, default=20_000, help="of a round that waits for the disk (default: 20000)")
    parser.add_argument("--clients", type=int, default=50, help="(default: 50)")
    parser.add_argument("--pipeline", type=int, default=16, help="where no answer waits (default: 16)")
    parser.add_argument("options", nargs="*", help="after --: of tutti serve")
    arguments = parser.parse_args()
    programs = arguments.programs.resolve()
    servers = []

    def start(make, *how):
        servers.append(make(*how))
        return servers[-1]

    def tutti(name, *how):
        return start(Tutti, programs, name, [*how, *arguments.options])

    try:
        none = tutti("no log")
        everysec = tutti("everysec", "--log", "log", "--fsync", "everysec")
        always = tutti("always", "--log", "log", "--fsync", "always")
        redis = start(RedisWithLog, "redis, always", "always")
        load = [arguments.requests, arguments.clients]
        for pipeline in (arguments.pipeline, 1):
            compare(
                f"a trivial procedure, {arguments.clients} clients, {pipeline} requests in each pipeline",
                [none, everysec],
                arguments.rounds,
                *load,
                pipeline,
            )
        compare(
            f"every answer after its fsync, {arguments.clients} clients, one request each",
            [redis, always],
            arguments.rounds,
            arguments.synced,
            arguments.clients,
            1,
        )
    except (RuntimeError, OSError, subprocess.CalledProcessError) as failure:
        print(f"durability.py: {failure}", file=sys.stderr)
        return 1
    finally:
        for server in servers:
            server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
