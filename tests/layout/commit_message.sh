#!/usr/bin/env bash
# commit_message.sh <source folder>: checks that the check of commit messages accepts good messages and refuses bad
# ones.
set -euo pipefail
check=$1/scripts/commit_message.sh
message=$(mktemp)
trap 'rm -f "$message"' EXIT
body=$'\n\nOperators could not tell the two apart.'

takes() {
    printf '%s\n' "$1" >"$message"
    "$check" "$message" || { printf 'refused: %s\n' "$1" && exit 1; }
}

# refuses <expected words> <message>
refuses() {
    printf '%s\n' "$2" >"$message"
    if output=$("$check" "$message" 2>&1); then
        printf 'not refused: %s\n' "$2"
        exit 1
    fi
    [[ $output == *"$1"* ]] || { printf 'expected "%s", got: %s\n' "$1" "$output" && exit 1; }
}

takes "Refuse an empty table of users$body"
takes "Refuse an empty table of users$body"$'\n# Please enter the commit message'
takes "Feed the parser one byte at a time$body"
takes "$(printf 'Name the %063d' 0)$body"
takes "Merge branch 'main'"
refuses "at most 72" "$(printf 'Name the %064d' 0)$body"
refuses "empty" ""
refuses "capital letter" "refuse an empty table of users$body"
refuses "full stop" "Refuse an empty table of users.$body"
refuses "does not say what changes" "Width$body"
refuses "imperative" "Refused an empty table of users$body"
refuses "imperative" "Refusing an empty table of users$body"
refuses "not a description" "Wip on tables of users$body"
refuses "second line" $'Refuse an empty table of users\nbecause it lets everybody in'
refuses "no body" "Refuse an empty table of users"
