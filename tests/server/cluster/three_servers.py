"""Three servers, each a node of one cluster, by redis-py and real processes.

three_servers.py TUTTI PROCEDURES EXECUTOR

Clients of all three move money between accounts that are objects of different nodes; read-only calls find the same total
at every moment, on every server; a call that waits in `retry` on one server is woken by another. While a node is
stopped, a call that needs it leaves its worker to calls that do not, and ends with a clear error in bounded time. When a
node is killed, what the others hold is still there, nothing of what was acknowledged among them is lost, and calls that
need the dead node's objects say so.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import redis

ACCOUNTS = 24
START = 1000
PATIENCE = 60
FAILURE_TIMEOUT_MS = 3000


class Violated(Exception):
    pass


def demand(holds, what):
    if not holds:
        raise Violated(what)


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        demand(time.monotonic() < end, f"it never came: {what}")
        time.sleep(0.01)


class Server:
    def __init__(self, tutti, procedures, executor, folder, number, configuration="", options=()):
        self.arguments = tutti, procedures, executor, folder, number, configuration, options
        self.folder, self.number, self.port, self.configuration = folder, number, None, configuration
        with open(self.path("toml"), "w") as out:
            out.write(self.configured(", ".join(f"'unix:{folder}/node-{n}'" for n in range(3))))
        # With one worker, a waiting call that blocks the worker would block all others.
        self.command = [tutti, "serve", procedures, "--cluster", self.path("toml"), "--port", "0", "--port-file",
                        self.path("port"), "--executor", executor, "--workers", "1" if executor == "preemptive" else "4",
                        "--metrics-port", "0", *options]
        self.process = subprocess.Popen(self.command, stdout=open(self.path("out"), "ab"), stderr=subprocess.STDOUT,
                                        env={**os.environ, **self.environment()})

    def configured(self, addresses):
        return f"nodes = [{addresses}]\nfailure-timeout = {FAILURE_TIMEOUT_MS}\nconnect-timeout = 30000\n{self.configuration}\n"

    def environment(self):
        return {"TUTTI_CLUSTER_NODE_NUMBER": str(self.number)}

    def path(self, what):
        return os.path.join(self.folder, f"server-{self.number}.{what}")

    def said(self):
        return open(self.path("out"), errors="replace").read()

    def wait_for_port(self):
        def listens():
            demand(self.process.poll() is None, f"server {self.number} ended: {self.said()[-600:]}")
            return os.path.exists(self.path("port"))

        until(f"server {self.number} serves", listens)
        self.port = int(open(self.path("port")).read())

    def client(self):
        return redis.Redis(port=self.port, decode_responses=True, socket_timeout=PATIENCE)

    def call(self, *words):
        return self.client().execute_command("CALL", *words)

    def stop(self):
        """Until SIGCONT. Its threads go on for some time after the signal, and not after the kernel has told us."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def end(self, how):
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


class Mover(threading.Thread):
    """Moves money until it is told to end; `errors` are the codes that it met, by their first word."""

    def __init__(self, server, seed):
        super().__init__()
        self.server, self.state, self.ends = server, seed, threading.Event()
        self.done, self.errors, self.odd, self.slowest = 0, {}, None, 0.0

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def run(self):
        try:
            client = self.server.client()
            while not self.ends.is_set():
                began = time.monotonic()
                try:
                    client.execute_command("CALL", "transfer", self.below(ACCOUNTS), self.below(ACCOUNTS),
                                           1 + self.below(20))
                    self.done += 1
                except redis.ResponseError as e:
                    code = str(e).split()[0]
                    self.errors[code] = self.errors.get(code, 0) + 1
                self.slowest = max(self.slowest, time.monotonic() - began)
        except redis.ConnectionError:
            pass
        except Exception as e: # reported by the main thread
            self.odd = e


def refused(call):
    try:
        answer = call()
    except redis.ResponseError as e:
        return str(e)
    raise Violated(f"it was answered {answer}")


def run_movers(servers, seconds, meanwhile):
    movers = [Mover(s, 7 + i) for i, s in enumerate(servers * 2)]
    for m in movers:
        m.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        meanwhile()
    for m in movers:
        m.ends.set()
    for m in movers:
        m.join(PATIENCE)
        demand(not m.is_alive(), "a client waits forever")
        demand(m.odd is None, f"odd: {m.odd}")
    return movers


def main():
    tutti, procedures, executor = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        servers = [Server(tutti, procedures, executor, folder, n) for n in range(3)]
        try:
            for s in servers:
                s.wait_for_port()
            run(servers, executor)
        finally:
            for s in servers:
                if s.process.poll() is None:
                    s.process.send_signal(signal.SIGCONT)
                    s.process.kill()
                    s.process.wait()


def run(servers, executor):
    one, two, three = servers
    for i in range(ACCOUNTS):
        servers[i % 3].call("open", i, START)
    demand([int(s.call("number")) for s in servers] == [0, 1, 2], "a server is another node than it was told to be")

    # A read-only block reads a state of the logical time. That state may precede the latest commit of another server.
    def sees_all(server):
        try:
            return int(server.call("total", ACCOUNTS)) > 0
        except redis.ResponseError as e:
            demand("there is no object" in str(e), f"odd: {e}")
            return False

    for s in servers:
        until(f"server {s.number} sees all accounts", lambda s=s: sees_all(s))

    # All servers see the same total.
    def look():
        for s in servers:
            total = int(s.call("total", ACCOUNTS))
            demand(total == ACCOUNTS * START, f"server {s.number} sees {total}")

    movers = run_movers(servers, 1.5, look)
    codes = {c for m in movers for c in m.errors}
    demand(codes <= {"CANCELLED"}, f"errors without a fault: {codes}")
    done = sum(m.done for m in movers)
    demand(done > 0 and sum(int(s.call("moved")) for s in servers) == done,
           "local variables do not commit with the objects")
    info = one.client().info()
    demand(info["cluster_nodes"] == 3 and info["cluster_nodes_lost"] == 0 and info["cluster_commits"] > 0, f"INFO: {info}")
    demand(info["cluster_transactions_in_doubt"] == 0, f"INFO: {info}")

    # Another server wakes a waiting call.
    waited = []
    waiter = threading.Thread(target=lambda: waited.append(int(one.call("await", 0, 10 * START))))
    waiter.start()
    for i in range(1, ACCOUNTS):
        balance = int(two.call("balance", i))
        two.call("transfer", i, 0, balance)
    waiter.join(PATIENCE)
    demand(waited and waited[0] >= 10 * START, f"the waiting call was answered {waited}")
    for i in range(1, ACCOUNTS):
        three.call("transfer", 0, i, START)
    look()

    # Asks each server while the last node does not answer.
    three.stop()
    answers = {}

    def ask(i):
        began = time.monotonic()
        try:
            answers[i] = (int(one.call("balance", i)), time.monotonic() - began)
        except redis.ResponseError as e:
            answers[i] = (str(e), time.monotonic() - began)

    asking = [threading.Thread(target=ask, args=(i,)) for i in range(ACCOUNTS)]
    for a in asking:
        a.start()
    if executor == "preemptive": # with threads, waiting calls may occupy all workers
        until("calls wait for the node that is stopped", lambda: one.client().info()["parked"] > 0)
        one.call("moved")
        demand(any(a.is_alive() for a in asking), "the call that waits for no node came after those that do")
    for a in asking:
        a.join(PATIENCE)
        demand(not a.is_alive(), "a call waits forever")
    there = [i for i in answers if not isinstance(answers[i][0], str)]
    gone = [i for i in answers if i not in there]
    demand(there and gone, f"objects of three nodes: {answers}")
    for i in gone:
        text, took = answers[i]
        demand(text.startswith("UNREACHABLE balance: ") and "node 2" in text, f"not clear: {text}")
        demand(took < 4 * FAILURE_TIMEOUT_MS / 1000, f"it took {took} s")
    until("the loss is logged", lambda: "node 2 (" in one.said() and "is lost" in one.said())
    demand(one.client().info()["cluster_nodes_lost"] == 1, "INFO does not count it")

    # A lost node stays lost. The objects of the two others remain in use.
    three.end(signal.SIGKILL)
    held = {i: int(one.call("balance", i)) for i in there}
    movers = run_movers([one, two], 1.0, lambda: None)
    codes = {c for m in movers for c in m.errors}
    demand(codes <= {"CANCELLED", "UNREACHABLE"} and any("UNREACHABLE" in m.errors for m in movers), f"errors: {codes}")
    demand(all(m.done > 0 for m in movers), "calls that need no lost node do not run")
    demand(all(m.slowest < 4 * FAILURE_TIMEOUT_MS / 1000 for m in movers), "a call took longer than a node may")
    now = {i: int(two.call("balance", i)) for i in there}
    demand(sum(now.values()) == sum(held.values()), f"money of the survivors: {held}, {now}")
    text = refused(lambda: two.call("transfer", there[0], gone[0], 1))
    demand(text.startswith("UNREACHABLE transfer: ") and "The block had no effect" in text, f"not clear: {text}")
    demand(int(two.call("balance", there[0])) == now[there[0]], "a refused transfer has taken its money")
    for s in (one, two):
        status = s.end(signal.SIGTERM)
        demand(status == 0, f"server {s.number} ended with {status}: {s.said()[-600:]}")


if __name__ == "__main__":
    try:
        main()
    except Violated as e:
        sys.exit(f"three_servers.py: {e}")
