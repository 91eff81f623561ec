#!/usr/bin/env bash
# Users' tasks with `tutti serve`: serve.sh <case> <tutti> <shared object> [another program]. The cases are in serve/.
set -euo pipefail

case=$1 tutti=$2 object=$3
folder=$(mktemp -d)
server=''
listener=''
clean_up() {
    for left in $server $listener; do kill -KILL "$left" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap clean_up EXIT

fail() {
    printf 'serve.sh: %s\n' "$*" >&2
    cat "$folder/log" >&2
    exit 1
}

# start <option>...: starts the server and stores its port in $port.
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

# stop: ends the server cleanly, and fails if it reports an error.
stop() {
    kill -TERM "$server"
    wait "$server" || fail "the server ended with status $?"
    server=
}

# info_has <extended regular expression>: uses a file, because redis-cli dies of SIGPIPE when grep stops reading.
info_has() {
    redis-cli -p "$port" INFO >"$folder/info"
    grep -Eq "$1" "$folder/info"
}

# ask <descriptor> <command>: stores the first line of the answer in $answer.
ask() {
    printf '%s\r\n' "$2" >&"$1"
    read -r answer <&"$1"
}

# stop_during_a_call: checks that an accepted call is answered, and that the server ends cleanly.
stop_during_a_call() {
    mkfifo "$folder/held"
    redis-cli -p "$port" CALL hold_open "$folder/held" >"$folder/answer" &
    client=$!
    exec {idle}<>"/dev/tcp/127.0.0.1/$port"
    ask "$idle" PING
    exec {held}>"$folder/held" # opens when the procedure has opened it
    kill -TERM "$server"
    cat <&"$idle" >"$folder/rest" # the server disconnects idle clients as soon as its end begins
    exec {idle}>&- {held}>&-      # the call ends
    wait "$server" || fail "the server ended with status $?"
    server=
    wait "$client"
    [[ $(<"$folder/answer") == OK ]] || fail "what was accepted was answered by '$(<"$folder/answer")'"
}

# expect <answer> <word>...
expect() {
    local expected=$1 answer
    shift
    answer=$(redis-cli -p "$port" "$@")
    [[ $answer == "$expected"* ]] || fail "$* was answered by '$answer' and not by '$expected'"
}

for part in "$(dirname "${BASH_SOURCE[0]}")"/serve/*.sh; do
    # shellcheck source=/dev/null
    source "$part"
done
declare -F "case_$case" >/dev/null || fail "no case $case"
"case_$case" "$@"
