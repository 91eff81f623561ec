"""A client of `tutti serve` in Python, by redis-py: `python3 bank.py PORT`, with the procedures of docs/server.md.

What the settings are for:
  retry       redis-py may send a command again by itself when a connection breaks. Tell it not to, and ask again with
              an ID instead: the call runs once, whatever happens to the connection.
  protocol    nothing to set: answers are the same in both.
"""

import sys
import uuid

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def connect(port):
    """A pool of connections, none of which repeats a command."""
    return redis.Redis(port=port, socket_connect_timeout=5, socket_timeout=30, decode_responses=True, retry_on_timeout=False, retry=Retry(NoBackoff(), 0))


def call_once(bank, name, *arguments, attempts=5):
    """The call runs once, although its answer may get lost."""
    key = str(uuid.uuid4())
    for attempt in range(attempts):
        try:
            return bank.execute_command("CALL", "ID", key, name, *arguments)
        except (redis.ConnectionError, redis.TimeoutError):
            if attempt + 1 == attempts:
                raise
    return None


def main():
    bank = connect(int(sys.argv[1]))
    print("moved:", call_once(bank, "transfer", 1, 2, 30))
    print("left:", bank.execute_command("CALL", "balance", 1))
    # A pipeline in redis-py uses MULTI and EXEC: one transaction.
    with bank.pipeline() as both:
        both.execute_command("CALL", "transfer", 2, 3, 10)
        both.execute_command("CALL", "transfer", 3, 1, 10)
        print("both:", both.execute())
    with bank.pipeline() as neither:
        neither.execute_command("CALL", "transfer", 1, 2, 10)
        neither.execute_command("CALL", "transfer", 2, 1, 1_000_000)
        try:
            neither.execute()
        except redis.ResponseError as refused:
            print("neither:", str(refused).split(" ")[0])
    print("left:", bank.execute_command("CALL", "balance", 1))


if __name__ == "__main__":
    main()
