#!/usr/bin/env bash
# locales.sh <program>...: runs the programs with Swedish collation and letters, which differ from the byte order, in a
# one-byte encoding and in UTF-8. The script builds the locales if the system has their definitions.
set -euo pipefail
if [[ ! -e /usr/share/i18n/locales/sv_SE ]]; then
    echo "SKIPPED: strings in other locales are not tested: no definition of sv_SE (package locales)" | tee /dev/stderr
    exit 77
fi
work=$(mktemp -d --tmpdir "libc.XXXXXX")
trap 'rm -rf "$work"' EXIT
export LOCPATH=$work
for charmap in ISO-8859-1 UTF-8; do
    localedef -i sv_SE -f "$charmap" "$work/sv_SE.$charmap"
    for program in "$@"; do
        TUTTI_TEST_LOCALE=sv_SE.$charmap "$program" || {
            echo "in sv_SE.$charmap: $program"
            exit 1
        }
    done
done
