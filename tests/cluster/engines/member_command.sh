#!/bin/bash
# `tutti member`: a group of three by the command alone, its status, a member that goes, and what is refused.
#
#   member_command.sh <tutti> <tutti-cluster>
set -euo pipefail
tutti=$1 program=$2
folder=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT

fail() {
    printf 'member_command: %s\n' "$*" >&2
    tail -n 5 "$folder"/*.log >&2 || true
    exit 1
}
# An address of loopback that no other process uses, since none other has this one's number: the kernel cannot give its
# ports away before a member listens there.
home=127.$((1 + ($$ >> 16))).$(($$ >> 8 & 255)).$(($$ & 255))
# says <status> <text> <command>...
says() {
    local status=0 text
    text=$("${@:3}" 2>&1) || status=$?
    ((status == $1)) || fail "status $status of ${*:3}: $text"
    [[ $text == *"$2"* ]] || fail "'$2' is missing: $text"
}
# until_well <command>...
until_well() {
    for ((i = 0; i < 200; ++i)); do
        "$@" >"$folder/out" 2>&1 && return
        sleep 0.05
    done
    fail "never: $* $(cat "$folder/out")"
}

a=$home:7001 b=$home:7002 c=$home:7003
"$tutti" member run --folder "$folder/a" --listen "$a" --new-group >"$folder/a.log" 2>&1 &
pids+=($!)
until_well "$tutti" member status --group "$a"
"$tutti" member run --folder "$folder/b" --listen "$b" --join "$a" >"$folder/b.log" 2>&1 &
pids+=($!)
"$tutti" member run --folder "$folder/c" --listen "$c" --join "$a,$b" --json >"$folder/c.log" 2>&1 &
pids+=($!)
three() { [[ $("$tutti" member status --group "$b" | grep -c -E 'leader|follower') == 3 ]]; }
until_well three
says 0 "the invariant holds" "$program" --engine "tutti://$a,$b,$c" --workload bank --objects 50 --seconds 0.3

# The first one is killed: another leads, and the status says what is the matter.
kill -9 "${pids[0]}"
led() { [[ $("$tutti" member status --group "$b" || true) == *" leader "* ]]; }
until_well led
says 1 "cannot be reached" "$tutti" member status --group "$b,$c"
says 0 "the invariant holds" "$program" --engine "tutti://$a,$b,$c" --workload bank --objects 50 --seconds 0.3
says 2 "is no member" "$tutti" member remove 127.0.0.1:1 --group "$b"
says 0 "is a member no more" "$tutti" member remove "$a" --group "$b"
says 0 '"leader": "127.' "$tutti" member status --group "$c" --json

# SIGTERM ends a member in good order.
kill -TERM "${pids[2]}"
wait "${pids[2]}" || fail "status $? after SIGTERM"
grep -q '"ended"\|ended' "$folder/c.log" || fail "it does not say that it has ended"
says 1 "which is no majority" "$tutti" member status --group "$b"

# One that nobody can let in ends all the same.
"$tutti" member run --folder "$folder/e" --listen "$home:7004" --join "$b" >"$folder/e.log" 2>&1 &
pids+=($!)
joins() { grep -q "not let in yet" "$folder/e.log"; }
until_well joins
kill -TERM "${pids[-1]}"
timeout 20 tail --pid="${pids[-1]}" -f /dev/null || fail "it does not end while it waits to be let in"

says 1 "say whether" "$tutti" member run --folder "$folder/d" --listen 127.0.0.1:1
says 1 "loopback" "$tutti" member run --folder "$folder/d" --listen 10.0.0.1:7001 --new-group
says 1 "another process" "$tutti" member run --folder "$folder/b"
says 1 "cannot be reached" "$tutti" member status --group 127.0.0.1:1
says 2 "--group" "$tutti" member status
