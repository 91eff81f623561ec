"""One version of an object after another behind one listening socket: upgrade.py TUTTI FOLDER VERSION_1 VERSION_2 VERSION_3.

As docs/server-operation.md has it under "New procedures". Catches a server that takes clients away from the next one, a
version that runs on the data of another without being asked, and a failed start that harms the log.
"""

import os
import signal
import socket
import sys

TUTTI, FOLDER, ONE, TWO, THREE = sys.argv[1:]
LISTENER = socket.create_server(("127.0.0.1", 0))


class Server:
    """A process that has been handed the listening socket, as systemd does it."""

    def __init__(self, procedures):
        self.process = os.fork()
        if self.process == 0:
            said = os.open(FOLDER + "/log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(said, 1)
            os.dup2(said, 2)
            os.dup2(LISTENER.fileno(), 3)
            os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
            os.execv(TUTTI, [TUTTI, "serve", procedures, "--workers", "1", "--log", FOLDER + "/calls", "--fsync", "always"])

    def end(self, by=None):
        """Returns its status, or minus the signal, and what it has said."""
        if by is not None:
            os.kill(self.process, by)
        status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        with open(FOLDER + "/log", encoding="utf-8") as said:
            return status, said.read()


class Client:
    def __init__(self):
        self.socket = socket.create_connection(LISTENER.getsockname())
        self.lines = self.socket.makefile("r", newline="\r\n")

    def send(self, line):
        self.socket.sendall(line.encode() + b"\r\n")

    def ask(self, line):
        self.send(line)
        return self.lines.readline().rstrip()


def expect(got, wanted):
    if got != wanted:
        raise AssertionError(f"{got!r} and not {wanted!r}")


def main():
    first = Server(ONE)
    client = Client()
    expect(client.ask("CALL pay 7"), "+OK")
    os.kill(first.process, signal.SIGHUP)
    while "SIGHUP changes nothing" not in open(FOLDER + "/log", encoding="utf-8").read():
        pass
    expect(client.ask("CALL paid"), ":7")
    status, said = first.end(signal.SIGTERM)
    expect(status, 0)
    waits = Client()
    waits.send("CALL paid")
    # A server that cannot load the snapshot reports that, and the data stays.
    status, said = Server(THREE).end()
    expect((status, "version 3 loads nothing of version 1" in said), (1, True))
    second = Server(TWO)
    expect(waits.lines.readline().rstrip(), ":700")
    expect(waits.ask("CALL pay 1"), "+OK")
    second.end(signal.SIGKILL)
    # The version that took the snapshot replays the call behind it.
    third = Server(TWO)
    expect(Client().ask("CALL paid"), ":800")
    expect(third.end(signal.SIGTERM)[0], 0)
    status, said = Server(ONE).end()
    expect((status, "version 1 loads nothing of version 2" in said), (1, True))


if __name__ == "__main__":
    main()
