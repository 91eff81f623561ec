"""TPC-C as procedures of three servers whose rows are in an engine: a group of members.

tpcc_engine.py TUTTI PROCEDURES TERMINALS

The first server loads the rows. Calls run where they are asked. A server that comes later finds what is there, and is
refused if it was given other settings. A server that is killed takes no rows with it. Where the group's leader is killed
while terminals ask, they may wait, and all that was acknowledged is there, once, whoever leads then, and when the killed
member has come back.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

from three_servers import Server, Violated, demand, until
from tpcc import Cluster, demand_all_hold, ended, forwarded_share, until_busy

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
        return f"[engine]\naddress = 'tutti://{self.configuration}'\nprefix = 'tpcc'\nrequest-timeout = 60000\n"

    def environment(self):
        return {}


class Group:
    """Members on this machine, of which nothing is left afterwards."""

    def __init__(self, tutti, size):
        self.tutti = tutti
        self.folder = tempfile.TemporaryDirectory()
        self.addresses, self.members = [], []
        for _ in range(size):
            self.addresses.append(f"127.0.0.1:{free_port()}")
            self.members.append(None)
            self.start(len(self.members) - 1, *self.way_in())
            until("a member is in the group", self.is_whole)

    def way_in(self):
        return ["--join", self.addresses[0]] if len(self.members) > 1 else ["--new-group"]

    def start(self, i, *how):
        """For the first time it has to be said how; afterwards its folder knows."""
        folder = os.path.join(self.folder.name, str(i))
        listens = ["--listen", self.addresses[i]] if how else []
        with open(folder + ".log", "ab") as log:
            command = [self.tutti, "member", "run", "--data-dir", folder, *listens, *how]
            self.members[i] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def status(self):
        command = [self.tutti, "member", "status", "--json", "--group", ",".join(self.addresses)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def is_whole(self):
        """Every one that was started answers, and has a vote, and one leads."""
        said = self.status()
        return said.returncode == 0 and len(json.loads(said.stdout)["members"]) == len(self.addresses)

    def leader(self):
        """Its place among the members, or None."""
        with contextlib.suppress(ValueError, KeyError):
            for m in json.loads(self.status().stdout)["members"]:
                if m["state"] == "leader":
                    return self.addresses.index(m["address"])
        return None

    def kill(self, i):
        self.members[i].kill()
        self.members[i].wait()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for i in range(len(self.members)):
            self.kill(i)
        self.folder.cleanup()


def check_settings(arguments, group):
    with OverEngine(*arguments, ",".join(group.addresses)) as cluster:
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
        check_server_goes(cluster)


def check_server_goes(cluster):
    """Of four: the calls of its terminals are lost or unknown, and no rows."""
    terminals = cluster.terminals(2)
    until_busy(cluster.servers[3], 20, terminals)
    cluster.servers[3].end(signal.SIGKILL)
    status, text = ended(terminals)
    demand(status == 0, f"status {status}: {text}")
    demand(codes(text) == {"gone"}, f"errors {codes(text)}: {text}")
    demand("are gone with their server" not in text, f"rows of an engine are gone: {text}")
    demand_all_hold(text, CONDITIONS)
    cluster.end(cluster.servers[:3])


def codes(text):
    return set(re.findall(r"^errors: \d+ (\w+)$", text, re.M))


def check_leader_goes(arguments, group):
    with OverEngine(*arguments, ",".join(group.addresses)) as cluster:
        first = until("somebody leads", lambda: group.leader() is not None and [group.leader()])[0]
        terminals = cluster.terminals(3)
        until_busy(cluster.servers[0], 20, terminals)
        group.kill(first)
        status, text = ended(terminals)
        demand(status == 0, f"status {status}: {text}")
        demand(not codes(text), f"errors {codes(text)}, though the request timeout is a minute: {text}")
        demand_all_hold(text, CONDITIONS)
        demand(group.leader() not in (None, first), "nobody else leads")
        group.start(first)
        until("the member that was killed is there again", group.is_whole)
        status, text = cluster.ask(0.5)
        demand(status == 0, f"status {status}: {text}")
        demand_all_hold(text, CONDITIONS)
        cluster.end(cluster.servers)


def main():
    arguments = sys.argv[1:4]
    with Group(arguments[0], 1) as group:
        check_settings(arguments, group)
    with Group(arguments[0], 3) as group:
        check_leader_goes(arguments, group)


if __name__ == "__main__":
    try:
        main()
    except Violated as e:
        sys.exit(f"tpcc_engine.py: {e}")
