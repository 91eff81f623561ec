# shellcheck shell=bash
# Common functions for tests of reports. REQUIRES: the variables `tutti`, `program` and `source`, the program's source,
# which has "// line: <word>" on a line that a test names; and `work`, a folder.

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*"
    exit 1
}
# shellcheck disable=SC2154  # the variables above
line_of() { grep -n "// line: $1\$" "$source" | cut -d: -f1; }

# said_of <block>: prints the lines about it in the report in $work/text.
# shellcheck disable=SC2154
said_of() {
    awk -v name="$(basename "$source"):$(line_of "$1") in " 'BEGIN { RS = "" } index($0, name) == 1' "$work/text"
}
# expect <block> <regular expression>: checks that a line about that block matches.
expect() { said_of "$1" | grep -Eq -- "$2" || fail "block $1: no line matches '$2'"; }

# Runs the program, and writes its report to $work/*.json and $work/text.
# shellcheck disable=SC2154
report_of_program() {
    "$tutti" run --report="$work/%p.json" -- "$program" 2>"$work/errors" || fail "the program: $(cat "$work/errors")"
    "$tutti" report "$work"/*.json >"$work/text"
    cat "$work/text"
}
