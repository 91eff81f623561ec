#!/usr/bin/env bash
# prose.sh <source folder>: the check of comments and documents takes plain sentences and refuses others.
set -euo pipefail
check=$1/scripts/prose.py
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
git init -q .
mkdir docs src
printf '## Words with a better synonym\n\n| avoid | write |\n| --- | --- |\n| time-out | timeout |\n' >docs/glossary.md

# comments <sentence> <times>: a source file with twenty plain comments and this one, so many times.
comments() {
    local i
    : >src/some.cpp
    for ((i = 0; i < 20; ++i)); do printf '// The reader waits until the writer has left.\nint a%d;\n' "$i"; done >>src/some.cpp
    for ((i = 0; i < $2; ++i)); do printf '// %s\nint b%d;\n' "$1" "$i"; done >>src/some.cpp
}

takes() {
    local output
    output=$(python3 "$check") || { printf 'refused %s: %s\n' "$1" "$output" && exit 1; }
}

# refuses <expected words>
refuses() {
    local output
    if output=$(python3 "$check"); then
        printf 'not refused, although "%s"\n' "$1"
        exit 1
    fi
    [[ $output == *"$1"* ]] || { printf 'expected "%s", got: %s\n' "$1" "$output" && exit 1; }
}

comments 'Whoever meets the lock here gives way to others.' 2
takes 'a tenth of the comments'
comments 'Whoever meets the lock here gives way to others.' 3
refuses 'name the actor'
comments "$(printf 'word %.0s' {1..31})" 3
refuses '31 words'
comments 'The time-out ends the wait of the reader.' 1
refuses "write 'timeout'"
comments 'The timeout ends the wait of the reader.' 3
takes 'plain sentences'

printf '%s\n' "The server $(printf 'waits and %.0s' {1..10})ends." >docs/page.md
refuses 'wrap the line'
printf '| %s |\n' "$(printf 'cell %.0s' {1..30})" >docs/page.md
takes 'a wide table'
