#!/usr/bin/env bash
# sample.sh <lbzip2's folder in the source> <folder to build in> <tutti-cc>: checks that the conversion compiles,
# imports no lock functions, and behaves as the original. The test is skipped, with a message, if the source or the
# conversion tool is not available.
set -euo pipefail

programs=$1
folder=$2
wrapper=$3

skip() {
    printf 'SKIPPED: lbzip2 is not tested: %s\n' "$*" | tee /dev/stderr
    exit 77
}
command -v spatch >/dev/null || skip "there is no spatch (package coccinelle)"
command -v perl >/dev/null || skip "there is no perl"

status=0
"$programs/build.sh" "$folder" "$wrapper" || status=$?
((status != 77)) || skip "Debian's source cannot be fetched here"
((status == 0)) || exit "$status"

if nm -u "$folder/blocks/src/lbzip2" | grep -E 'pthread_(mutex|cond|rwlock|spin)|sem_'; then
    echo "lbzip2 imports locks, which it should not need any more"
    exit 1
fi
"$programs/test.sh" "$folder"
