#!/usr/bin/env python3
"""Compares the transaction server with redis-server: a trivial call, pipelined, and short calls among long ones.

In the first comparison the system places all threads. In the second what computes has a processor to itself, one for
redis-server and for each of our workers, and I/O threads and the client have the rest: otherwise it would show how long
the system lets computing threads keep an I/O thread from its processor.
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from servers import Processors

# Scripts have no clock that goes on while they run, so a long one counts; how far, is measured.
SCRIPTS = {
    "increment": "return redis.call('INCR', KEYS[1])",
    "compute": "local x = 0 for i = 1, tonumber(ARGV[1]) do x = x + i end return 1",
}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Process:
    """A server in a folder of its own; ended, or killed if it will not."""

    def __init__(self, command, port):
        self.folder = tempfile.TemporaryDirectory(prefix="tutti-redis-")
        self.port = str(port)
        self.process = subprocess.Popen(command, cwd=self.folder.name, stdout=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError(f"{command[0]} did not start") from None
                time.sleep(0.02)

    def share_out(self, processors):
        """Moves the threads to where they belong."""
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), processors.workers)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


class Tutti(Process):
    name = "tutti"

    def __init__(self, programs, options):
        port = free_port()
        command = [programs / "tutti", "serve", programs / "redis-comparison.so", "--port", port, "--quiet", *options]
        super().__init__([str(word) for word in command], port)
        self.increment = ["CALL", "increment"]

    def long_call(self, microseconds):
        return f"CALL compute {microseconds}"

    def share_out(self, processors):
        processors.share_out(self.process.pid)


class Redis(Process):
    name = "redis"

    def __init__(self):
        port = free_port()
        super().__init__(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"], port)
        try:
            self.increment = ["EVALSHA", self.load("increment"), "1", "n"]
            self.digest = self.load("compute")
            self.speed = max(self.steps_a_microsecond() for _ in range(10))  # the others were disturbed
        except BaseException:
            self.end()  # nobody else knows of it
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

    def long_call(self, microseconds):
        return f"EVALSHA {self.digest} 0 {round(microseconds * self.speed)}"


def throughput(server, arguments):
    command = ["redis-benchmark", "-p", server.port, "-n", str(arguments.requests), "-c", str(arguments.clients)]
    command += ["-P", str(arguments.pipeline), "--csv", *server.increment]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1].split('","')[1].strip('"'))


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


def compare_throughput(servers, arguments):
    rates = {s.name: [] for s in servers}
    for _ in range(arguments.rounds):
        for server in servers:
            rates[server.name].append(throughput(server, arguments))
    print(
        f"a trivial call, {arguments.clients} clients, {arguments.pipeline} requests in each pipeline; calls a second"
    )
    middle = {name: statistics.median(r) for name, r in rates.items()}
    for name, r in rates.items():
        print(f"  {name:<8}{middle[name]:>12.0f}   from {min(r):.0f} to {max(r):.0f}")
    print(f"  ratio   {middle['tutti'] / middle['redis']:>12.2f}")


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
    ratio = middle["redis", "short"]["p99"] / middle["tutti", "short"]["p99"]
    print(f"  p99 of the short ones, redis by tutti: {ratio:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of tutti and tutti-bench-mix")
    parser.add_argument("--rounds", type=int, default=5, help="of each (default: 5)")
    parser.add_argument("--requests", type=int, default=500_000, help="of a round of throughput (default: 500000)")
    parser.add_argument("--clients", type=int, default=20, help="(default: 20)")
    parser.add_argument("--pipeline", type=int, default=32, help="(default: 32)")
    parser.add_argument("--rate", type=float, default=800, help="of the mix, requests a second (default: 800)")
    parser.add_argument("--long-us", type=int, default=5000, help="a long call computes for so long (default: 5000)")
    parser.add_argument("--seconds", type=float, default=5, help="of a round of the mix (default: 5)")
    parser.add_argument("options", nargs="*", help="after --: of tutti serve")
    arguments = parser.parse_args()
    arguments.programs = arguments.programs.resolve()
    servers = []
    try:
        servers.append(Tutti(arguments.programs, arguments.options))
        servers.append(Redis())
        compare_throughput(servers, arguments)
        while servers:
            servers.pop().end()
        processors = Processors()
        workers = ["--workers", str(len(processors.workers))]
        servers.append(Tutti(arguments.programs, [*workers, *arguments.options]))
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
