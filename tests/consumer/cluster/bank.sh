#!/bin/bash
# The bank of docs/cluster.md behaves as the document says, in one process and in three.
#
#   bank.sh <bank>
set -euo pipefail
bank=$1
# shellcheck source=tests/support/processes.sh
source "$(dirname "$0")/../../support/processes.sh"

echo | "$bank" open >"$folder/said"
grep -qx 'alice 200, bob 100' "$folder/said" || fail "one process says something else"

export TUTTI_CLUSTER_NODES=unix:$folder/0,unix:$folder/1,unix:$folder/2
for n in 0 1 2; do
    mkfifo "$folder/to$n"
    open=()
    ((n != 0)) || open=(open)
    TUTTI_CLUSTER_NODE_NUMBER=$n "$bank" "${open[@]}" <"$folder/to$n" >"$folder/said$n" 2>&1 &
    pids+=($!)
done
exec 3>"$folder/to0" 4>"$folder/to1" 5>"$folder/to2"
for n in 0 1 2; do until_in "said$n" '10 transfers made'; done
for n in 0 1 2; do
    echo >&$((n + 3))
    until_in "said$n" 'alice 0, bob 300'
done
# When the node that owns the objects ends, the objects end with it.
exec 3>&- 4>&-
wait "${pids[0]}" "${pids[1]}"
echo >&5
until_in said2 'lost'
