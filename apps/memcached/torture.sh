#!/usr/bin/env bash
# torture.sh <folder> <programs' folder> <seconds> <build>...: each build, with assertions, for that long, under what can
# go wrong at once: too little memory, so that values are evicted and slab pages move; a hash table that grows; clients
# that hang up in the middle of commands and of answers, or are killed. Meanwhile histories are checked
# (linear.hpp), and the server has to end in good order. There is no flush_all, which would leave no pressure.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(cd "$1" && pwd)
programs=$(cd "$2" && pwd)
seconds=$3
shift 3
# shellcheck source=apps/memcached/server.sh
source "$here/server.sh"

# Beside the checker, clients that are killed in the middle of their batches until it ends.
# shellcheck disable=SC2317 # with_server calls it
check_while_killing() {
    local checker status=0
    timeout "$((seconds + 120))" "$programs/tutti-mc-linear" --seconds "$seconds" --evictions --pressure 2 --rude 1 --no-flushes "$@" &
    checker=$!
    while kill -0 "$checker" 2>/dev/null; do
        timeout --foreground -s KILL "0.$((RANDOM % 9 + 1))" "$programs/tutti-mc-load" "$@" --server $$ --keys 5000 \
            --connections 20 2>/dev/null || true
    done >/dev/null
    wait "$checker" || status=$?
    return "$status"
}

failures=0
for build in "$@"; do
    echo "torture of $build for $seconds s"
    with_server "$folder/$build/memcached-debug" -t 4 -m 24 -c 4096 -o slab_reassign,slab_automove=1,hashpower=13 -- \
        check_while_killing || failures=1
done
((failures == 0)) && echo "all is well"
exit "$failures"
