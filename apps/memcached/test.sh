#!/usr/bin/env bash
# test.sh <folder> <programs' folder> <build>...: runs memcached's own tests, and ours, on the builds of build.sh.
#
# A test of memcached counts if the baseline passes it; other tests need features that this build of the baseline lacks.
# A converted build has to pass all tests that count.
set -euo pipefail

folder=$(cd "$1" && pwd)
programs=$(cd "$2" && pwd)
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=apps/memcached/server.sh
source "$here/server.sh"
jobs=${TUTTI_JOBS:-$(nproc)}

# passed <build>: prints the tests of memcached that the build passes.
passed() {
    local build=$1
    (cd "$folder/$build" && prove -j "$jobs" t/*.t >"$folder/$build.prove" 2>&1) || true
    (cd "$folder/$build" && printf '%s\n' t/*.t) |
        grep -vxFf <(grep -oE '^t/[^ ]+ +\(Wstat' "$folder/$build.prove" | cut -d' ' -f1) || true
}

failures=0
if [[ ${TUTTI_MEMCACHED_SAMPLE:-} == "" ]]; then
    echo "memcached's own tests on the baseline"
    passed baseline >"$folder/baseline.passed"
    echo "    $(wc -l <"$folder/baseline.passed") pass"
    for build in "$@"; do
        [[ $build != baseline && $build != *-asan ]] || continue
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
    commands=50000 rounds=20000 torture=20
else
    commands=1500 rounds=1500 torture=4
fi
for build in "$@"; do
    server=("$folder/$build/memcached-debug" -t 4 -m 1024)
    check=(timeout 300 "$programs/tutti-mc-check" --commands "$commands")
    echo "answers of $build against a model"
    with_server "${server[@]}" -- "${check[@]}" || failures=1
    with_server "${server[@]}" -o no_lru_crawler,no_lru_maintainer -- "${check[@]}" || failures=1
    # Tests a hash table that grows while commands run.
    with_server "${server[@]}" -o hashpower=13 -- "${check[@]}" --fill 30000 || failures=1
    # Runs the same program on the compiler's runtime, which runs blocks in hardware if the processor has RTM.
    if grep -q "^$build .*volatiles" "$here/builds.txt"; then
        echo "answers of $build on the compiler's libitm"
        libitm=$(dirname "$(gcc -print-file-name=libitm.so.1)")
        with_server env "LD_LIBRARY_PATH=$libitm" "${server[@]}" -- "${check[@]}" || failures=1
    fi
    echo "histories of $build"
    with_server "${server[@]}" -- timeout 300 "$programs/tutti-mc-linear" --rounds "$rounds" || failures=1
done
# Checks the heap: by AddressSanitizer for locks, and by memcheck for blocks, because GCC compiles no blocks with
# AddressSanitizer.
if [[ ${TUTTI_MEMCACHED_SAMPLE:-} == "" ]]; then
    for build in "$@"; do
        if ! grep -q "^$build .*volatiles" "$here/builds.txt"; then continue; fi
        command -v valgrind >/dev/null || {
            echo "SKIPPED: the memory of $build is not checked: there is no valgrind"
            continue
        }
        echo "memory of $build"
        memcheck=(valgrind -q --error-exitcode=99 --fair-sched=yes "$folder/$build/memcached-debug" -t 4)
        with_server "${memcheck[@]}" -m 24 -o slab_reassign,slab_automove=1,hashpower=13 -- \
            timeout 600 "$programs/tutti-mc-linear" --rounds 150 || failures=1
        with_server "${memcheck[@]}" -- timeout 600 "$programs/tutti-mc-check" --commands 150 || failures=1
    done
fi
"$here/torture.sh" "$folder" "$programs" "$torture" "$@" || failures=1
if [[ -x $folder/broken/memcached ]]; then
    echo "histories of a server whose increments take no lock"
    if with_server "$folder/broken/memcached" -t 4 -- \
        timeout 300 "$programs/tutti-mc-linear" --seconds 60 >"$folder/broken.history" 2>&1; then
        echo "    FAILED: nothing was found wrong with them"
        failures=1
    else
        echo "    found wrong, as they should be: $(grep -c '\.\.' "$folder/broken.history") commands of one key"
    fi
fi
((failures == 0)) && echo "all is well"
exit "$failures"
