#!/usr/bin/env bash
# test.sh <folder> <tutti-mc-check> <build>...: memcached's own tests, and ours, on builds that build.sh has made.
#
# A test of memcached's counts if the baseline passes it; what fails there tests what this build of the baseline lacks.
# A converted build has to pass all that count.
set -euo pipefail

folder=$(cd "$1" && pwd)
check=$(readlink -f "$2")
shift 2
jobs=${TUTTI_JOBS:-$(nproc)}

# passed <build>: the tests of memcached's that it passes.
passed() {
    local build=$1
    (cd "$folder/$build" && prove -j "$jobs" t/*.t >"$folder/$build.prove" 2>&1) || true
    (cd "$folder/$build" && printf '%s\n' t/*.t) |
        grep -vxFf <(grep -oE '^t/[^ ]+ +\(Wstat' "$folder/$build.prove" | cut -d' ' -f1) || true
}

# run_check <build> <server's options> -- <checker's options>
run_check() {
    local build=$1 server=() socket process status=0
    shift
    while [[ $1 != -- ]]; do
        server+=("$1")
        shift
    done
    shift
    socket=$(mktemp -u /tmp/tutti-mc.XXXXXX)
    "$folder/$build/memcached-debug" -u "$(id -un)" -s "$socket" "${server[@]}" &
    process=$!
    for _ in $(seq 100); do
        [[ ! -S $socket ]] || break
        kill -0 "$process" 2>/dev/null || break
        sleep 0.1
    done
    timeout 300 "$check" --socket "$socket" "$@" || status=$?
    kill -INT "$process"
    wait "$process" || status=1
    rm -f "$socket"
    return "$status"
}

failures=0
if [[ ${TUTTI_MEMCACHED_SAMPLE:-} == "" ]]; then
    echo "memcached's own tests on the baseline"
    passed baseline >"$folder/baseline.passed"
    echo "    $(wc -l <"$folder/baseline.passed") pass"
    for build in "$@"; do
        [[ $build != baseline ]] || continue
        echo "memcached's own tests on $build"
        passed "$build" >"$folder/$build.passed"
        mapfile -t lost < <(grep -vxFf "$folder/$build.passed" "$folder/baseline.passed" || true)
        if ((${#lost[@]} == 0)); then
            echo "    all of them pass"
        else
            echo "    FAILED: ${lost[*]}; see $folder/$build.prove"
            failures=1
        fi
    done
    commands=50000
else
    commands=1500
fi
for build in "$@"; do
    echo "answers of $build against a model"
    run_check "$build" -t 4 -m 1024 -- --commands "$commands" || failures=1
    run_check "$build" -t 4 -m 1024 -o no_lru_crawler,no_lru_maintainer -- --commands "$commands" || failures=1
    # A hash table that grows while commands run.
    run_check "$build" -t 4 -m 1024 -o hashpower=13 -- --commands "$commands" --fill 30000 || failures=1
done
((failures == 0)) && echo "all is well"
exit "$failures"
