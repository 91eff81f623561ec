#!/usr/bin/env bash
# report.sh <tutti> <program made of reported.cpp> <reported.cpp>: checks that the report agrees with the known
# behaviour.
set -euo pipefail
tutti=$1 program=$(realpath "$2") source=$(realpath "$3")
work=$(mktemp -d --tmpdir "language.XXXXXX")
trap 'rm -rf "$work"' EXIT

# shellcheck source=tests/support/reports.sh
source "$(dirname "$0")/../support/reports.sh"
report_of_program

expect only-one "executions 5  commits 5  cancelled 0"
expect only-one "5 without barriers"
expect another "executions 1  commits 1  cancelled 0"
expect plain "executions 300  commits 300  cancelled 0"
expect cancelled "executions 10  commits 3  cancelled 7"
expect no-clone "irrevocable 20 times"
expect no-clone " 20  call of .*without_clone\(\) at .*:$(line_of call) in .* no transactional clone"
expect no-clone "hint: annotate .*without_clone\(\)"
expect inside-library "irrevocable 3 times"
expect inside-library " 3  from its start on"
expect again-inside-library "irrevocable 1 time$"
expect unsafe "executions 40  commits 40  cancelled 0"
expect unsafe " 10  unsafe call of perror at .*:$(line_of perror) in "
# The compiler switches before safe calls that an unsafe operation follows: the report does not blame the safe calls.
expect allocates-first " 3  unsafe call of alarm at .*:$(line_of alarm) in "
expect allocates-first "hint: alarm comes from another library"
expect volatile " 3  unsafe operation at .*allocates_before_volatile"
expect volatile "hint: move the unsafe operation"
expect restarted "rolled back 6 times"
expect restarted " 6  explicit_restart"
expect alone "irrevocable 1 time$"
expect alone " 1  from its start on: .*; it calls .*keep_another_waiting"
expect alone "hint: annotate .*keep_another_waiting"
expect alone "alone for [1-9].*, while others waited [1-9]"
expect overtaken "against $(basename "$source"):$(line_of overtaker) in "

# Blocks that stopped others for long come before blocks that lost little by roll-backs.
names_in_order() { grep -Eo "^$(basename "$source"):[0-9]+ in " "$work/text" | grep -Eo '[0-9]+ in' | cut -d' ' -f1; }
(($(names_in_order | grep -nx "$(line_of alone)" | cut -d: -f1) < $(names_in_order | grep -nx "$(line_of restarted)" | cut -d: -f1))) ||
    fail "the block that ran alone does not come before the one that restarted"

# The page is self-contained, and names the same blocks as the text.
"$tutti" report "$work"/*.json --html="$work/page.html"
grep -q '^<!doctype html>' "$work/page.html" || fail "the page has no beginning"
grep -q '</html>$' "$work/page.html" || fail "the page has no end"
grep -q '<svg' "$work/page.html" || fail "the page has no chart"
if grep -Eq 'https?:|<script|src=|url\(' "$work/page.html"; then fail "the page needs something else"; fi
grep -q "$(basename "$source"):$(line_of plain)" "$work/page.html" || fail "the page does not name a block"

"$tutti" run --report="$work/forks" -- "$program" forks
for file in "$work"/forks "$work"/forks.*; do
    "$tutti" report "$file" >"$work/text"
    expect forks "executions 1  commits 1  cancelled 0"
done
compgen -G "$work/forks.*" >/dev/null || fail "the child has written no report"

# A file that can no longer be opened by its name, as after chroot or setuid, is open since the start.
mkdir "$work/before"
TUTTI_REPORT="$work/before/run.json" "$tutti" run -- "$program" moves "$work/before" "$work/after" 2>"$work/errors"
[[ ! -s $work/errors ]] || fail "the folder was moved: $(cat "$work/errors")"
"$tutti" report "$work/after/run.json" >"$work/text"
expect plain "executions 300  commits 300  cancelled 0"

# On demand: by `tutti stat`, after which the program continues, and by a signal that ends it.
TUTTI_STATISTICS=signal TUTTI_REPORT="$work/asked.json" "$tutti" run -- "$program" stays >"$work/ready" 2>"$work/errors" &
asked=$!
trap 'kill -KILL "$asked" 2>/dev/null || true; rm -rf "$work"' EXIT
until grep -q ready "$work/ready"; do
    kill -0 "$asked" 2>/dev/null || fail "it has ended: $(cat "$work/errors")"
    sleep 0.05
done
"$tutti" stat "$asked" >"$work/text"
expect alone "alone for [1-9].*, while others waited [1-9]"
expect alone "it calls .*keep_another_waiting"
[[ ! -s $work/asked.json ]] || fail "tutti stat has written the file, too"
kill -TERM "$asked"
status=0
wait "$asked" || status=$?
((status == 128 + 15)) || fail "status $status after SIGTERM"
"$tutti" report "$work/asked.json" >"$work/text"
expect alone "alone for [1-9].*, while others waited [1-9]"

# Names may contain any bytes that are valid in a folder name.
mkdir "$work/<prögrämme> & \"more\""
cp "$program" "$work/<prögrämme> & \"more\"/"
"$tutti" run --report="$work/named.json" -- "$work/<prögrämme> & \"more\"/$(basename "$program")"
"$tutti" report "$work/named.json" >"$work/text"
expect plain "executions 300  commits 300  cancelled 0"
"$tutti" report "$work/named.json" --html >"$work/named.html"
grep -q "&lt;prögrämme&gt; &amp; &quot;more&quot;" "$work/named.html" || fail "the page escapes nothing"

# With the variable alone, the text appears at exit if `tutti` is found; otherwise the command that shows it.
cd "$work"
TUTTI_COMMAND=$tutti TUTTI_REPORT=1 "$tutti" run -- "$program" nothing 2>shown
grep -q "0 blocks in " shown || fail "no text at exit: $(cat shown)"
TUTTI_COMMAND=/nonexistent/tutti TUTTI_REPORT=1 "$tutti" run -- "$program" nothing 2>told
grep -q "'tutti report $work/tutti-report\.[0-9]*\.json' shows it" told || fail "no advice at exit: $(cat told)"
TUTTI_REPORT=/nonexistent/file "$tutti" run -- "$program" nothing 2>refused
grep -q "tutti: TUTTI_REPORT: /nonexistent/file cannot be written: No such file" refused || fail "$(cat refused)"

# refuse <status> <regular expression> <argument of tutti>...
refuse() {
    local status=0 said
    said=$("$tutti" "${@:3}" 2>&1) || status=$?
    ((status == $1)) || fail "tutti ${*:3}: status $status, $said"
    grep -Eq -- "$2" <<<"$said" || fail "tutti ${*:3}: '$said' does not match '$2'"
    (($(wc -l <<<"$said") == 1)) || fail "tutti ${*:3}: more than one line: $said"
}
good=$(echo "$work"/[0-9]*.json)
head -c 300 "$good" >cut.json
sed 's/"version":4/"version":7/' "$good" >newer.json
sed 's/"with":[0-9][0-9]*/"with":99999/' "$good" >astray.json
sed 's/"executions":/"execution":/' "$good" >lacking.json
sed 's/"executions":[0-9]*/"executions":-1/' "$good" >negative.json
echo '[]' >list.json
refuse 1 "cut.json is not JSON: " report cut.json
refuse 1 "newer.json is not a report of a program: 'version' is not 4" report newer.json
refuse 1 "astray.json is not .*: 'with' is not the index of an element" report astray.json
refuse 1 "lacking.json is not .*: it lacks 'executions'" report lacking.json
refuse 1 "negative.json is not .*: 'executions' is not a whole number" report negative.json
refuse 1 "list.json is not .*: it lacks 'format'" report list.json
refuse 1 "none.json cannot be read: No such file" report none.json
refuse 2 "--html: /nonexistent/page.html cannot be written: No such file" report "$good" --html=/nonexistent/page.html
refuse 127 "./none: No such file or directory" run -- ./none
refuse 127 "command not found in PATH" run -- tutti-no-such-program
refuse 126 "list.json is not a file that may be executed" run -- ./list.json
refuse 2 "no program given" run --report
