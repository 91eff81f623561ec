#!/usr/bin/env bash
# observed.sh <tutti> <program made of observed.cpp>: checks the user's view of a program of the library, while it runs
# and at its end.
set -euo pipefail
tutti=$(realpath "$1") program=$(realpath "$2")
work=$(mktemp -d --tmpdir "observing.XXXXXX")
started=()
end() {
    local p
    for p in "${started[@]}"; do kill -KILL "$p" 2>/dev/null || true; done
    rm -rf "$work"
}
trap end EXIT
cd "$work"

fail() {
    printf 'observed.sh: %s\n' "$*"
    exit 1
}

# says <file> <regular expression>: checks that a line of the file matches.
says() { grep -Eq -- "$2" "$1" || fail "no line of $1 matches '$2': $(cat "$1")"; }

# until_true <command>...: waits up to a minute until the command succeeds.
until_true() {
    for _ in {1..600}; do
        if "$@"; then return; fi
        sleep 0.1
    done
    fail "never: $*"
}
is_ready() { grep -q . "$1"; }
shows_a_sleeper() { "$tutti" stat "$process" >text && grep -q "  retry  " text; }
has_ended() { ! kill -0 "$1" 2>/dev/null || grep -q "^State:.*Z" "/proc/$1/status"; }

# start <TUTTI_STATISTICS> <what>: runs the program in the background; $process gets its number.
start() {
    : >said
    TUTTI_STATISTICS=$1 "$program" "$2" >said 2>errors &
    process=$!
    started+=("$process")
    until_true is_ready said
}

# --- at the end

"$tutti" run --report=run.json -- "$program" counts
"$tutti" report run.json >text
says text "^$program: 3 blocks in .* under "
says text "^overtaken \(observed.cpp:[0-9]+\)$"
says text "rolled back 5 times"
says text "^ +5  validation against overtaker \(observed.cpp:[0-9]+\)$"
says text "hint: it runs 6.0 times for each commit, mostly because of overtaker"
says text "^observed.cpp:[0-9]+ in .*main"
says text "executions 40  commits 40  cancelled 0"
"$tutti" report run.json --html=page.html
says page.html "overtaken \(observed.cpp"
says page.html "</html>"

TUTTI_STATISTICS=report "$program" counts 2>table
says table "^overtaken +1 +5 validation"
says table "^overtaken +5 validation +overtaker"

"$tutti" run --report=forked.json -- "$program" forks
says forked.json '"name":"overtaker"'
compgen -G "forked.json.*" >/dev/null || fail "the child has written no report"

# --- while it runs

start signal waits
until_true shows_a_sleeper
says text "^ +[0-9]+ +[0-9]+  retry .* sleeper \(observed.cpp:[0-9]+\)$"
says text "validation against overtaker"
"$tutti" stat "$process" --html=live.html
says live.html "What contexts are doing now"

# SIGQUIT (Ctrl-\) prints, and the program continues. SIGTERM prints, and ends the program by the signal.
kill -QUIT "$process"
until_true grep -q "^overtaken .*validation" errors
kill -0 "$process" || fail "SIGQUIT has ended it"
: >errors
kill -TERM "$process"
status=0
wait "$process" || status=$?
((status == 128 + 15)) || fail "status $status after SIGTERM"
says errors "^overtaken .*validation"

# Its standard error is a full pipe without a reader: the signal still ends the program.
mkfifo full
exec {full}<>full
head -c 65536 /dev/zero >&"$full"
: >said
TUTTI_STATISTICS=signal "$program" waits >said 2>&"$full" &
process=$!
started+=("$process")
until_true is_ready said
kill -TERM "$process"
status=0
wait "$process" || status=$?
((status == 128 + 15)) || fail "status $status after SIGTERM with a full pipe"
exec {full}>&-

# A signal that the program handles itself stays with the program.
start signal handles
kill -TERM "$process"
status=0
wait "$process" || status=$?
((status == 3)) || fail "status $status of a program that handles SIGTERM itself"
says said "^handled$"

# A forked child has no thread that prints, so the signal ends it.
start signal orphan
child=$(cat said)
started+=("$child")
kill -TERM "$child"
until_true has_ended "$child"

# --- refused commands

start on waits
refused=0
"$tutti" stat "$process" 2>why || refused=$?
((refused == 1)) || fail "status $refused for a process that does not listen"
says why "process $process does not listen: start it with TUTTI_STATISTICS=signal"
kill -0 "$process" || fail "asking has ended a process that does not listen"

start signal waits
kill -STOP "$process"
"$tutti" stat "$process" 2>why && fail "a stopped process has answered"
says why "process $process has not answered for 10 s: it is stopped"
