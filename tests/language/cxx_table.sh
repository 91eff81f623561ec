#!/usr/bin/env bash
# cxx_table.sh <tutti-c++> <language.md> [--write]: checks the document's table about C++ in atomic blocks. Compiles and
# runs each row of cxx_rows.txt. With --write, writes the table anew.
#
# A row consists of a line "= what", lines of declarations, and a line "> statements of a block". The declarations may
# use the int `n`. The answers, for -O0 and -O2:
#
#   yes       the block runs beside others, and can be cancelled after the statements
#   alone     it compiles, and makes the block run alone
#   refused   GCC considers it unsafe
#   ICE       GCC ends with an internal error
#
# The check compiles the rows that the table calls "yes" or "alone" as one program. It compiles the others one by one.
set -euo pipefail
wrapper=$1 document=$2 mode=${3-}
rows=$(dirname "$0")/cxx_rows.txt
work=$(mktemp -d --tmpdir "language.XXXXXX")
trap 'rm -rf "$work"' EXIT
begin='<!-- cxx_table.sh writes this table. -->' end='<!-- The table ends here. -->'
levels=(-O0 -O2)

names=() includes=() declarations=() blocks=()
while IFS= read -r line; do
    last=$((${#names[@]} - 1))
    case $line in
        '= '*) names+=("${line#= }") includes+=('') declarations+=('') blocks+=('') ;;
        '> '*) blocks[last]=${line#> } ;;
        '#include'*) includes[last]+=$line$'\n' ;;
        *) ((last < 0)) || declarations[last]+=$line$'\n' ;;
    esac
done <"$rows"

# source_of <row>...: prints a program that runs each of these rows once and prints "<row> <answer>".
source_of() {
    local row
    echo '#define _GLIBCXX_ASSERTIONS 1'
    for row in "$@"; do printf '%s' "${includes[row]}"; done
    cat <<'END'
extern "C" int printf(const char*, ...);
#include <thread>
extern "C" [[gnu::transaction_pure]] unsigned in_transaction() __asm__("_ITM_inTransaction");
int n = 1;
bool cancels = false;
unsigned state = 0;
[[gnu::transaction_pure, gnu::noinline]] void look() { state = in_transaction(); }
END
    for row in "$@"; do
        printf 'namespace row_%d {\n%s' "$row" "${declarations[row]}"
        printf '[[gnu::noinline]] void run() {\n__transaction_atomic {\n{ %s }\nlook();\nif (cancels) __transaction_cancel;\n}\n}\n}\n' \
            "${blocks[row]}"
    done
    # Two threads begin blocks, so blocks of one thread do not run without barriers. The first run may initialise.
    echo 'int begun = 0;'
    echo 'void begin() { __transaction_atomic { ++begun; } }'
    echo 'int main() { begin(); std::thread{begin}.join();'
    for row in "$@"; do
        printf 'row_%d::run(); printf("%%d %%s\\n", %d, state == 1 ? "yes" : "alone");\n' "$row" "$row"
    done
    echo '}'
}

# answers <level> <row>...: prints "<row> <answer>" for each row, from one program.
answers() {
    local level=$1 status=0
    shift
    source_of "$@" >"$work/source.cpp"
    # In that pass, the addresses of GCC 12's own memory decide whether it crashes for a function.
    "$wrapper" -std=c++23 "$level" -w -fdisable-tree-tmmemopt "$work/source.cpp" -o "$work/program" >"$work/log" 2>&1 || status=$?
    if ((status == 0)); then
        TUTTI_HARDWARE=off "$work/program"
    elif grep -q 'internal compiler error' "$work/log"; then
        printf '%s ICE\n' "$@"
    elif grep -q 'unsafe' "$work/log"; then
        printf '%s refused\n' "$@"
    else
        cat "$work/log" >&2
        printf '%s broken\n' "$@"
    fi
}

line_of() { printf '| %s | %s | %s |\n' "$1" "$2" "$3"; }

# Prints the lines of the table, one row after another.
write_table() {
    local row level found
    for row in "${!names[@]}"; do
        found=()
        for level in "${levels[@]}"; do found+=("$(answers "$level" "$row" | cut -d' ' -f2)"); done
        line_of "${names[row]}" "${found[@]}"
    done
}

if [[ $mode == --write ]]; then
    {
        sed "/^$begin\$/q" "$document"
        printf '\n| in an atomic block | -O0 | -O2 |\n| --- | --- | --- |\n'
        write_table
        printf '\n'
        sed -n "/^$end\$/,\$p" "$document"
    } >"$work/document"
    cp "$work/document" "$document"
    exit 0
fi

sed -n "/^$begin\$/,/^$end\$/p" "$document" | grep '^| ' | tail -n +3 >"$work/table" || true
wrong=0
complain() {
    printf 'cxx_table.sh: %s\n' "$*"
    wrong=1
}
[[ $(wc -l <"$work/table") == "${#names[@]}" ]] || complain "the table has other rows than $rows"
row=0
stated=()
while IFS= read -r line; do
    rest=${line#"| ${names[row]} | "}
    [[ $rest != "$line" ]] || complain "the table's row '$line' should be '${names[row]}'"
    stated+=("$rest")
    row=$((row + 1))
done <"$work/table"
for at in "${!levels[@]}"; do
    level=${levels[at]} together=() apart=()
    for row in "${!stated[@]}"; do
        read -r first _ second _ <<<"${stated[row]}"
        said=$first
        [[ $at == 0 ]] || said=$second
        if [[ $said == yes || $said == alone ]]; then together+=("$row"); else apart+=("$row"); fi
        printf '%s %s\n' "$row" "$said" >>"$work/said$level"
    done
    {
        answers "$level" "${together[@]}"
        for row in "${apart[@]}"; do answers "$level" "$row"; done
    } | sort -n >"$work/found$level"
    if ! diff "$work/said$level" "$work/found$level" >"$work/difference"; then
        complain "at $level the table says (<) what is not so (>), by numbers of rows:"
        cat "$work/difference"
    fi
done
((wrong == 0)) || echo "if the new answers are right: $0 $wrapper $document --write"
exit "$wrong"
