#!/usr/bin/env bash
# compile_and_run.sh <libitm source folder> <file below testsuite/> <folder of our runtime> <compiler> <flag>...
# Compiles one program of GCC's and runs it on our runtime; with -c among the flags it is only compiled.
set -euo pipefail
sources=$1 file=$2 runtime=$3 compiler=$4
shift 4
program=$(mktemp --tmpdir "language.XXXXXX")
trap 'rm -f "$program"' EXIT
"$compiler" "$@" -w -fgnu-tm -pthread -I"$sources" "$sources/testsuite/$file" -o "$program"
[[ " $* " == *" -c "* ]] && exit 0
LD_LIBRARY_PATH=$runtime "$program"
