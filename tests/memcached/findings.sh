#!/usr/bin/env bash
# findings.sh <tutti> <program made of findings.c> <findings.c> <finding>: checks the answer to the finding, and the
# report about it. Finding 13 needs <tutti-cc> and <memcached's folder in the source> instead of the program and its
# source.
set -euo pipefail
tutti=$1 program=$(realpath "$2") source=$(realpath "$3") finding=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d --tmpdir "memcached.XXXXXX")
trap 'rm -rf "$work"' EXIT

# shellcheck source=tests/support/reports.sh
source "$here/../support/reports.sh"
line_of() { grep -n "/\* line: $1 \*/\$" "$source" | cut -d: -f1; }
# expect_no <block> <regular expression>: the report contains the block, and no line about it matches.
expect_no() {
    [[ -n $(said_of "$1") ]] || fail "block $1 is not in the report"
    if said_of "$1" | grep -Eq -- "$2"; then fail "block $1: a line matches '$2'"; fi
}

# One source, with locks and with blocks: the compiler's input differs, and the program's answers do not.
one_source() {
    command -v spatch >/dev/null || {
        echo "SKIPPED: there is no spatch (package coccinelle)" | tee /dev/stderr
        exit 77
    }
    cp "$here/slabs_by_lock.c" "$work/locks.c"
    spatch --very-quiet --no-show-diff --macro-file "$source/patches/macros.h" --sp-file "$source/patches/slabs.cocci" \
        "$work/locks.c" -o "$work/blocks.c" 2>/dev/null
    gcc -O1 -pthread "$work/locks.c" -o "$work/locks"
    "$program" --no-libc -O1 "-DTM_SLABS()=__transaction_atomic" "$work/blocks.c" -o "$work/blocks"
    nm -u "$work/locks" | grep -q pthread_mutex_lock || fail "the program had no lock from the beginning"
    if nm -u "$work/blocks" | grep pthread_mutex; then fail "a lock is left"; fi
    nm -u "$work/blocks" | grep -q _ITM_beginTransaction || fail "there is no block"
    [[ $("$work/locks") == 20000 && $("$work/blocks") == 20000 ]] || fail "an addition was lost"
}

if ((finding == 13)); then
    one_source
    exit
fi
"$tutti" run --report="$work/run.json" -- "$program" "$finding" 2>"$work/errors" || fail "$(cat "$work/errors")"
"$tutti" report "$work/run.json" >"$work/text"
cat "$work/text"
case $finding in
    1)
        expect takes-lock "irrevocable 100 times"
        expect takes-lock " 100  unsafe call of pthread_mutex_lock at $(basename "$source"):[0-9]+ in collateral"
        expect_no takes-token "irrevocable"
        ;;
    2) expect_no signals "irrevocable" ;;
    3)
        expect atomic-count "irrevocable 100 times"
        expect_no plain-count "irrevocable"
        ;;
    5)
        expect no-clone " 100  call of release_item at .*:$(line_of call) in .* no transactional clone"
        expect no-clone "hint: annotate release_item"
        ;;
    6) expect_no calls-version "irrevocable" ;;
    7) expect_no posts "irrevocable" ;;
    8)
        expect late "irrevocable 30 times"
        expect late " 30  unsafe call of sched_yield at .*:$(line_of yield) in "
        expect at-once "irrevocable 300 times"
        expect at-once " 300  from its start on: .*; it calls .*sched_yield"
        ;;
    9)
        expect nested "entered inside another block 300 times"
        expect_no outside-version "entered inside another block"
        ;;
    10) expect_no lock-first "irrevocable" ;;
    12) expect_no counts "against $(basename "$source"):$(line_of counts) in" ;;
esac
