#!/usr/bin/env bash
# sample.sh <memcached's folder in the source> <folder to build in> <tutti-cc> <programs' folder>: checks the build of
# memcached without locks. It compiles and imports no lock functions. It answers correctly while several clients send
# commands, also under memory pressure, and while clients are killed. The test is skipped, with a message, if the source
# or the conversion tool is not available.
set -euo pipefail

programs=$1
folder=$2
wrapper=$3
checkers=$4

skip() {
    printf 'SKIPPED: memcached is not tested: %s\n' "$*" | tee /dev/stderr
    exit 77
}
command -v spatch >/dev/null || skip "there is no spatch (package coccinelle)"
[[ -e /usr/include/event.h ]] || skip "there is no event.h (package libevent-dev)"
command -v perl >/dev/null || skip "there is no perl"

status=0
"$programs/build.sh" "$folder" "$wrapper" all || status=$?
((status != 77)) || skip "Debian's source cannot be fetched here"
((status == 0)) || exit "$status"

if nm -u "$folder/all/memcached" | grep -E 'pthread_(mutex|cond|rwlock|spin)|sem_'; then
    echo "memcached imports locks, which it should not need any more"
    exit 1
fi
TUTTI_MEMCACHED_SAMPLE=1 "$programs/test.sh" "$folder" "$checkers" all
