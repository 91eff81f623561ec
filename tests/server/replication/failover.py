"""Leaders that are killed, followers that are promoted, by redis-py and real processes.

failover.py TUTTI PROCEDURES [ROUNDS [SEED]]

Each round: clients count (`next`) on a leader that has two followers, and each remembers the last call that was
acknowledged after WAIT. In the middle the leader is killed, the follower that has more is promoted, and has to have all
of that, no half call, and no call that was never sent. The old leader then comes back by itself: it must learn that it
no longer leads. Started as a follower it either joins, or is told that its log has diverged; then its log is put away.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import redis

CLIENTS = 4
PATIENCE = 60


class Violated(Exception):
    pass


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Violated(f"it never came: {what}")
        time.sleep(0.01)


class Server:
    def __init__(self, words, folder, name):
        self.words, self.folder, self.name = words, folder, name
        self.port, self.process = None, None

    def path(self, what):
        return os.path.join(self.folder, f"{self.name}.{what}")

    def start(self, follow=None, more=()):
        if os.path.exists(self.path("port")):
            os.remove(self.path("port"))
        command = [*self.words, "--log", self.path("log"), "--port", str(self.port or 0), "--port-file", self.path("port"),
                   "--executor", "threads", "--workers", "2", *more]
        if follow is not None:
            command += ["--follow", f"127.0.0.1:{follow.port}"]
        self.process = subprocess.Popen(command, stdout=open(self.path("out"), "ab"), stderr=subprocess.STDOUT)
        return self

    def wait_for_port(self):
        def listens():
            if self.process.poll() is not None:
                raise Violated(f"{self.name} ended with {self.process.returncode}: {self.said()[-600:]}")
            return os.path.exists(self.path("port"))

        until(f"{self.name} serves", listens)
        self.port = int(open(self.path("port")).read())
        return self

    def said(self):
        return open(self.path("out"), errors="replace").read()

    def client(self):
        return redis.Redis(port=self.port, decode_responses=True, socket_timeout=PATIENCE)

    def info(self):
        return self.client().info()

    def end(self, how=signal.SIGKILL):
        if self.process is None:
            return 0
        self.process.send_signal(how)
        status = self.process.wait(PATIENCE)
        self.process = None
        return status

    def forget(self):
        for ending in ("log", "log-wal", "log-end"):
            if os.path.exists(self.path(ending)):
                os.rename(self.path(ending), self.path(ending + f".{time.monotonic_ns()}"))


class Caller(threading.Thread):
    """Counts until its server goes; what WAIT has confirmed is in `sure`."""

    def __init__(self, server, who, begun_at, replicas):
        super().__init__()
        self.server, self.who, self.number, self.sure, self.sent = server, who, begun_at, begun_at, begun_at
        self.replicas, self.odd = replicas, None

    def run(self):
        try:
            client = self.server.client()
            while True:
                self.sent = self.number + 1
                client.execute_command("CALL", "next", self.who, self.sent)
                self.number = self.sent
                if client.wait(self.replicas, PATIENCE * 1000) >= self.replicas:
                    self.sure = self.number
        except redis.ConnectionError:
            pass
        except Exception as e: # reported by the main thread
            self.odd = e


def counts(server):
    """Returns what each client has counted there. Reads all of it in one transaction: the server may run calls
    meanwhile, as a follower does that lags, and this still sees whole calls only."""
    together = server.client().pipeline(transaction=True)
    for who in range(CLIENTS):
        together.execute_command("CALL", "get", who)
    together.execute_command("CALL", "sides")
    *has, (left, right) = together.execute()
    has = [int(n) for n in has]
    if int(left) != sum(has) or int(right) != sum(has):
        raise Violated(f"half a call: the cells add up to {sum(has)}, and the sums are {left} and {right}")
    return has


def refused(server, code):
    try:
        server.client().execute_command("CALL", "put", 63, 1)
    except redis.RedisError as e:
        return code in f"{type(e).__name__} {e}".upper()
    return False


def round_of(servers, chance, begun_at):
    leader, *followers = servers
    until("both follow", lambda: leader.info().get("followers", 0) >= 2 and leader.client().wait(2, 1000) >= 2)
    if not refused(followers[0], "READONLY") and not refused(followers[0], "READ ONLY"):
        raise Violated("a follower takes calls that write")
    callers = [Caller(leader, who, begun_at[who], chance.choice([1, 2, 2])) for who in range(CLIENTS)]
    for c in callers:
        c.start()
    time.sleep(chance.random() * 0.4)
    lame = chance.random() < 0.4 and all(c.replicas == 1 for c in callers)
    if lame: # a follower that vanishes, and returns to another leader
        followers[1].end()
    time.sleep(chance.random() * 0.3)
    leader.end()
    for c in callers:
        c.join()
        if c.odd is not None:
            raise Violated(f"a client was told {c.odd!r}")
    # First, the followers apply everything that is still on its way.
    alive = [f for f in followers if f.process]
    until("they know that it is gone", lambda: all(f.info()["leader_connected"] == 0 for f in alive))
    followers.sort(key=lambda f: -f.info()["log_position"] if f.process else 0)
    successor, other = followers
    if successor.client().execute_command("REPLICAOF", "NO", "ONE") not in (True, "OK", b"OK"):
        raise Violated("it was not promoted")
    has = counts(successor)
    for c in callers:
        if has[c.who] < c.sure:
            raise Violated(f"client {c.who} knew that its call {c.sure} was replicated, and {successor.name} has {has[c.who]}")
        if has[c.who] > c.sent:
            raise Violated(f"client {c.who} sent {c.sent} calls, and {successor.name} has {has[c.who]}")
    if successor.info()["role"] != "leader":
        raise Violated("it leads, and does not say so")
    # The other follower does not hear of the new leader by itself, so the operator restarts it.
    other.end(signal.SIGTERM if chance.random() < 0.5 else signal.SIGKILL)
    other.start(successor).wait_for_port()
    returned = chance.random() < 0.5
    if returned:
        leader.start().wait_for_port()
        until("the old leader hears of the new term", lambda: refused(leader, "READONLY") or refused(leader, "READ ONLY"))
        leader.end(signal.SIGTERM)
        leader.start()
        if leader.process.wait(PATIENCE) == 0 or "--follow" not in leader.said():
            raise Violated("an old leader started again without a word")
    leader.start(successor)
    ended = []

    def settled():
        if leader.process.poll() is not None:
            ended.append(leader.process.returncode)
        return ended or os.path.exists(leader.path("port"))

    until("the old leader follows, or is refused", settled)
    if ended:
        if "DIVERGED" not in leader.said()[-2000:]:
            raise Violated(f"the old leader ended otherwise: {leader.said()[-600:]}")
        leader.process = None
        leader.forget()
        leader.start(successor)
    leader.wait_for_port()
    return [successor, other, leader], has, bool(ended), returned


def main():
    tutti, procedures = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
    chance = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="tutti-failover-")
    words = [tutti, "serve", procedures, "--fsync", "always"]
    servers = [Server(words, folder, name) for name in ("a", "b", "c")]
    kept = False
    try:
        servers[0].start().wait_for_port()
        for s in servers[1:]:
            s.start(servers[0], ("--snapshot-after", "20000")).wait_for_port()
        has, diverged, returned = [0] * CLIENTS, 0, 0
        for _ in range(rounds):
            servers, has, d, r = round_of(servers, chance, has)
            diverged, returned = diverged + d, returned + r
        until("all have the same", lambda: all(counts(s) == has for s in servers))
        term = servers[0].info()["term"]
        if term < rounds + 1:
            raise Violated(f"{rounds} promotions, and the term is {term}")
        for s in servers:
            if s.end(signal.SIGTERM) != 0:
                raise Violated(f"{s.name} did not end well")
        print(f"{rounds} leaders were killed; {diverged} had diverged, {returned} came back by themselves; "
              f"{sum(has)} calls are there")
    except Violated as e:
        kept = True
        print(f"failover.py: violated: {e} (seed {seed}; the files are in {folder})", file=sys.stderr)
        return 1
    finally:
        for s in servers:
            s.end()
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
