#!/usr/bin/env bash
# compile.sh <wrapper> <flag>...: compiles program.c by a wrapper with these flags, runs the program, and checks its
# output. With --no-libc the compilation must fail.
set -euo pipefail
source=$(dirname "$0")/program.c wrapper=$1
shift
work=$(mktemp -d --tmpdir "libc.XXXXXX")
trap 'rm -rf "$work"' EXIT

status=0
"$wrapper" "$@" "$source" -o "$work/program" >"$work/log" 2>&1 || status=$?
if [[ " $* " == *" --no-libc "* ]]; then
    grep -q "unsafe function call" "$work/log" && ((status != 0)) && exit 0
    echo "it compiled without the clones, or failed otherwise:"
    cat "$work/log"
    exit 1
fi
cat "$work/log"
((status == 0)) || exit 1
"$work/program" "$work/file" >"$work/output"
diff - "$work/output" <<'END'


0: kept
2: kept
through a pointer
END
