#!/usr/bin/env bash
# Checks a commit message as CONTRIBUTING.md asks. `./dev hooks` installs this file as Git's commit-msg hook.
#
# usage: commit_message.sh FILE    FILE holds the message; lines that start with # are Git's comments
set -euo pipefail

max_subject=72
bad=0

refuse() {
    printf 'commit message: %s\n' "$1" >&2
    bad=1
}

mapfile -t lines < <(sed '/^# -* >8 -*$/,$d; /^#/d' "$1")
subject=${lines[0]:-}
first_word=${subject%% *}

case $subject in
    'Merge '* | 'Revert "'*) exit 0 ;; # Git writes these
esac
[[ -n $subject ]] || refuse "the first line is empty: write what the change does"
((${#subject} <= max_subject)) || refuse "the subject has ${#subject} characters, at most $max_subject are allowed"
[[ $subject =~ ^[A-Z] ]] || refuse "the subject starts with '${subject:0:1}': start with a capital letter"
[[ $subject != *. ]] || refuse "the subject ends with a full stop: leave it out"
[[ $subject == *' '*' '* ]] || refuse "the subject '$subject' does not say what changes: write a sentence"
[[ ! $first_word =~ ^[A-Z][a-z]+(ed|ing)$ || $first_word =~ ^(Embed|Exceed|Feed|Need|Proceed|Speed|Succeed|Shed|Bring|Ring)$ ]] ||
    refuse "the subject starts with '$first_word': use the imperative, such as 'Add' or 'Refuse'"
[[ ! ${subject,,} =~ ^(wip|fixup|squash|tmp|misc)([^a-z]|$) ]] || refuse "'$first_word' is not a description"
[[ -z ${lines[1]:-} ]] || refuse "the second line is not empty: a blank line ends the subject"
printf '%s\n' "${lines[@]:2}" | grep -q '[^[:space:]]' || refuse "there is no body: say why the change is needed"
exit "$bad"
