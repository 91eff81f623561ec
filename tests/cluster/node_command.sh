#!/bin/bash
# Tests `tutti node` as an operator runs it. The command notifies its supervisor once all nodes are connected, and
# reports when another node is lost and returns. SIGHUP changes nothing; SIGTERM ends the command.
#
#   node_command.sh <tutti>
set -euo pipefail
tutti=$1
# shellcheck source=tests/support/processes.sh
source "$(dirname "$0")/../support/processes.sh"

python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    with open(sys.argv[2], "ab", 0) as told: told.write(s.recv(512) + b"\n")' "$folder/notify" "$folder/told" &
pids+=($!)
until [[ -S $folder/notify ]]; do
    kill -0 "${pids[0]}" || fail "nobody listens"
    sleep 0.02
done

export TUTTI_CLUSTER_NODES=unix:$folder/0,unix:$folder/1 TUTTI_CLUSTER_CONNECT_TIMEOUT=60000
TUTTI_CLUSTER_NODE_NUMBER=0 NOTIFY_SOCKET=$folder/notify "$tutti" node >"$folder/said0" 2>&1 &
pids+=($!)
until_in said0 'node 0 of 2 waits for the others'
# Every notification of the command so far comes before this one.
python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"it waits", sys.argv[1])' "$folder/notify"
until_in told 'it waits'
TUTTI_CLUSTER_NODE_NUMBER=1 "$tutti" node --log-json >"$folder/said1" 2>&1 &
pids+=($!)
until_in said0 'node 0 of 2 is connected to all'
until_in said1 '"level":"info","message":"node 1 of 2 is connected to all"'
until_in told 'READY=1'
[[ $(head -n 2 "$folder/told") == "$(printf 'it waits\nREADY=1')" ]] || fail "it told: $(<"$folder/told")"
"$tutti" cluster status >"$folder/status" || fail "$(<"$folder/status")"
"$tutti" cluster doubt list >"$folder/doubts" || fail "$(<"$folder/doubts")"
until_in doubts 'no transaction is in doubt'
status=0
"$tutti" cluster doubt commit 1.0.1 2>"$folder/unknown" || status=$?
((status == 1)) || fail "status $status"
until_in unknown 'no node that answers knows transaction 1.0.1'

kill -HUP "${pids[1]}"
until_in said0 'SIGHUP changes nothing: a node keeps its configuration'
kill -9 "${pids[2]}"
until_in said0 "tutti: node 1 (unix:$folder/1) is lost"
TUTTI_CLUSTER_NODE_NUMBER=1 "$tutti" node >"$folder/said2" 2>&1 &
pids+=($!)
until_in said2 'node 1 of 2 is connected to all'
until_in said0 "node 1 (unix:$folder/1) is back"
kill -TERM "${pids[1]}"
status=0
wait "${pids[1]}" || status=$?
((status == 0)) || fail "status $status"
until_in said0 'ended'
until_in told 'STOPPING=1'
