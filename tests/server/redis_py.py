"""What redis-py asks of a server, and how it reads the answers: redis_py.py PORT"""

import sys

import redis


def main():
    port = int(sys.argv[1])
    client = redis.Redis(port=port, decode_responses=True, client_name="mine")
    assert client.ping()
    assert client.client_getname() == "mine"
    assert client.client_info()["id"] == client.client_id()
    other = redis.Redis(port=port, decode_responses=True)
    assert other.ping()
    assert {c["name"] for c in client.client_list()} == {"mine", ""}
    assert client.client_kill_filter(_id=other.client_id()) == 1
    assert client.command()["call"]["arity"] == -2
    assert client.command_count() == len(client.command())
    assert client.info()["server"] == "tutti"
    for unknown in (lambda: client.client_no_evict("ON"), lambda: client.client_pause(1)):
        try:
            unknown()
        except redis.ResponseError:
            continue
        raise AssertionError("what it does not do was answered OK")
    client.execute_command("CALL", "balance", 1)
    assert client.slowlog_len() == 1
    slow = client.slowlog_get()[0]
    assert slow["command"] == b"CALL balance 1" and slow["duration"] >= 0 and slow["id"] == 0, slow
    assert client.slowlog_reset()
    with client.pipeline() as calls:
        calls.execute_command("CALL", "balance", 1)
        calls.execute_command("CALL", "nothing")
        try:
            calls.execute()
        except redis.ResponseError as refused:
            assert "NOPROC" in str(refused), refused
        else:
            raise AssertionError("a pipeline with an unknown procedure was executed")


if __name__ == "__main__":
    main()
