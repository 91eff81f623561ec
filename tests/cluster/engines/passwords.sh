#!/bin/bash
# An engine that requires a password reports this to a program that has none.
#
#   passwords.sh <redis|etcd> <tutti-cluster>
set -euo pipefail
engine=$1 program=$2
folder=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill -9 "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT

fail() {
    printf 'passwords: %s\n' "$*" >&2
    tail -n 5 "$folder/log" >&2 || true
    exit 1
}
# A loopback address that no other process uses, because it contains this process's id.
home=127.$((1 + ($$ >> 16))).$(($$ >> 8 & 255)).$(($$ & 255))
until_well() {
    for ((i = 0; i < 400; ++i)); do
        "$@" >"$folder/out" 2>&1 && return
        sleep 0.05
    done
    fail "never: $* $(cat "$folder/out")"
}
bank() { "$program" --engine "$1" --workload bank --objects 2 --nodes 1 --seconds 0.05; }
# of_etcd <what> <JSON>: calls etcd through its JSON gateway.
of_etcd() {
    local line
    exec 3<>"/dev/tcp/$home/7001"
    printf 'POST /v3/auth/%s HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' "$1" "${#2}" "$2" >&3
    read -r line <&3
    exec 3>&-
    [[ $line == *" 200 "* ]] || fail "$1: $line"
}

case $engine in
redis)
    address=redis:$folder/socket
    redis-server --port 0 --unixsocket "$folder/socket" --dir "$folder" --save '' >"$folder/log" 2>&1 &
    server=$!
    until_well bank "$address"
    [[ $(redis-cli -s "$folder/socket" config set requirepass secret) == OK ]]
    says='asks for a password, which Tutti cannot send'
    ;;
etcd)
    address=etcd://$home:7001
    etcd --data-dir "$folder/data" --listen-client-urls "http://$home:7001" --advertise-client-urls "http://$home:7001" \
        --listen-peer-urls "http://$home:7002" --initial-advertise-peer-urls "http://$home:7002" \
        --initial-cluster "default=http://$home:7002" >"$folder/log" 2>&1 &
    server=$!
    until_well bank "$address"
    of_etcd user/add '{"name": "root", "password": "secret"}'
    of_etcd role/add '{"name": "root"}'
    of_etcd user/grant '{"user": "root", "role": "root"}'
    of_etcd enable '{}'
    says='refuses this program (etcdserver: user name is empty), and Tutti cannot send a password'
    ;;
esac
status=0
text=$(bank "$address" 2>&1) || status=$?
((status == 1)) || fail "status $status: $text"
[[ $text == *"$says"* ]] || fail "'$says' is missing: $text"
