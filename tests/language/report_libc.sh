#!/usr/bin/env bash
# report_libc.sh <tutti> <tutti-cc> <reported_libc.c>: checks that the report of a wrapper's program does not blame
# calls that libtutti-c makes safe.
set -euo pipefail
tutti=$1 wrapper=$2 source=$(realpath "$3")
work=$(mktemp -d --tmpdir "language.XXXXXX")
trap 'rm -rf "$work"' EXIT
program=$work/program
"$wrapper" -O2 -g "$source" -o "$program"

# shellcheck source=tests/support/reports.sh
source "$(dirname "$0")/../support/reports.sh"
report_of_program
expect update " 1  unsafe call of pthread_rwlock_wrlock at .*:$(line_of lock) in "
expect update "hint: pthread_rwlock_wrlock comes from another library"
if said_of update | grep -Eq "malloc|strncpy"; then fail "a safe call is named"; fi
