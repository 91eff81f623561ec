"""Servers of a comparison, and what a trivial call costs them, by redis-benchmark.

Where the client has a processor to itself it is often the one that is busiest, and rates of different servers are then
the client's. So beside each rate stands what a call takes of its server's processors, the kernel's part included.
"""

import os
import pathlib
import signal
import socket
import statistics
import subprocess
import tempfile
import time


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

    def processor_seconds(self):
        """Of all its threads so far."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((t / "schedstat").read_text(encoding="utf-8").split()[0]) for t in tasks) / 1e9

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()


class Tutti(Process):
    def __init__(self, programs, name, options):
        self.name = name
        port = free_port()
        command = [programs / "tutti", "serve", programs / "redis-comparison.so", "--port", port, "--quiet", *options]
        super().__init__([str(word) for word in command], port)
        self.increment = ["CALL", "increment"]


def throughput(server, requests, clients, pipeline):
    """Calls a second, and microseconds of the server's processors for each."""
    command = ["redis-benchmark", "-p", server.port, "-n", str(requests), "-c", str(clients), "-P", str(pipeline)]
    # One thread for each processor that the server leaves free; otherwise the generator would be the limit.
    if clients > 1 and len(os.sched_getaffinity(0)) >= 8:
        command += ["--threads", "4"]
    before = server.processor_seconds()
    done = subprocess.run([*command, "--csv", *server.increment], capture_output=True, text=True, check=True)
    rate = float(done.stdout.splitlines()[-1].split('","')[1].strip('"'))
    return rate, (server.processor_seconds() - before) / requests * 1e6


def compare(title, servers, rounds, *load):
    """Ratios are of each round beside its own neighbour: what the machine does besides meets both."""
    rates, costs = {s.name: [] for s in servers}, {s.name: [] for s in servers}
    for number in range(rounds):
        # In alternating order, so that no server always runs after the same one.
        for server in servers if number % 2 == 0 else reversed(servers):
            rate, cost = throughput(server, *load)
            rates[server.name].append(rate)
            costs[server.name].append(cost)

    def beside_first(of, name):
        return statistics.median(mine / first for mine, first in zip(of[name], of[servers[0].name]))

    print(title)
    print(f"  {'':<24}{'calls/s':>10}{'by first':>10}   {'from':>9} to{'':<8}{'us of processors':>18}{'by first':>10}")
    for name in rates:
        r = rates[name]
        print(
            f"  {name:<24}{statistics.median(r):>10.0f}{beside_first(rates, name):>10.2f}   "
            f"{min(r):>9.0f} to {max(r):<7.0f}{statistics.median(costs[name]):>18.2f}{beside_first(costs, name):>10.2f}",
            flush=True,
        )
