#!/usr/bin/env bash
# compile_examples.sh <manual page> <compiler> [<flag>...]: compiles the code under EXAMPLES.
#
# One example may contain declarations and statements. A paragraph that begins with a declaration is compiled as
# declarations, and all other paragraphs go into a function. assumed.h has the declarations that the examples of each
# page assume.
set -euo pipefail

page=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the text between .Bd and .Ed as a reader sees it: \e is a backslash.
awk '/^\.Sh /      { examples = /EXAMPLES/ }
     /^\.Ed/       { code = 0 }
     examples && code
     /^\.Bd /      { code = 1 }' "$page" | sed 's/\\e/\\/g' >"$work/code"
[[ -s $work/code ]] || {
    echo "$page has no example"
    exit 1
}

name=$(basename "$page")
{
    printf '#define %s 1\n#include "assumed.h"\n' "PAGE_${name%.*}"
    awk -v RS= '/^(static|extern|struct|#include|int main)/ { print $0 "\n" }' "$work/code"
    echo 'void example(void); void example(void) {'
    awk -v RS= '!/^(static|extern|struct|#include|int main)/ { print $0 "\n" }' "$work/code"
    echo '}'
} >"$work/example.c"
"$@" -I"$(dirname "$0")" "$work/example.c" || {
    cat -n "$work/example.c"
    exit 1
}
