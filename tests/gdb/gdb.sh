#!/usr/bin/env bash
# gdb.sh <tutti.py> <program made of target.cpp>: checks gdb's view of the program, of a core file of it, and of other
# data.
set -euo pipefail
script=$(realpath "$1") program=$(realpath "$2")
work=$(mktemp -d --tmpdir "gdb.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    printf 'gdb.sh: %s\n' "$*"
    exit 1
}
says() { grep -Eq -- "$2" "$1" || fail "no line of $1 matches '$2': $(cat "$1")"; }

gdb() { command gdb -nx -batch -iex "set debuginfod enabled off" -iex "set disable-randomization off" -ex "set width 0" -ex "source $script" "$@"; }

show=()
for what in number text phone_book squares ages primes halves words line; do show+=(-ex "print '(anonymous namespace)::$what'"); done

gdb -ex "break stop_here" -ex run "${show[@]}" -ex "tutti transactions" -ex "generate-core-file core" "$program" \
    >shown 2>&1 || fail "gdb: $(cat shown)"
says shown '^.1 = 42 \(being written by context 0\)$'
says shown '^.2 = "a text that is longer than what fits into the object"$'
says shown '^.3 = tutti::ordered_map<.*> = \{\[0\] = "subscriber 0", .*\[39\] = "subscriber 39"\}$'
says shown '^.4 = tutti::ordered_set<.*> = \{0, 1, 4, .*, 1521\}$'
says shown '^.5 = tutti::hash_map<.*> = \{.*\["Ada"\] = 36.*\}$'
says shown '\["Grace"\] = 85'
says shown '^.6 = tutti::hash_set<int.*> = \{[235], [235], [235]\}$'
says shown '^.7 = tutti::vector<double> = \{0, 0.5, 1, .*, 19.5\}$'
says shown '^.8 = tutti::vector<std::.*> = \{"all", "together"\}$'
says shown '^.9 = tutti::queue<int> = \{8, 9\}$'
says shown '^ +0 +1  active +3 .* writer \(target.cpp:[0-9]+\)$'
says shown '^ +1 +2  retry .* sleeper \(target.cpp:[0-9]+\)$'

gdb -ex "print '(anonymous namespace)::ages'" -ex "tutti transactions" "$program" core >core-shown 2>&1 || true
says core-shown '\["Ada"\] = 36'
says core-shown 'retry .* sleeper \(target.cpp:[0-9]+\)$'

gdb -ex "tutti transactions" /bin/true >refused 2>&1 || true
says refused "libtutti is not loaded"
