#!/usr/bin/env bash
# namespaces.sh <tutti-cluster> <certificates.sh> <folder>: nodes in network namespaces, whose cables are unplugged.
set -euo pipefail
program=$1 folder=$3
"$2" "$folder" 2 tutti-cluster
few=(--objects 60 --threads 2 --tls "$folder")

fail() {
    printf 'namespaces: %s\n' "$1" >&2
    exit 1
}
# says <what> <status> <command>...
says() {
    local what=$1 status=$2 ended=0
    shift 2
    "$@" >"$folder/said" 2>&1 || ended=$?
    cat "$folder/said"
    [[ $ended == "$status" ]] || fail "it ended with $ended, not $status: $*"
    tr '\n' ' ' <"$folder/said" | grep -Eq "$what" || fail "it did not say '$what': $*"
}

if ! unshare -n true && ! unshare -Urn true; then
    says 'this system permits no network namespaces \(unshare.*\): be root, or let users' 1 \
        "$program" "${few[@]}" --namespaces
    exit
fi
# Without bridges in the kernel, the command reports the error, and the program names the command that failed.
if ! unshare -n ip link add hub type bridge && ! unshare -Urn ip link add hub type bridge; then
    says "'ip link add hub type bridge' failed" 1 "$program" "${few[@]}" --namespaces
    exit
fi
# A short network cut only delays the nodes: the money is all there.
says 'each node in a network namespace of its own.*the invariant holds' 0 \
    "$program" "${few[@]}" --seconds 1.2 --namespaces --cut 1 --cut-for 0.2
# Each side names the node that it has lost.
lost='\(10\.83\.0\.[12]:7001\) (is lost, or has not answered within 1000 ms|was lost after it was asked to commit)'
says "node [01]: .*$lost.*node [01]: .*$lost.*node 0 ended .* cut off, with status 1 node 1 ended .* cut off, with status 1" 0 \
    "$program" "${few[@]}" --seconds 1 --failure-timeout 1 --namespaces --cut 1
# Unprivileged runs: in a user namespace, and where network namespaces are forbidden.
if unshare -Urn true; then
    unprivileged=()
    [[ $(id -u) != 0 ]] || unprivileged=(setpriv --bounding-set -sys_admin --inh-caps -sys_admin)
    says 'the invariant holds' 0 "${unprivileged[@]}" "$program" "${few[@]}" --seconds 0.1 --namespaces
    # shellcheck disable=SC2016  # expanded there
    says 'permits no network namespaces \(unshare: No space left on device\)' 1 \
        unshare -Ur bash -c 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' - "$program" "${few[@]}" --namespaces
fi
