"""Leaders that hand their lead over while clients call and processes die, by redis-py and real processes.

handover.py TUTTI PROCEDURES [ROUNDS [SEED]]

Each round: clients count (`next`, each call with an ID) at whichever of two servers takes calls that write. The leader
is told to hand over leadership; at any moment of that one of the two may be killed, or stand still, and is started again
with the options that it had. Then one of them leads and the other one follows, and both have every call that was
answered, once. All the time a reader looks at both servers, also while they run what a leader has logged, and must see
whole calls only.
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
from failover import CLIENTS, PATIENCE, Server, Violated, counts, until


class Caller(threading.Thread):
    """Counts until it is told to end. A call without an answer is sent again, with its ID."""

    def __init__(self, servers, who):
        super().__init__()
        self.servers, self.who, self.number, self.over, self.odd = servers, who, 0, False, None

    def run(self):
        at, client = 0, None
        while not self.over and self.odd is None:
            wanted = self.number + 1
            try:
                client = client or self.servers[at].client()
                key = f"{self.who}.{wanted}"
                if int(client.execute_command("CALL", "ID", key, "next", self.who, wanted)) != wanted:
                    self.odd = "another number"
                self.number = wanted
            except (redis.ReadOnlyError, redis.ConnectionError, redis.TimeoutError):
                at, client = 1 - at, None
                time.sleep(0.002)
            except redis.ResponseError as e:
                # The server ends, reads its log, or still runs the call of this ID.
                if not str(e).startswith(("BUSY", "SHUTDOWN", "UNSAVED", "MISCONF", "MAXCLIENTS")):
                    self.odd = repr(e)
                client = None
                time.sleep(0.002)


class Reader(threading.Thread):
    """Looks for half a call at each server in turn until it is told to end."""

    def __init__(self, servers):
        super().__init__()
        self.servers, self.over, self.odd, self.looks = servers, False, None, 0

    def run(self):
        while not self.over and self.odd is None:
            server = self.servers[self.looks % len(self.servers)]
            self.looks += 1
            try:
                counts(server)
            except redis.RedisError:
                pass  # the server is down
            except Violated as e:
                self.odd = f"at {server.name}: {e}"
            time.sleep(0.002)


def leads(server):
    try:
        info = server.info()
        return info["role"] == "leader" and info["accepts_writes"] == 1
    except redis.RedisError:
        return False


def follows(server):
    try:
        info = server.info()
        return info["role"] == "follower" and info["leader_connected"] == 1
    except redis.RedisError:
        return False


def bring_back(server, other, options):
    """As an operator does who reads what a start says."""
    server.end()
    server.start(more=options).process.poll()
    until("it serves or ends", lambda: server.process.poll() is not None or os.path.exists(server.path("port")))
    if server.process.poll() is None:
        return
    if "another server leads in term" not in server.said()[-600:]:
        raise Violated(f"{server.name} ended otherwise: {server.said()[-600:]}")
    server.process = None
    server.start(follow=other).wait_for_port()


def round_of(leader, follower, options, chance, tutti):
    what = chance.choice(["nothing", "follower dies", "leader dies", "follower stands still", "leader stands still"])
    longest = "25000" if what == "nothing" else "1500"
    command = subprocess.Popen([tutti, "handover", "--port", str(leader.port), "--timeout", longest],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(chance.random() * 0.05)
    victim, other = (leader, follower) if what.startswith("leader") else (follower, leader)
    if what.endswith("dies"):
        victim.end()
        time.sleep(chance.choice([0, 0.2, 2]))
        bring_back(victim, other, options[victim.name])
    elif what.endswith("still"):
        victim.process.send_signal(signal.SIGSTOP)
        time.sleep(chance.choice([0.1, 2]))
        victim.process.send_signal(signal.SIGCONT)
    told = command.communicate(timeout=PATIENCE)[1]
    if what == "nothing" and (command.returncode != 0 or not leads(follower) or leads(leader)):
        raise Violated(f"nothing has happened, and leadership was not handed over: {told}")
    both = (leader, follower)
    promoted_at = time.monotonic() + 5

    def settled():
        nonlocal promoted_at
        if any(leads(s) and follows(o) for s, o in (both, both[::-1])):
            return True
        if all(leads(s) for s in both):
            return False # the older leader is about to hear of it
        if not any(leads(s) for s in both) and time.monotonic() > promoted_at:
            # The former leader follows, or waits for a server that does not know of the order. An operator decides.
            if follower.info()["role"] == "follower":
                follower.client().execute_command("REPLICAOF", "NO", "ONE")
            promoted_at = time.monotonic() + 5
        return False

    until(f"one leads, and the other follows ({what})", settled)
    return both if leads(leader) else both[::-1], what


def main():
    tutti, procedures = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
    chance = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="tutti-handover-")
    a, b = (Server([tutti, "serve", procedures, "--fsync", "always"], folder, name) for name in ("a", "b"))
    callers, reader, kept = [], Reader([a, b]), False
    try:
        a.start().wait_for_port()
        b.start(a).wait_for_port()
        options = {"a": (), "b": ("--follow", f"127.0.0.1:{a.port}")}
        callers = [Caller([a, b], who) for who in range(CLIENTS)]
        for c in (*callers, reader):
            c.start()
        pair, kinds = (a, b), {}
        for _ in range(rounds):
            goal = [c.number + 20 for c in callers]
            until("calls go on", lambda: reader.odd or any(c.odd for c in callers) or
                  all(c.number >= g for c, g in zip(callers, goal)))
            if reader.odd:
                break
            pair, what = round_of(*pair, options, chance, tutti)
            kinds[what] = kinds.get(what, 0) + 1
        for c in callers:
            c.over = True
        for c in callers:
            c.join()
            if c.odd is not None:
                raise Violated(f"client {c.who} was told {c.odd}")
        has = counts(pair[0])
        for c in callers:
            if not c.number <= has[c.who] <= c.number + 1:
                raise Violated(f"client {c.who} was answered {c.number} times, and {pair[0].name} has {has[c.who]}")
        until("both have the same", lambda: counts(pair[1]) == has)
        reader.over = True
        reader.join()
        if reader.odd is not None:
            raise Violated(reader.odd)
        print(f"{sum(has)} calls over {rounds} rounds, looked at {reader.looks} times: {kinds}")
    except Violated as e:
        kept = True
        print(f"handover.py: violated: {e} (seed {seed}; the files are in {folder})", file=sys.stderr)
        return 1
    finally:
        for c in (*callers, reader):
            c.over = True
        for s in (a, b):
            s.end()
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
