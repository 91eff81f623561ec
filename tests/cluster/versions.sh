#!/usr/bin/env bash
# versions.sh <program> <later program>: runs one cluster of both (versions_program.cpp). Fails if either fails.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
addresses=("unix:$folder/0" "unix:$folder/1")
"$1" 0 "${addresses[@]}" &
first=$!
"$2" 1 "${addresses[@]}" || {
    kill "$first" 2>/dev/null || true
    exit 1
}
wait "$first"
