# shellcheck shell=bash
# What tests of reports share. REQUIRES: the variables `tutti`, `program` and `source`, the program's source, which says
# "// line: <word>" where a test wants to name a line; `work`, a folder.

fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*"
    exit 1
}
# shellcheck disable=SC2154  # the variables above
line_of() { grep -n "// line: $1\$" "$source" | cut -d: -f1; }

# said_of <block>: what the report in $work/text says of it.
# shellcheck disable=SC2154
said_of() {
    awk -v name="$(basename "$source"):$(line_of "$1") in " 'BEGIN { RS = "" } index($0, name) == 1' "$work/text"
}
# expect <block> <regular expression>: a line of what is said of that block matches.
expect() { said_of "$1" | grep -Eq -- "$2" || fail "block $1: no line matches '$2'"; }

# Runs the program, and leaves its report in $work/*.json and $work/text, which is shown.
# shellcheck disable=SC2154
report_of_program() {
    "$tutti" run --report="$work/%p.json" -- "$program" 2>"$work/errors" || fail "the program: $(cat "$work/errors")"
    "$tutti" report "$work"/*.json >"$work/text"
    cat "$work/text"
}
