#!/usr/bin/env bash
# programs.sh <folder> <tutti-cc>: checks that two Debian programs with blocks around their critical sections behave as
# they do without: a key-value tool (tinycdb) and a log writer (cronolog). The input is generated from a fixed seed. The
# test is skipped, with a message, if the sources or the conversion tool are not available.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
status=0
"$here/build.sh" "$@" >"$1.log" 2>&1 || status=$?
if ((status != 0)); then
    cat "$1.log"
    ((status != 77)) || echo "SKIPPED: programs of Debian's with blocks are not tested" | tee /dev/stderr
    exit "$status"
fi
folder=$(cd "$1" && pwd)
work=$(mktemp -d --tmpdir "libc.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    printf 'programs.sh: %s\n' "$*"
    exit 1
}

# run <program> <argument>...: runs both variants, each in a folder of its own. The folder gets standard input, output,
# errors and the status.
run() {
    local way program=$1
    shift
    cat >input
    for way in plain blocks; do
        mkdir -p "$way"
        (cd "$way" && timeout 60 "$folder/$way/$program" "$@" <../input >output 2>errors && echo 0 >status ||
            echo "$?" >status)
    done
}
# same <what> <file>...: checks that both variants have written the same files.
same() {
    local file what=$1
    shift
    for file in "$@"; do cmp "plain/$file" "blocks/$file" || fail "$what: $file differs"; done
}
# same_lines <what> <file>...: checks that the files have the same lines in any order.
same_lines() {
    local file what=$1
    shift
    for file in "$@"; do
        cmp <(sort "plain/$file") <(sort "blocks/$file") || fail "$what: the lines of $file differ"
    done
}
ended=(output errors status)

for program in cdb cronolog; do
    nm -u "$folder/blocks/$program" | grep -q _ITM_beginTransaction || fail "$program has no blocks"
done

# ---- tinycdb: its own tests
for way in plain blocks; do
    mkdir -p "$way"
    (cd "$way" && PATH=$folder/$way:$PATH sh "$folder/source/tinycdb/tests.sh" cdb >own 2>&1)
    cmp "$way/own" "$folder/source/tinycdb/tests.ok" || fail "tinycdb's own tests, $way: $work/$way/own"
done

# records <seed> <form>: writes some thousand records, some with a repeated key. A hundred values are larger than the
# buffers that they pass through.
records() {
    awk -v seed="$1" -v map="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < 3000; ++i) {
            key = "key-" seed "-" int(rand() * 2000)
            value = ""
            for (n = i % 30 == 0 ? 700 : int(rand() * 20); n > 0; --n) value = value sprintf("%09d", rand() * 1e9)
            value = value "." # for an empty value, the statistics would depend on the order
            if (map) print key, value
            else printf "+%d,%d:%s->%s\n", length(key), length(value), key, value
        }
        if (!map) print ""
    }'
}
for form in "" -m; do
    for n in 1 2 3 4; do records "$n" "$form" >"in$form$n"; done
    for mode in "" -r -u -w -0; do
        # One thread: the files are equal byte by byte.
        # shellcheck disable=SC2086  # words that may be missing
        run cdb -c $form $mode one.cdb <"in${form}1"
        same "one file, $form $mode" one.cdb "${ended[@]}"
        # Four threads, which determine the order.
        # shellcheck disable=SC2086
        run cdb -c $form $mode all.cdb ../in"$form"{1,2,3,4} </dev/null
        same "status of $form $mode" output status
        same_lines "four files, $form $mode" errors
        # shellcheck disable=SC2086
        run cdb -d $form all.cdb </dev/null
        if [[ $mode == -0 ]]; then
            # A replaced record vanishes without a trace if it is the last one; otherwise it leaves zeros.
            for way in plain blocks; do grep -aPv '\x00' "$way/output" >"$way/kept" || true; done
            [[ -s plain/kept ]] || fail "no record of four files, $form $mode, is without zeros: nothing is compared"
            same_lines "four files, $form $mode" kept errors status
            continue # keys without characters, for the same reason
        fi
        same_lines "four files, $form $mode" "${ended[@]}"
        run cdb -s all.cdb </dev/null
        for way in plain blocks; do head -n 3 "$way/output" >"$way/sizes"; done
        same "statistics of four files, $form $mode" sizes errors status
    done
done
for key in 0 1 2 3 4 5 6 7 8 9; do
    run cdb -q -m all.cdb "key-$((key % 4 + 1))-$((7 * key))" </dev/null
    same_lines "query of $key" "${ended[@]}"
done
# An error in a file is reported, and ends the program in the middle of a block.
head -c 5000 in1 | run cdb -c bad.cdb
same "a file that is cut off" "${ended[@]}"

# ---- cronolog: the input reaches the file of its day unchanged, whichever thread reads a part of it
awk 'BEGIN { srand(5); for (i = 0; i < 40000; ++i) printf "%d %s\n", i, substr("abcdefghijklmnopqrstuvwxyz", 1, rand() * 26) }' >log
run cronolog -z UTC -s "15 March 2024 12:00" -S link "%Y/%m/%d.log" <log
same "a log" "${ended[@]}" 2024/03/15.log link
cmp log blocks/2024/03/15.log || fail "the log is not what was written to it"
run cronolog -z UTC -s "15 March 2024 12:00" "/dev/null/%Y.log" <log
same "a log that cannot be" "${ended[@]}"
