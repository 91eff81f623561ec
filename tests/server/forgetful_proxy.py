"""Stands between clients and a server, and loses one answer: forgetful_proxy.py SERVER_PORT PORT_FILE.

The first connection that sends a CALL ends after the server has answered it, and the client gets nothing of that: it
cannot know whether its call has run. Who asks again without an ID has it run twice.
"""

import os
import socket
import sys
import threading

has_forgotten = threading.Event()


def carry(source, target, spoil):
    """Until one side ends. `spoil` is given what is carried; True: no further."""
    try:
        while data := source.recv(65536):
            if spoil(data):
                break
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client, port):
    server = socket.create_connection(("127.0.0.1", port))
    asked = threading.Event()

    def note_call(data):
        if b"CALL" in data and not has_forgotten.is_set():
            has_forgotten.set()
            asked.set()
        return False

    threading.Thread(target=carry, args=(server, client, lambda _: asked.is_set()), daemon=True).start()
    carry(client, server, note_call)


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    with open(sys.argv[2] + ".new", "w", encoding="ascii") as out:
        print(listener.getsockname()[1], file=out)
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, int(sys.argv[1])), daemon=True).start()


if __name__ == "__main__":
    main()
