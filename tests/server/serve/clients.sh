# shellcheck shell=bash disable=SC2154,SC2034  # serve.sh has the variables and the steps
# Redis clients, and Tutti's own client programs. Each function is a case, and gets the arguments of serve.sh.

case_cli() {
    start
    expect PONG PING
    expect hello ECHO hello
    expect OK CALL transfer 1 2 30
    expect 1030 CALL balance 2 PRIORITY 7 DEADLINE 1000000
    expect "NOPROC" CALL nothing
    "$tutti" serve "$object" --check --port "$port" >"$folder/checked" || fail "beside a server there is no check"
    expect "$(printf '7\n1')" CALL PRIORITY 7 DEADLINE 5000 how
    answer=$(redis-cli -3 -p "$port" CALL maybe 0.5)
    [[ $answer == "(double) 0.5" || $answer == 0.5 ]] || fail "no RESP3"
    printf 'CALL count\nCALL count\nCALL count\n' | redis-cli -p "$port" >"$folder/answers"
    [[ $(<"$folder/answers") == "$(printf '1\n2\n3')" ]] || fail "$(<"$folder/answers")"
    stop
    grep -q '^ended$' "$folder/log" || fail "no word of its end"
}

case_benchmark() {
    start
    redis-benchmark -p "$port" -n 20000 -P 16 -c 20 -q CALL count >"$folder/benchmark"
    redis-benchmark -p "$port" -n 2000 -c 20 -q CALL transfer 1 2 0 >>"$folder/benchmark"
    expect 20001 CALL count
    info_has '^procedure_transfer:OK=2000,' || fail "calls were lost"
    stop
}

case_unix() {
    "$tutti" serve "$object" --no-tcp --unix "$folder/socket" --port-file "$folder/port" >"$folder/log" 2>&1 &
    server=$!
    until [[ -e $folder/port ]]; do sleep 0.02; done
    [[ $(redis-cli -s "$folder/socket" CALL balance 1) == 1000 ]] || fail "no answer"
    stop
}

case_python() {
    printf 'slow-log-slower-than = 0\nslow-log-max-len = 5\n' >"$folder/slow.toml"
    start --config "$folder/slow.toml"
    "$4" "$(dirname "$0")/redis_py.py" "$port" >"$folder/python" 2>&1 || fail "$(<"$folder/python")"
    "$4" "$5" "$port" >"$folder/python" 2>&1 || fail "$(<"$folder/python")"
    expected=$(printf "moved: OK\nleft: 970\nboth: ['OK', 'OK']\nneither: CANCELLED\nleft: 980")
    [[ $(<"$folder/python") == "$expected" ]] || fail "$(<"$folder/python")"
    stop
}

case_hiredis() {
    start
    "$4" "$port" >"$folder/told" 2>&1 || fail "$(<"$folder/told")"
    expected=$(printf "moved: OK\nleft: 970\nboth: OK OK\nneither: CANCELLED\nneither: NOPROC\nleft: 980")
    [[ $(<"$folder/told") == "$expected" ]] || fail "$(<"$folder/told")"
    stop
    "$4" "$port" >"$folder/told" 2>&1 && fail "it was answered without a server: $(<"$folder/told")"
    grep -q "refused" "$folder/told" || fail "no reason: $(<"$folder/told")"
}

case_example() {
    # client <port>: runs an example client by its command line. One run uses a server, and one uses a server whose
    # answer to the first call is lost.
    client() { "${@:2}" "$1" >"$folder/told" 2>&1; }
    proxy=$4
    shift 4
    expected=$(printf "moved: OK\nleft: 970\nboth: OK OK\nneither: CANCELLED\nleft: 980")
    start
    client "$port" "$@" || fail "$(<"$folder/told")"
    [[ $(<"$folder/told") == "$expected" ]] || fail "$(<"$folder/told")"
    stop
    client "$port" "$@" && fail "it was answered without a server: $(<"$folder/told")"
    grep -qi 'refused' "$folder/told" || fail "no reason: $(<"$folder/told")"
    rm "$folder/port"
    start
    python3 "$proxy" "$port" "$folder/proxy" >"$folder/forgets" 2>&1 &
    listener=$!
    until [[ -e $folder/proxy ]]; do
        kill -0 "$listener" 2>/dev/null || fail "no proxy: $(<"$folder/forgets")"
        sleep 0.02
    done
    client "$(<"$folder/proxy")" "$@" || fail "an answer was lost, and the client with it: $(<"$folder/told")"
    [[ $(<"$folder/told") == "$expected" ]] || fail "with an answer lost: $(<"$folder/told")"
    info_has '^procedure_transfer:OK=1,' || fail "a call with an ID was run twice"
    stop
}

case_pipe() {
    # The reader of the server's output may leave; accepted calls are still answered.
    mkfifo "$folder/pipe"
    "$tutti" serve "$object" --port 0 --port-file "$folder/port" --workers 1 >"$folder/pipe" &
    server=$!
    head -n 1 "$folder/pipe" >"$folder/log"
    until [[ -e $folder/port ]]; do sleep 0.02; done
    port=$(<"$folder/port")
    stop_during_a_call
}
