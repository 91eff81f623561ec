#!/usr/bin/env bash
# reported.sh <tutti> <program made of reported.cpp> <reported.cpp>: the report names the call of the C library that
# made a block run alone, its line, how late in the block it was, and what to do instead.
set -euo pipefail
tutti=$1 program=$(realpath "$2") source=$(realpath "$3")
work=$(mktemp -d --tmpdir "libc.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
    printf 'reported.sh: %s\n' "$*"
    exit 1
}
line_of() { grep -n "// line: $1\$" "$source" | cut -d: -f1; }

# said_of <block>: what the report says of it.
said_of() {
    awk -v name="$(basename "$source"):$(line_of "$1") in " 'BEGIN { RS = "" } index($0, name) == 1' "$work/text"
}
expect() { said_of "$1" | grep -Eq -- "$2" || fail "block $1: no line matches '$2'"; }

"$tutti" run --report="$work/%p.json" -- "$program" 2>"$work/errors" || fail "the program: $(cat "$work/errors")"
"$tutti" report "$work"/*.json >"$work/text"
cat "$work/text"

late="after [1-9][0-9]* logged access(es)? and [0-9]+ % of the block's time"
expect flush "irrevocable 20 times"
expect flush " 20  fflush at .*$(basename "$source"):$(line_of fflush) in .*: a flush of output of this block, $late"
expect flush "hint: fflush: flush after the block"
expect split " 5  strtok at .*:$(line_of strtok) in .*: where strtok stands in its string is hidden"
expect split "hint: strtok: use strtok_r"
expect print "irrevocable 1 time$"
expect print " 1  fprintf at .*:$(line_of fprintf) in .*: output that the stream's buffer has no room for"
expect print "hint: fprintf: give the stream a larger buffer by setvbuf"
if said_of serve | grep -q irrevocable; then fail "a block that the buffer serves was irrevocable"; fi
if grep -q 'become_irrevocable\|context\.hpp' "$work/text"; then fail "a line of the library's own is named"; fi
