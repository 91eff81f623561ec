#!/usr/bin/env bash
# What users do with `tutti serve`, by the clients of Redis: serve.sh <case> <tutti> <shared object> [another program]
set -euo pipefail

case=$1 tutti=$2 object=$3
folder=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT

fail() {
    printf 'serve.sh: %s\n' "$*" >&2
    cat "$folder/log" >&2
    exit 1
}

# start <option>...: leaves the port in $port.
start() {
    (
        ulimit -n "${descriptors:-$(ulimit -n)}"
        exec "$tutti" serve "$object" --port 0 --port-file "$folder/port" "$@" >"$folder/log" 2>&1
    ) &
    server=$!
    until [[ -e $folder/port ]]; do
        kill -0 "$server" 2>/dev/null || fail "the server did not start"
        sleep 0.02
    done
    port=$(<"$folder/port")
}

# stop: ends the server in good order, and fails if it says otherwise.
stop() {
    kill -TERM "$server"
    wait "$server" || fail "the server ended with status $?"
    server=
}

# expect <answer> <word>...
expect() {
    local expected=$1 answer
    shift
    answer=$(redis-cli -p "$port" "$@")
    [[ $answer == "$expected"* ]] || fail "$* was answered by '$answer' and not by '$expected'"
}

case $case in
    cli)
        start
        expect PONG PING
        expect hello ECHO hello
        expect OK CALL transfer 1 2 30
        expect 1030 CALL balance 2 PRIORITY 7 DEADLINE 1000000
        expect "NOPROC" CALL nothing
        expect "$(printf '7\n1')" CALL how PRIORITY 7 DEADLINE 5000
        [[ $(redis-cli -3 -p "$port" CALL maybe 0.5) == "(double) 0.5" || $(redis-cli -3 -p "$port" CALL maybe 0.5) == 0.5 ]] || fail "no RESP3"
        printf 'CALL count\nCALL count\nCALL count\n' | redis-cli -p "$port" >"$folder/answers"
        [[ $(<"$folder/answers") == "$(printf '1\n2\n3')" ]] || fail "$(<"$folder/answers")"
        stop
        grep -q '^ended$' "$folder/log" || fail "no word of its end"
        ;;
    benchmark)
        start
        redis-benchmark -p "$port" -n 20000 -P 16 -c 20 -q CALL count >"$folder/benchmark"
        redis-benchmark -p "$port" -n 2000 -c 20 -q CALL transfer 1 2 0 >>"$folder/benchmark"
        expect 20001 CALL count
        redis-cli -p "$port" INFO | grep -q '^procedure_transfer:OK=2000,' || fail "calls were lost"
        stop
        ;;
    unix)
        "$tutti" serve "$object" --no-tcp --unix "$folder/socket" --port-file "$folder/port" >"$folder/log" 2>&1 &
        server=$!
        until [[ -e $folder/port ]]; do sleep 0.02; done
        [[ $(redis-cli -s "$folder/socket" CALL balance 1) == 1000 ]] || fail "no answer"
        stop
        ;;
    password)
        printf 'open sesame\n' >"$folder/password"
        start --password-file "$folder/password"
        expect NOAUTH CALL noop
        [[ $(REDISCLI_AUTH='open sesame' redis-cli -p "$port" CALL noop) == OK ]] || fail "the password does not open"
        stop
        ;;
    tls)
        for name in server client; do
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=localhost" \
                -addext "subjectAltName=IP:127.0.0.1" -keyout "$folder/$name.key" -out "$folder/$name.pem" 2>"$folder/openssl"
        done
        start --tls-certificate "$folder/server.pem" --tls-key "$folder/server.key" --tls-client-authority "$folder/client.pem"
        secure=(--tls --cacert "$folder/server.pem" -h 127.0.0.1 -p "$port")
        mine=(--cert "$folder/client.pem" --key "$folder/client.key")
        [[ $(redis-cli "${secure[@]}" "${mine[@]}" CALL balance 1) == 1000 ]] || fail "no answer under TLS"
        [[ $(redis-cli "${secure[@]}" "${mine[@]}" CALL large 300000 | wc -c) == 300001 ]] || fail "a long answer was cut"
        ! redis-cli "${secure[@]}" PING >"$folder/stranger" 2>&1 || ! grep -q PONG "$folder/stranger" || fail "a stranger came in"
        ! redis-cli -p "$port" PING >"$folder/clear" 2>&1 || ! grep -q PONG "$folder/clear" || fail "it answers in the clear"
        redis-benchmark "${secure[@]}" "${mine[@]}" -n 5000 -P 8 -c 5 -q CALL count >"$folder/benchmark"
        [[ $(redis-cli "${secure[@]}" "${mine[@]}" CALL count) == 5001 ]] || fail "calls were lost under TLS"
        stop
        # Who never ends its handshake is a stranger, although there is no password.
        rm "$folder/port"
        start --tls-certificate "$folder/server.pem" --tls-key "$folder/server.key" --login-timeout 100
        exec {silent}<>"/dev/tcp/127.0.0.1/$port"
        cat <&"$silent" >"$folder/silence" || fail "it was not just closed"
        stop
        ;;
    top)
        start
        redis-benchmark -p "$port" -n 2000 -P 8 -c 5 -q CALL transfer 1 2 0 >"$folder/benchmark"
        "$tutti" top --port "$port" --seconds 0.1 --looks 2 >"$folder/top"
        grep -qE '^transfer +5 ' "$folder/top" || fail "$(<"$folder/top")"
        stop
        ! "$tutti" top --port "$port" --looks 1 2>"$folder/top" || fail "there is nobody to look at"
        grep -q 'cannot be reached' "$folder/top" || fail "$(<"$folder/top")"
        ;;
    metrics)
        start --metrics-port 0
        expect OK CALL transfer 1 2 3
        metrics=$(sed -n 's|^metrics on http://127.0.0.1:\([0-9]*\)/metrics$|\1|p' "$folder/log")
        exec 3<>"/dev/tcp/127.0.0.1/$metrics"
        printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
        cat <&3 >"$folder/metrics"
        grep -q '^tutti_turnaround_seconds_count{procedure="transfer",priority="5"} 1' "$folder/metrics" || fail "no histogram"
        grep -q '^tutti_commits_total{block="transfer"} 1' "$folder/metrics" || fail "no commits"
        grep -q '^tutti_clients ' "$folder/metrics" || fail "no clients"
        stop
        ;;
    descriptors)
        # More clients than descriptors: those who are in are served, the others when somebody leaves.
        descriptors=24
        start --workers 1
        (
            exec {first}<>"/dev/tcp/127.0.0.1/$port"
            # shellcheck disable=SC2034  # they stay open
            for _ in {1..20}; do exec {others}<>"/dev/tcp/127.0.0.1/$port"; done
            printf 'PING\r\n' >&"$first"
            read -r answer <&"$first"
            [[ $answer == +PONG* ]] && sleep 0.3
        ) || fail "those who are in are not served"
        expect PONG PING
        expect 1 CALL count
        stop
        ;;
    drain)
        start --workers 1
        redis-cli -p "$port" CALL busy 300000 >"$folder/answer" &
        client=$!
        until redis-cli -p "$port" INFO | grep -q '^running:1'; do sleep 0.01; done
        stop
        wait "$client"
        [[ $(<"$folder/answer") == OK ]] || fail "what was accepted was answered by '$(<"$folder/answer")'"
        ;;
    timeline)
        start --workers 1
        "$tutti" timeline --port "$port" --seconds 1 --output "$folder/trace" >"$folder/said" &
        recorder=$!
        while kill -0 "$recorder" 2>/dev/null; do
            redis-cli -p "$port" CALL count >/dev/null
        done
        wait "$recorder" || fail "tutti timeline failed: $(<"$folder/said")"
        python3 - "$folder/trace" <<'PYTHON' || fail "the trace is wrong"
import json, sys
events = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
assert slices and all(e["name"] == "count" and e["args"]["then"] == "finished" and e["dur"] >= 0 for e in slices)
assert len({e["args"]["call"] for e in slices}) == len(slices)
PYTHON
        redis-cli -p "$port" TIMELINE SOON | grep -q START || fail "nonsense was taken"
        stop
        ;;
    tpcc_load)
        load=$4
        start --set shrink=100 --set demand=1
        for how in "--rate 500" "--closed 8 --districts 1"; do
            # shellcheck disable=SC2086  # a list of words
            "$load" --port "$port" $how --seconds 0.5 --warm-up 0 --json >"$folder/figures" || fail "the generator failed"
            python3 - "$folder/figures" <<'PYTHON' || fail "its figures are wrong: $(<"$folder/figures")"
import json, sys
profiles = json.load(open(sys.argv[1], encoding="utf-8"))["profiles"]
assert sorted(p["priority"] for p in profiles) == [1, 2, 3, 4, 5]
assert sum(p["sent"] for p in profiles) > 0
for p in profiles:
    assert p["answered"] == p["sent"] and p["refused"] == p["failed"] == 0
    assert sum(count for _, count in p["turnarounds"]) == p["answered"] <= p["executions"]
    lengths = [length for length, _ in p["turnarounds"]]
    assert lengths == sorted(set(lengths)) and (not lengths or lengths[0] > 0)
PYTHON
        done
        if "$load" --port 1 2>/dev/null; then fail "there is no server"; fi
        stop
        grep -q 'consistency after the run' "$folder/log" || fail "consistency was not checked"
        ;;
    tpcc)
        start --set shrink=100 --set warehouses=2
        expect 31 CALL new_order 1 1 1 1 1 5 2 1 5 3 2 5 4 1 5 5 1 5
        expect "" CALL new_order 1 1 1 1 1 5 2 1 5 3 2 5 4 1 5 100000 1 5
        expect "ARGUMENT new_order: a warehouse is from 1 to 2" CALL new_order 3 1 1 1 1 5 2 1 5 3 2 5 4 1 5 5 1 5
        expect "ARGUMENT new_order: the number of lines" CALL new_order 1 1 1
        expect 7 CALL payment 1 1 2 3 7 100
        expect "ARGUMENT payment: no customer" CALL payment 1 1 2 3 NOBODY 100
        expect 1 CALL order_status 1 1 1
        expect 22 CALL delivery 1 5
        redis-cli -p "$port" CALL stock_level 1 1 20 >"$folder/low"
        grep -qE '^[0-9]+$' "$folder/low" || fail "stock_level: $(<"$folder/low")"
        redis-benchmark -p "$port" -n 2000 -P 8 -c 10 -q CALL payment 1 1 2 3 7 100 >"$folder/benchmark"
        redis-benchmark -p "$port" -n 1000 -P 8 -c 10 -q CALL new_order 1 1 1 1 1 5 2 1 5 3 2 5 4 1 5 5 1 5 >>"$folder/benchmark"
        redis-benchmark -p "$port" -n 200 -c 10 -q CALL delivery 1 5 >>"$folder/benchmark"
        stop
        grep -q 'consistency after the run' "$folder/log" || fail "consistency was not checked"
        ;;
    *) fail "no case $case" ;;
esac
