"""TPC-C as procedures of three servers, each a node of one cluster: real processes, terminals at all of them.

tpcc.py TUTTI PROCEDURES TERMINALS EXECUTOR

Whoever is asked, a call runs on the server that has its warehouse, and what it touches of others commits across nodes:
every consistency condition holds, and what was acknowledged is there, once. The same where a server is killed, or ended,
while terminals ask it: they get an answer or an error that says what it may mean, the others go on, and the conditions
hold over the warehouses that are left.
"""

import re
import signal
import subprocess
import sys
import tempfile

from three_servers import PATIENCE, Server, Violated, demand, until

WAREHOUSES = 6


class Cluster:
    """Three servers, of which nothing is left afterwards."""

    def __init__(self, tutti, procedures, terminals, executor, settings=()):
        self.folder = tempfile.TemporaryDirectory()
        self.program = terminals
        words = [w for s in (f"warehouses={WAREHOUSES}", *settings) for w in ("--set", s)]
        self.servers = [Server(tutti, procedures, executor, self.folder.name, n, "", words) for n in range(3)]
        for s in self.servers:
            s.wait_for_port()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for s in self.servers:
            if s.process.poll() is None:
                s.process.kill()
                s.process.wait()
        self.folder.cleanup()

    def terminals(self, seconds, *options):
        command = [self.program, *(f"127.0.0.1:{s.port}" for s in self.servers), "--seconds", str(seconds), *options]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def ask(self, seconds, *options):
        """What terminals say, and their status."""
        return ended(self.terminals(seconds, *options))

    def end(self, servers):
        for s in servers:
            status = s.end(signal.SIGTERM)
            demand(status == 0, f"server {s.number} ended with {status}: {s.said()[-600:]}")


def ended(terminals):
    text, _ = terminals.communicate(timeout=2 * PATIENCE)
    return terminals.returncode, text


def verdicts(text):
    """Of each condition whether it holds, and how many rows or sums it was compared for."""
    rows = re.findall(r"^ +(\d+)  .* (ok|VIOLATED) +(\d+) [a-z ]+$", text, re.M)
    return {int(condition): (word == "ok", int(count)) for condition, word, count in rows}


def demand_all_hold(text, conditions):
    found = verdicts(text)
    demand(set(found) == set(conditions), f"conditions {sorted(found)}: {text}")
    demand(all(holds and count > 0 for holds, count in found.values()), f"a condition is broken: {text}")


def forwarded_share(text):
    return float(re.search(r"^([\d.]+) of the calls forwarded", text, re.M)[1])


def check_all_there(arguments):
    every = [*range(1, 11), 12, 13]
    with Cluster(*arguments) as cluster:
        status, text = cluster.ask(1.0)
        demand(status == 0, f"status {status}: {text}")
        demand("errors:" not in text, f"errors without a fault: {text}")
        demand("warehouses on nodes 0 1 2 0 1 2" in text, f"warehouses are not where they should be: {text}")
        demand(forwarded_share(text) > 0.4, f"calls were not forwarded: {text}")
        demand_all_hold(text, every)
        # The server that has the warehouse forwards only the program's own questions.
        before = [s.client().info()["cluster_calls_forwarded"] for s in cluster.servers]
        status, text = cluster.ask(0.5, "--near")
        demand(status == 0, f"status {status}: {text}")
        demand_all_hold(text, every)
        after = [s.client().info()["cluster_calls_forwarded"] for s in cluster.servers]
        demand(sum(after) - sum(before) <= 4 * WAREHOUSES, f"calls at the right server were forwarded: {before} {after}")
        answer = cluster.servers[0].call("check", 1, 2)
        demand([row[0] for row in answer] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 12], f"of two warehouses: {answer}")
        cluster.end(cluster.servers)


def until_busy(server, commits, terminals):
    """It runs calls of the terminals, which have just started: few enough that a slow machine is not done before."""
    before = server.client().info()["cluster_commits"] # loading commits as well

    def has_run_some():
        if terminals.poll() is not None:
            raise Violated(f"the terminals ended before that: {terminals.stdout.read()[-600:]}")
        return server.client().info()["cluster_commits"] >= before + commits

    until("calls run on the server that will go", has_run_some)


def check_one_goes(arguments, how):
    """The last server goes while terminals ask all three."""
    with Cluster(*arguments) as cluster:
        last = cluster.servers[2]
        terminals = cluster.terminals(3)
        until_busy(last, 20, terminals)
        last.end(how)
        status, text = ended(terminals)
        demand(status == 0, f"status {status}: {text}")
        codes = set(re.findall(r"^errors: \d+ (\w+)$", text, re.M))
        demand("UNREACHABLE" in codes and codes <= {"UNREACHABLE", "INDOUBT", "gone", "SHUTDOWN"}, f"errors {codes}: {text}")
        demand("rows of warehouses 3, 6 are gone with their server" in text, f"what is gone: {text}")
        demand("consistency of warehouses 1, 2, 4, 5 after the run" in text, f"what is left: {text}")
        demand_all_hold(text, [*range(1, 10), 12])
        # The remaining servers continue: each takes orders for the remaining warehouses.
        order = cluster.servers[1].call("new_order", 1, 1, 1, *(word for item in range(1, 6) for word in (item, 1, 2)))
        demand(len(order) == 2, f"no order after the loss: {order}")
        cluster.end(cluster.servers[:2])


def main():
    *arguments, executor = sys.argv[1:5]
    arguments.append(executor)
    check_all_there(arguments)
    check_one_goes(arguments, signal.SIGKILL)
    check_one_goes(arguments, signal.SIGTERM)


if __name__ == "__main__":
    try:
        main()
    except Violated as e:
        sys.exit(f"tpcc.py: {e}")
