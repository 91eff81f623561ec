# For tests of programs that run in the background; to be sourced. $folder is the test's own folder, and `pids` contains
# the started processes. Both are removed at the end. The output of a program goes into $folder/said*.
#
# shellcheck shell=bash
folder=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT

fail() {
    printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2
    tail -n 5 "$folder"/said* >&2 || true
    exit 1
}
# until_in <file> <text>: waits until the file contains the text.
until_in() {
    for ((i = 0; i < 600; ++i)); do
        ! grep -sqF -- "$2" "$folder/$1" || return 0
        sleep 0.05
    done
    fail "'$2' is not in $1"
}
