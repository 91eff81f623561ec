#!/usr/bin/env bash
# reported.sh <tutti> <program made of reported.cpp> <reported.cpp>: checks the report about blocks that ran alone. It
# names the call of the C library, its line, how late in the block it came, and a remedy.
set -euo pipefail
tutti=$1 program=$(realpath "$2") source=$(realpath "$3")
work=$(mktemp -d --tmpdir "libc.XXXXXX")
trap 'rm -rf "$work"' EXIT

# shellcheck source=tests/support/reports.sh
source "$(dirname "$0")/../support/reports.sh"
report_of_program

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
