#!/usr/bin/env bash
# compile_and_run.sh <libitm source folder> <file below testsuite/> <folder of our runtime> <compiler> <flag>...
# Compiles one of GCC's test programs and runs it on Tutti's runtime; with -c among the flags, only compiles it.
set -euo pipefail
sources=$1 file=$2 runtime=$3 compiler=$4
shift 4
program=$(mktemp --tmpdir "language.XXXXXX")
trap 'rm -f "$program"' EXIT
"$compiler" "$@" -w -fgnu-tm -pthread -I"$sources" "$sources/testsuite/$file" -o "$program"
[[ " $* " == *" -c "* ]] && exit 0
LD_LIBRARY_PATH=$runtime "$program"
