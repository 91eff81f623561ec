#!/usr/bin/env python3
"""Answers TIMELINE as a server does whose clock is so many seconds ahead: clocked_server.py <seconds> <file>.

It prints its port, records one event, at the begin of the recording, and writes when that was, by the true clock, into
the file."""
import json
import socket
import sys
import time

ahead = int(sys.argv[1]) * 10**9
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client = listener.accept()[0].makefile("rwb")
began = 0
while line := client.readline():
    words = []
    for _ in range(int(line[1:])):
        client.readline()
        words.append(client.readline().strip().decode())
    answer = b"+OK\r\n"
    if words[-1] == "START":
        began = time.monotonic_ns()
        with open(sys.argv[2], "w", encoding="ascii") as file:
            file.write(str(began))
        time.sleep(0.3) # the server that is asked next begins later
    elif words[-1] == "NOW":
        text = str(time.monotonic_ns() + ahead).encode()
        answer = b"$%d\r\n%s\r\n" % (len(text), text)
    elif words[-1] == "STOP":
        events = [{"ph": "X", "pid": 1, "tid": 0, "name": "begins", "ts": 0.0, "dur": 1.0, "args": {}},
                  {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "tutti"}}]
        text = json.dumps({"otherData": {"began_ns": began + ahead}, "traceEvents": events}).encode()
        answer = b"$%d\r\n%s\r\n" % (len(text), text)
    client.write(answer)
    client.flush()
