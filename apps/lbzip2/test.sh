#!/usr/bin/env bash
# test.sh <folder> [rounds]: compares lbzip2 with blocks (build.sh) with lbzip2 with locks. Both have to produce the
# same bytes and status, for the authors' test files, for truncated and damaged files, and for any number of threads.
# Two things are chance in both versions: how much output before the damage was written when the error was found, and
# which of several errors came first.
set -euo pipefail

folder=$(cd "$1" && pwd)
rounds=${2:-1}
blocks=$folder/blocks/src/lbzip2
locks=$folder/baseline/src/lbzip2
work=$(mktemp -d --tmpdir "lbzip2.XXXXXX")
trap 'rm -rf "$work"' EXIT
checks=0
failures=0

# run <program> <result> <arguments>...: stores the program's output, messages and status in <result>.*
run() {
    local program=$1 result=$2 status=0
    shift 2
    timeout 120 "$program" "$@" >"$result.out" 2>"$result.messages" || status=$?
    sed -i 's/^[^:]*: //' "$result.messages" # removes the program's name
    echo "$status" >"$result.status"
}

# differ: prints why the results of the two programs differ.
differ() {
    cmp -s "$work/locks.status" "$work/blocks.status" || {
        echo "status $(<"$work/blocks.status"), not $(<"$work/locks.status"): $(head -c 200 "$work/blocks.messages")"
        return
    }
    if (($(<"$work/locks.status") == 0)); then
        cmp "$work/locks.out" "$work/blocks.out" || true
    else
        cmp "$work/locks.out" "$work/blocks.out" 2>&1 | grep -v EOF || true
        [[ -s $work/blocks.messages ]] || echo "no message"
    fi
}

# same <input> <arguments>...: checks that both programs do the same with the input.
same() {
    local input=$1 why
    shift
    run "$locks" "$work/locks" "$@" <"$input"
    run "$blocks" "$work/blocks" "$@" <"$input"
    checks=$((checks + 1))
    why=$(differ)
    [[ -z $why ]] && return
    echo "FAILED: lbzip2 $* <$(basename "$input"): $why"
    failures=$((failures + 1))
}

# Many small blocks: repetitive text and incompressible data in turns.
text=$work/text
for i in {1..8}; do
    cat "$folder/source/src/"*.c
    head -c $((100000 * i)) /dev/urandom
done >"$text"
: >"$work/empty"
echo "not compressed" >"$work/plain"

for ((round = 1; round <= rounds; ++round)); do
    ((rounds == 1)) || echo "round $round of $rounds: $checks checks, $failures failures"
    for threads in 1 2 4 9; do
        for level in -1 -9 "-1 -u"; do
            # shellcheck disable=SC2086  # a list of words
            same "$text" -c -n "$threads" $level
            cp "$work/blocks.out" "$work/packed"
            same "$work/packed" -dc -n "$threads"
            cmp -s "$work/blocks.out" "$text" || {
                echo "FAILED: what was compressed by $threads threads, $level, is not what comes back"
                failures=$((failures + 1))
            }
        done
        same "$work/empty" -c -n "$threads"
        same "$work/plain" -dc -n "$threads"
        same "$work/plain" -dcf -n "$threads"
        # Through a pipe, which delivers small pieces.
        run "$blocks" "$work/blocks" -dc -n "$threads" < <(cat "$work/packed")
        cmp -s "$work/blocks.out" "$text" || {
            echo "FAILED: $threads threads read another text from a pipe"
            failures=$((failures + 1))
        }
    done
    size=$(stat -c %s "$work/packed")
    for i in {1..10}; do
        head -c $((RANDOM * 32768 % size + RANDOM % 7)) "$work/packed" >"$work/cut"
        same "$work/cut" -dc -n 4
    done
    # A damaged block in the middle: any thread may write output before the damage, and no thread output after it.
    run "$locks" "$work/locks" -c -1 <"$text"
    cp "$work/locks.out" "$work/packed"
    size=$(stat -c %s "$work/packed")
    for part in 1 3 5 7 9 11; do
        cp "$work/packed" "$work/damaged"
        printf '\xff\x00\xff' | dd of="$work/damaged" bs=1 seek=$((size * part / 12)) conv=notrunc status=none
        for threads in 1 2 4 9; do
            same "$work/damaged" -dc -n "$threads"
            for program in locks blocks; do
                (($(<"$work/$program.status") != 0)) &&
                    cmp -s -n "$(stat -c %s "$work/$program.out")" "$work/$program.out" "$text" && continue
                echo "FAILED: lbzip2 with $program, $threads threads: part $part of 12 is damaged, and what was written is" \
                    "not what comes before it (status $(<"$work/$program.status"))"
                failures=$((failures + 1))
            done
        done
    done
    for sample in "$folder"/source/tests/*.bz2; do
        for threads in 1 4; do same "$sample" -dc -n "$threads"; done
    done
done
echo "$checks comparisons, $failures failures"
((failures == 0))
