"""TPC-C on servers that are nodes of a cluster: starts them, has terminals ask them, and ends them.

Each server is a process of `tutti serve` with the five profiles as procedures, and has its share of the warehouses, or all
of them are in an engine. What the terminals print is described in docs/server-cluster.md.
"""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time


class Failure(Exception):
    """A failure, reported to the operator."""


class Server:
    """`tutti serve`, on a port that the system chooses."""

    def __init__(self, options, folder, number):
        self.log = folder / f"server-{number}.log"
        self.port_file = folder / f"port-{number}"
        configuration = folder / f"node-{number}.toml"
        configuration.write_text(self.configured(options, folder, number), encoding="utf-8")
        command = [options.bin / "tutti", "serve", options.bin / "tpcc-cluster-procedures.so", "--cluster", configuration]
        command += ["--port", "0", "--port-file", self.port_file, "--executor", options.executor]
        command += ["--workers", str(options.workers)] if options.workers else []
        for name in ("warehouses", "shrink", "seed", "spread"):
            command += ["--set", f"{name}={getattr(options, name)}"]
        with self.log.open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=subprocess.STDOUT)

    @staticmethod
    def configured(options, folder, number):
        if options.engine:
            # The check reads all rows in one block, which may take some time with an engine.
            return f"[engine]\naddress = '{options.engine}'\nprefix = '{options.prefix}'\nrequest-timeout = 60000\n"
        addresses = ", ".join(f"'unix:{folder}/node-{n}'" for n in range(options.servers))
        return f"nodes = [{addresses}]\nnode-number = {number}\nfailure-timeout = 3000\nconnect-timeout = 60000\n"

    def address(self):
        """Once it serves."""
        while not self.port_file.exists():
            if self.process.poll() is not None:
                raise Failure(f"a server did not start: {self.last_output()}")
            time.sleep(0.05)
        return f"127.0.0.1:{self.port_file.read_text(encoding='utf-8').strip()}"

    def last_output(self):
        return self.log.read_text(encoding="utf-8", errors="replace").strip()

    def end(self):
        """In good order, unless it has been killed."""
        killed = self.process.poll() == -signal.SIGKILL
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        if self.process.wait() != 0 and not killed:
            raise Failure(f"a server ended with status {self.process.returncode}: {self.last_output()}")

    def discard(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def natural(least, most):
    def parse(text):
        number = int(text)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"give a whole number from {least} to {most}")
        return number

    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(prog="cluster serve", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"), help=argparse.SUPPRESS)
    parser.add_argument("--servers", type=natural(1, 64), default=3, help="processes (3)")
    parser.add_argument("--executor", choices=("threads", "preemptive"), default="threads", help="of each (threads)")
    parser.add_argument("--workers", type=natural(1, 64), help="threads that run calls (as many as processors are left)")
    parser.add_argument("--engine", help="address of an engine that holds the rows, such as etcd://127.0.0.1:2379")
    parser.add_argument("--warehouses", type=natural(1, 1000), default=6, help="of all servers together (6)")
    parser.add_argument("--shrink", type=natural(1, 100), default=100, help="divides items, customers and orders (100)")
    parser.add_argument("--seed", type=natural(0, 10**9), default=7, help="of rows and inputs (7)")
    parser.add_argument("--terminals", type=natural(1, 1000), default=10, help="of each warehouse (10)")
    parser.add_argument("--seconds", type=float, default=5.0, help="that they ask (5)")
    parser.add_argument("--spread", choices=("by-warehouse", "anywhere"), default="by-warehouse",
                        help="rows of a warehouse are together, or where their keys are hashed to (by-warehouse)")
    parser.add_argument("--near", action="store_true", help="each asks the server that has its warehouse")
    parser.add_argument("--kill", type=natural(0, 63), help="kill -9 this server half-way")
    parser.add_argument("--stop", type=natural(0, 63), help="end this server half-way in good order (SIGTERM)")
    options = parser.parse_args()
    for gone in (options.kill, options.stop):
        if gone is not None and gone >= options.servers:
            parser.error(f"servers are numbered from 0 to {options.servers - 1}")
    if options.engine and options.engine.startswith("memory:") and options.servers > 1:
        parser.error("--engine memory: is in one process: give --servers 1")
    options.prefix = f"tpcc-{os.getpid()}-{int(time.time())}"
    return options


def run(options, servers):
    addresses = [s.address() for s in servers]
    command = [options.bin / "tutti-tpcc-terminals", *addresses, "--seconds", options.seconds]
    command += ["--terminals", options.terminals, "--seed", options.seed, *(["--near"] if options.near else [])]
    with subprocess.Popen(list(map(str, command))) as terminals:
        for number, how in ((options.kill, signal.SIGKILL), (options.stop, signal.SIGTERM)):
            if number is not None:
                time.sleep(options.seconds / 2)
                servers[number].process.send_signal(how)
                servers[number].process.wait()
        status = terminals.wait()
    for s in servers:
        s.end()
    return status


def main():
    options = parse_arguments()
    if options.engine:
        print(f"rows stay in {options.engine}, under the prefix {options.prefix}", flush=True)
    servers = []
    with tempfile.TemporaryDirectory(prefix="tutti-tpcc-") as folder:
        try:
            for number in range(options.servers):
                servers.append(Server(options, pathlib.Path(folder), number))
            return run(options, servers)
        except Failure as failure:
            print(f"cluster serve: {failure}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 130
        finally:
            for s in servers:
                s.discard()


sys.exit(main())
