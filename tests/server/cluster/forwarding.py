"""Calls that run where their objects are: three servers, each a node of one cluster, by redis-py and real processes.

forwarding.py TUTTI PROCEDURES EXECUTOR

A call that is about an object runs on the server whose node owns it, whichever server was asked; its block then asks no
other node. A client that goes, or a server that ends, ends a call that sleeps elsewhere. A server that is killed leaves
INDOUBT for what it had been asked to run, and no call has run twice. The same where a server is stopped for longer than
the nodes' failure timeout, whether it was asked or asks, and goes on after that; and where it is started again.
"""

import os
import signal
import socket
import sys
import tempfile
import threading
import time

import redis

from three_servers import ACCOUNTS, PATIENCE, START, Server, Violated, demand, refused, until


class cluster:
    """Three servers, of which nothing is left afterwards. `options`: of each, by its number."""

    def __init__(self, arguments, configuration="", options=((), (), ())):
        self.folder = tempfile.TemporaryDirectory()
        self.servers = [Server(*arguments, self.folder.name, n, configuration, options[n]) for n in range(3)]

    def __enter__(self):
        for s in self.servers:
            s.wait_for_port()
        for i in range(ACCOUNTS):
            self.servers[i % 3].call("open", i, START)
        return self.servers

    def __exit__(self, *unused):
        for s in self.servers:
            if s.process.poll() is None:
                s.process.send_signal(signal.SIGCONT)
                s.process.kill()
                s.process.wait()
        self.folder.cleanup()


def info(server, key):
    return server.client().info()[f"cluster_{key}"]


def in_all(servers, key):
    return sum(info(s, key) for s in servers)


def in_resp3(server, *words):
    """Older redis-py speaks RESP2 alone."""
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as s, s.makefile("rb") as answers:
        s.sendall(b"HELLO 3\r\nPING\r\n")
        while answers.readline() != b"+PONG\r\n":
            pass
        s.sendall(f"CALL {' '.join(map(str, words))}\r\n".encode())
        return answers.readline()


class Asking(threading.Thread):
    """One call, in the background."""

    def __init__(self, server, *words):
        super().__init__()
        self.client, self.words, self.answer = server.client(), words, None
        self.start()

    def run(self):
        try:
            self.answer = self.client.execute_command("CALL", *self.words)
        except redis.RedisError as e:
            self.answer = str(e)

    def end(self):
        self.join(PATIENCE)
        demand(not self.is_alive(), f"{self.words} waits forever")
        return self.answer


def places(servers):
    """Which server runs what is about each account: the same whoever is asked."""
    said = [[int(s.call("where", i)) for i in range(ACCOUNTS)] for s in servers]
    demand(said[0] == said[1] == said[2], f"where a call runs depends on who is asked: {said}")
    demand(set(said[0]) == {0, 1, 2}, f"no spread: {said[0]}")
    return said[0]


def check_placement(arguments):
    with cluster(arguments) as servers:
        there = places(servers)
        one = servers[0]
        far = [i for i in range(ACCOUNTS) if there[i] != 0]

        # No block asks another node, because each block runs at the node of its object.
        before = in_all(servers, "round_trips")
        forwarded, received = info(one, "calls_forwarded"), in_all(servers[1:], "calls_received")
        for i in range(ACCOUNTS):
            demand(int(one.call("put", i, 5)) == START + 5, "another answer than the procedure's")
            one.call("put", i, -5)
        demand(in_all(servers, "round_trips") == before, "a block asked another node for its own object")
        demand(info(one, "calls_forwarded") - forwarded == 2 * len(far), "calls were not forwarded")
        demand(in_all(servers[1:], "calls_received") - received == 2 * len(far), "calls were not received")

        # The call's priority and deadline travel with it, and its outcome comes back.
        target = far[0]
        demand(int(one.call("urgency", target)) == 2, "the procedure's priority got lost")
        priority = one.client().execute_command("CALL", "PRIORITY", 7, "urgency", target)
        demand(int(priority) == 7, f"the call's priority got lost: {priority}")
        late = refused(lambda: one.client().execute_command("CALL", "DEADLINE", 1, "hurry", target))
        demand(late.startswith("DEADLINE hurry: "), f"the deadline got lost: {late}")
        failed = refused(lambda: one.call("fail", target))
        demand(failed == "EXCEPTION fail: as it should", f"the error got lost: {failed}")
        demand(refused(lambda: one.call("put", "x", 1)).startswith("ARGUMENT put: "), "a wrong argument")
        demand(len(one.call("long", target, 3 << 20)) == 3 << 20, "a long answer is another")
        huge = refused(lambda: one.call("long", target, 17 << 20))
        demand(huge.startswith("EXCEPTION ") and "exceeds the maximum size of a message" in huge, f"not clear: {huge}")
        demand(in_resp3(one, "yes", target) == b"#t\r\n", "RESP3 got lost")

        # The first server remembers the result of an ID, wherever the call has run.
        for _ in range(2):
            one.client().execute_command("CALL", "ID", "once", "put", target, 1)
        demand(int(one.call("put", target, 0)) == START + 1, "a call with an ID has run twice")
        one.call("put", target, -1)

        check_money(servers)
        check_waiting(servers, far, there)


def check_money(servers):
    """Clients of all servers pay; money stays, and what committed is what was acknowledged."""
    ends, done, odd = threading.Event(), [0] * 6, []
    moved = sum(int(s.call("moved")) for s in servers)

    def pay(k):
        client = servers[k % 3].client()
        at = k
        try:
            while not ends.is_set():
                at = (at * 1103515245 + 12345) % 2**31
                client.execute_command("CALL", "pay", at % ACCOUNTS, (at // 64) % ACCOUNTS, 1)
                done[k] += 1
        except Exception as e: # reported by the main thread
            odd.append(e)

    payers = [threading.Thread(target=pay, args=(k,)) for k in range(len(done))]
    for p in payers:
        p.start()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        total = int(servers[0].call("total", ACCOUNTS))
        demand(total == ACCOUNTS * START, f"a reader saw {total}")
    ends.set()
    for p in payers:
        p.join(PATIENCE)
        demand(not p.is_alive(), "a client waits forever")
    demand(not odd, f"odd: {odd}")
    now = sum(int(s.call("moved")) for s in servers)
    demand(now - moved == sum(done) > 0, f"{sum(done)} calls were acknowledged, and {now - moved} committed")
    demand(in_all(servers, "calls_awaited") == 0, "a call is awaited that nobody waits for")


def check_waiting(servers, far, there):
    """Calls that sleep on another server: woken, left by their client, stranded by their server, and lost with theirs."""
    one, two, three = servers
    balance = int(one.call("put", far[0], 0))
    sleeper = Asking(one, "await_there", far[0], balance + 1)
    until("a call sleeps elsewhere", lambda: info(one, "calls_awaited") == 1)
    three.call("put", far[0], 1)
    demand(int(sleeper.end()) == balance + 1, f"woken with {sleeper.answer}")

    host = servers[there[far[0]]]
    before = host.client().info()["procedure_await_there"]["CLIENTGONE"]
    with socket.create_connection(("127.0.0.1", one.port), PATIENCE) as leaving:
        leaving.sendall(f"CALL await_there {far[0]} {10**9}\r\n".encode())
        until("a call sleeps elsewhere", lambda: info(one, "calls_awaited") == 1)
    until("its end, because its client has gone", lambda: info(one, "calls_awaited") == 0)
    demand(host.client().info()["procedure_await_there"]["CLIENTGONE"] == before + 1, "it did not end as one whose client has gone")

    # One server is killed during calls. Whether a pending call has run is unknown. Every acknowledged call has run.
    at_three = [i for i in far if there[i] == 2]
    mine = next(i for i in range(ACCOUNTS) if there[i] == 0)
    held = int(one.call("put", mine, 0))
    asleep = Asking(one, "await_there", at_three[0], 10**9)
    until("a call sleeps on the server that will be killed", lambda: info(one, "calls_awaited") == 1)
    sums, codes, ends = [0] * 4, {}, threading.Event()

    def pay(k):
        client = servers[k % 2].client()
        while not ends.is_set():
            try:
                client.execute_command("CALL", "pay", at_three[k % len(at_three)], mine, 1)
                sums[k] += 1
            except redis.ResponseError as e:
                code = str(e).split()[0]
                codes[code] = codes.get(code, 0) + 1 # the threads of one process take turns
                if code == "UNREACHABLE":
                    return

    payers = [threading.Thread(target=pay, args=(k,)) for k in range(len(sums))]
    for p in payers:
        p.start()
    until("money moves", lambda: sum(sums) > 100)
    three.end(signal.SIGKILL)
    for p in payers:
        p.join(PATIENCE)
        demand(not p.is_alive(), "a client waits forever")
    text = asleep.end()
    demand(text.startswith("INDOUBT await_there: the server of node 2 was lost"), f"not clear: {text}")
    demand(set(codes) <= {"UNREACHABLE", "INDOUBT"}, f"errors: {codes}")
    try:
        got = int(one.call("put", mine, 0)) - held
    except redis.ResponseError as e: # the killed server had to decide its last commit
        demand(str(e).startswith("UNREACHABLE put: "), f"odd: {e}")
    else:
        most = sum(sums) + codes.get("INDOUBT", 0)
        demand(sum(sums) <= got <= most, f"{sum(sums)} acknowledged, {codes}, and {got} arrived")
    demand(info(one, "calls_unknown") > 0 and info(one, "calls_awaited") == 0, "INFO does not count it")
    demand(refused(lambda: one.call("put", at_three[0], 1)).startswith("UNREACHABLE put: "), "a lost object")

    # A server that ends does not wait for calls that sleep on other servers.
    at_two = next(i for i in far if there[i] == 1)
    sleeper = Asking(one, "await_there", at_two, 10**9)
    until("a call sleeps elsewhere", lambda: info(one, "calls_awaited") == 1)
    status = one.end(signal.SIGTERM)
    demand(status == 0, f"it ended with {status}: {one.said()[-600:]}")
    demand(sleeper.end().startswith("STRANDED await_there: "), f"the last answer: {sleeper.answer}")
    demand(two.end(signal.SIGTERM) == 0, f"it ended badly: {two.said()[-600:]}")


def check_owner_stopped(arguments):
    """Its calls end with INDOUBT; when it goes on, each runs there once or never, and nobody hangs."""
    with cluster(arguments) as servers:
        there = places(servers)
        one, two, three = servers
        at_three = next(i for i in range(ACCOUNTS) if there[i] == 2)
        asleep = Asking(one, "await_there", at_three, 10**9)
        until("a call sleeps elsewhere", lambda: info(one, "calls_awaited") == 1)
        three.stop()
        asked = [Asking(s, "put", at_three, 1) for s in (one, two) for _ in range(4)]
        for a in [asleep, *asked]:
            text = str(a.end())
            demand(text.startswith("INDOUBT ") and "node 2 was lost" in text, f"not clear: {text}")
        demand(in_all((one, two), "calls_awaited") == 0, "a call is awaited that nobody waits for")

        three.process.send_signal(signal.SIGCONT)
        # The server works again for its own clients, but not yet for the other servers.
        found = int(three.call("put", at_three, 0)) - START
        demand(0 <= found <= len(asked), f"{len(asked)} calls have added {found}")
        far = there.index(0)
        until("it finds itself alone", lambda: refused(lambda: three.call("put", far, 1)).startswith("UNREACHABLE "))
        for s in (one, two):
            demand(refused(lambda: s.call("put", at_three, 1)).startswith("UNREACHABLE put: "), "a lost object")
            for home in (0, 1):
                demand(int(s.call("where", there.index(home))) == home, "the others do not serve each other any more")
        # Calls sent before may run late, but each runs at most once.
        last = int(three.call("put", at_three, 0)) - START
        demand(found <= last <= len(asked), f"{len(asked)} calls have added {last}")


def check_caller_stopped(arguments):
    """What it waited for ends elsewhere, and its clients hear that when it goes on."""
    with cluster(arguments) as servers:
        there = places(servers)
        one, two, three = servers
        at_two = [i for i in range(ACCOUNTS) if there[i] == 1]
        asleep = Asking(one, "await_there", at_two[0], 10**9)
        until("a call sleeps elsewhere", lambda: info(one, "calls_awaited") == 1)
        before = two.client().info()["procedure_await_there"]["CLIENTGONE"]
        one.stop()
        asked = [Asking(one, "put", at_two[1], 1) for _ in range(4)]
        until("its call ends there", lambda: two.client().info()["procedure_await_there"]["CLIENTGONE"] == before + 1)
        demand(int(three.call("where", at_two[0])) == 1, "the others do not serve each other any more")
        before = int(two.call("put", at_two[1], 0))
        demand(before == START, f"a stopped server has called: {before}")

        one.process.send_signal(signal.SIGCONT)
        demand(str(asleep.end()).startswith("INDOUBT await_there: the server of node 1 was lost"), f"not clear: {asleep.answer}")
        done = 0
        for a in asked:
            text = str(a.end())
            demand(text.startswith(("INDOUBT ", "UNREACHABLE ")), f"not clear: {text}")
            done += text.startswith("INDOUBT ")
        found = int(two.call("put", at_two[1], 0)) - START
        demand(0 <= found <= done, f"{done} calls that may have run have added {found}")
        demand(info(one, "calls_awaited") == 0, "a call is awaited that nobody waits for")
        demand(refused(lambda: one.call("put", at_two[1], 1)).startswith("UNREACHABLE put: "), "a lost object")
        mine = there.index(0)
        demand(int(one.call("put", mine, 1)) == START + 1, "it does not serve its own objects any more")


def check_moving(arguments):
    """Objects move to who writes them, and calls follow them."""
    with cluster(arguments, "placement = 'writer'") as servers:
        for i in range(ACCOUNTS):
            servers[i % 3].call("transfer", i, i, 0)
        for asked in servers:
            for i in range(ACCOUNTS):
                found = int(asked.call("where", i))
                demand(found == i % 3, f"account {i} was written on server {i % 3}, and its call ran on {found}")


def check_return(arguments):
    """A server that is killed and started again is sent calls again, about objects that begin anew."""
    with cluster(arguments) as servers:
        there = places(servers)
        its = there.index(2)
        servers[2].end(signal.SIGKILL)
        until("its loss is noticed", lambda: refused(lambda: servers[0].call("put", its, 1)).startswith("UNREACHABLE "))
        os.remove(servers[2].path("port"))
        servers[2] = Server(*servers[2].arguments)
        servers[2].wait_for_port()
        said = refused(lambda: servers[0].call("put", its, 1))
        demand("there is no object" in said, f"its objects have not ended with it: {said}")
        received = info(servers[2], "calls_received")
        servers[0].call("open", its, START)
        demand([int(s.call("put", its, 1)) for s in servers] == [START + 1, START + 2, START + 3], "puts got lost")
        demand(info(servers[2], "calls_received") == received + 2, "calls about its objects run elsewhere")


def check_refusals(arguments):
    """A server that does not take part runs its own calls, and declines others', which then run where they were asked."""
    with cluster(arguments, options=((), (), ("--no-forward",))) as servers:
        one, two, three = servers
        demand({int(three.call("where", i)) for i in range(ACCOUNTS)} == {2}, "--no-forward forwards")
        said = {int(one.call("where", i)) for i in range(ACCOUNTS)}
        demand(said == {0, 1}, f"calls ran on {said}")
        demand(info(one, "calls_declined") > 0, "nothing was declined")
        for s in (one, two):
            for i in range(ACCOUNTS):
                s.call("put", i, 1)
        total = sum(int(one.call("put", i, 0)) for i in range(ACCOUNTS))
        demand(total == ACCOUNTS * (START + 2), f"calls have run twice, or not at all: {total}")
        demand("cluster_calls_forwarded" not in three.client().info(), "what does not take part is counted")


if __name__ == "__main__":
    try:
        check_placement(sys.argv[1:4])
        check_owner_stopped(sys.argv[1:4])
        check_caller_stopped(sys.argv[1:4])
        check_moving(sys.argv[1:4])
        check_refusals(sys.argv[1:4])
        check_return(sys.argv[1:4])
    except Violated as e:
        sys.exit(f"forwarding.py: {e}")
