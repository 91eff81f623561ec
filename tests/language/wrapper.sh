#!/usr/bin/env bash
# wrapper.sh <wrapper> <c or c++>: what the compiler wrapper makes runs on our runtime, and what it cannot use it names.
set -euo pipefail
wrapper=$1 language=$2
work=$(mktemp -d --tmpdir "language.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
    printf 'wrapper.sh: %s\n' "$*"
    exit 1
}

cat >"$work/source" <<'END'
#include <stdio.h>
#include <string.h>
#ifdef __cplusplus
extern "C"
#endif
const char *_ITM_libraryVersion(void);
static long count;
int main(void) {
    __transaction_atomic { ++count; }
    puts(_ITM_libraryVersion());
    return count == 1 ? 0 : 1;
}
END
"$wrapper" -x "$language" -O2 -D_FORTIFY_SOURCE=0 -c "$work/source" -o "$work/object.o"
"$wrapper" "$work/object.o" -o "$work/program"
version=$("$work/program")
[[ $version == Tutti* ]] || fail "the program runs on '$version'"

shown=$("$wrapper" --show -c "a file.c")
[[ $shown == *"-fgnu-tm"*"-c a file.c"* ]] || fail "--show printed '$shown'"

status=0
refusal=$(TUTTI_CC=/nonexistent/cc TUTTI_CXX=/nonexistent/cc "$wrapper" -c x.c 2>&1) || status=$?
[[ $status == 2 && $refusal == *"no compiler '/nonexistent/cc'"* ]] || fail "status $status, '$refusal'"
status=0
refusal=$(TUTTI_CC=true TUTTI_CXX=true "$wrapper" -c x.c 2>&1) || status=$?
[[ $status == 2 && $refusal == *"is not GCC"* ]] || fail "status $status, '$refusal'"
# Away from its library it must not have the program linked with GCC's.
cp "$wrapper" "$work/alone"
status=0
refusal=$("$work/alone" "$work/object.o" -o "$work/program" 2>&1) || status=$?
[[ $status == 2 && $refusal == *"no libitm.so"* ]] || fail "status $status, '$refusal'"
