#!/usr/bin/env bash
# torture.sh <folder> <programs' folder> <seconds> <build>...: runs each build with assertions for this time under all
# difficulties at once. There is too little memory, so values are evicted and slab pages move. The hash table grows.
# Clients disconnect in the middle of commands and replies, or are killed. Meanwhile histories are checked (linear.hpp),
# and the server has to end without errors. There is no flush_all, which would remove the pressure.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(cd "$1" && pwd)
programs=$(cd "$2" && pwd)
seconds=$3
shift 3
# shellcheck source=apps/memcached/server.sh
source "$here/server.sh"

# Beside the checker, runs clients that are killed in the middle of their batches, until the checker ends.
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
