#!/usr/bin/env bash
# expect.sh <exit status> <extended regular expression> <command>...
#
# Runs the command and compares its exit status. Its whole output, as one line, must match the expression. A refusal
# (status 2) must print exactly one line.
#
# The locale is C.UTF-8, so that `.` in an expression matches any character in every environment. Debian's C library has
# this locale.
set -uo pipefail
export LC_ALL=C.UTF-8

status=$1
pattern=$2
shift 2

output=$("$@" 2>&1)
got=$?
printf '%s\n' "$output"
if ((got != status)); then
    printf 'expect.sh: exit status %d instead of %d\n' "$got" "$status"
    exit 1
fi
if ! grep -Eq -- "$pattern" <<<"${output//$'\n'/ }"; then
    printf 'expect.sh: the output does not match: %s\n' "$pattern"
    exit 1
fi
if ((status == 2)) && (($(wc -l <<<"$output") != 1)); then
    printf 'expect.sh: a refusal is to be one line\n'
    exit 1
fi
