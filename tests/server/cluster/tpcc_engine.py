"""TPC-C as procedures of three servers whose rows are in an engine: a group of one member.

tpcc_engine.py TUTTI PROCEDURES TERMINALS

The first server loads the rows. Calls run where they are asked. A server that comes later finds what is there, and is
refused if it was given other settings.
"""

import os
import socket
import subprocess
import sys
import tempfile

from three_servers import Server, Violated, demand, until
from tpcc import Cluster, demand_all_hold, forwarded_share

CONDITIONS = [*range(1, 11), 12, 13]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class OverEngine(Cluster):
    """Three servers over it; more may come."""

    def __init__(self, tutti, procedures, terminals, engine):
        self.arguments, self.engine = (tutti, procedures), engine
        self.folder, self.program, self.servers, self.started = tempfile.TemporaryDirectory(), terminals, [], 0
        for _ in range(3):
            self.start()
        for s in self.servers:
            s.wait_for_port()

    def start(self, *settings):
        number, self.started = self.started, self.started + 1
        words = [w for s in ("warehouses=2", *settings) for w in ("--set", s)]
        self.servers.append(EngineServer(*self.arguments, "threads", self.folder.name, number, self.engine, words))
        return self.servers[-1]


class EngineServer(Server):
    def configured(self, _):
        return f"[engine]\naddress = 'tutti://{self.configuration}'\nprefix = 'tpcc'\npatience = 60000\n"

    def environment(self):
        return {}


def check(tutti, procedures, terminals, engine):
    with OverEngine(tutti, procedures, terminals, engine) as cluster:
        status, text = cluster.ask(1.5)
        demand(status == 0, f"status {status}: {text}")
        demand(forwarded_share(text) == 0, f"calls over an engine were forwarded: {text}")
        demand_all_hold(text, CONDITIONS)
        other = cluster.start("seed=8")
        until("a server with other settings ends", lambda: other.process.poll() is not None)
        demand("start this server with --set warehouses=2 --set seed=7 --set shrink=100" in other.said(), other.said())
        cluster.servers[3:] = []
        cluster.start().wait_for_port()
        demand(int(cluster.servers[3].call("counts", 1)[0]) == int(cluster.servers[0].call("counts", 1)[0]), "other rows")
        cluster.end(cluster.servers)


def main():
    address = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "wb") as log:
        command = [sys.argv[1], "member", "run", "--folder", os.path.join(folder, "m"), "--listen", address, "--new-group"]
        member = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            status = [sys.argv[1], "member", "status", "--group", address]
            until("the group is there", lambda: subprocess.run(status, capture_output=True, check=False).returncode == 0)
            check(*sys.argv[1:4], address)
        finally:
            member.kill()
            member.wait()


if __name__ == "__main__":
    try:
        main()
    except Violated as e:
        sys.exit(f"tpcc_engine.py: {e}")
