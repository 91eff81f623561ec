# shellcheck shell=bash
# ./dev lint, and its fast part, which ./dev test also runs.

source_dirs=(include src cli apps tools bench tests examples)
lint_dir=build/lint # never built: precompiled headers of another folder would be missing

# sources <find arguments>: files below the source folders.
sources() {
    local dir present=()
    for dir in "${source_dirs[@]}"; do
        [[ -d $dir ]] && present+=("$dir")
    done
    find "${present[@]}" -type f \( "$@" \) | sort
}

check_format() {
    sources -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' |
        xargs -r clang-format-19 --dry-run -Werror
}

# The formatter does not change comments and strings. Counts characters, so the locale matters.
check_width() {
    local long
    long=$(sources -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' |
        LC_ALL=C.UTF-8 xargs -r grep -nE '^.{121,}') || return 0
    printf '%s\n' "$long"
    return 1
}

check_scripts() {
    shellcheck -x -a dev .ci/run scripts/debian_source.sh && sources -name '*.sh' | xargs -r shellcheck -x
}

check_spelling() {
    local path present=()
    for path in "${source_dirs[@]}" kernel docs cmake scripts .ci README.md CONTRIBUTING.md dev; do
        [[ -e $path ]] && present+=("$path")
    done
    codespell "${present[@]}"
}

check_man_pages() {
    local page bad=0
    for page in docs/man/*.[1-9]; do
        [[ -e $page ]] || continue
        mandoc -T lint -W warning "$page" || bad=1
    done
    return "$bad"
}

check_links() {
    python3 scripts/links.py
}

# The rules of docs/internals/style.md that a pattern can find, and the width of documents.
check_prose() {
    python3 scripts/prose.py
}

# proselint knows phrases of bad English. It is maintained, is in Debian, and has a Python parser alone behind it, where
# textlint brings some hundred packages. It takes minutes, so the static checks of ./dev test leave it out.
check_english() {
    XDG_CONFIG_HOME=$PWD/scripts proselint docs/*.md docs/*/*.md bench/results/*.md bench/results/*/*.md README.md CONTRIBUTING.md CHANGELOG.md
}

# Runs all checks, so that one run shows everything to fix.
static_checks() {
    local check bad=0
    for check in check_format check_width check_scripts check_spelling check_man_pages check_links check_prose; do
        say "-- ${check//_/ }"
        "$check" || bad=1
    done
    return "$bad"
}

# Prints the translation units for clang-tidy: all of them, or those that differ from the last commit. A changed header
# adds the units that include it by name.
tidy_units() {
    local all changed
    all=$(sed -n 's|^ *"file": "\(.*\)",\{0,1\}$|\1|p' "$lint_dir/compile_commands.json" | sort -u)
    if [[ ${1:-} == --all ]] || ! git rev-parse -q --verify HEAD >/dev/null; then
        printf '%s\n' "$all"
        return
    fi
    changed=$( (git diff --name-only HEAD && git ls-files --others --exclude-standard) | grep -E '\.(hpp|h|cpp|c)$') ||
        return 0
    local file
    for file in $changed; do
        case $file in
            *.cpp | *.c) printf '%s\n' "$all" | grep -F "/$file" || true ;;
            *) printf '%s\n' "$all" | xargs -r grep -l -F "${file##*/}" || true ;;
        esac
    done | sort -u
}

tidy() {
    local units
    units=$(tidy_units "$@")
    if [[ -z $units ]]; then
        say "nothing has changed"
        return 0
    fi
    printf '%s\n' "$units" |
        xargs -P "$jobs" -n 1 clang-tidy-19 -p "$lint_dir" --quiet --warnings-as-errors='*' 2>&1 |
        { grep -v 'warnings\? generated\.$' || true; }
}

command_lint() {
    [[ $# == 0 || $* == --all ]] || die "lint takes --all or nothing, not: $*"
    local bad=0
    steps 5
    step "packages" need "${packages_build[@]}" "${packages_test[@]}" "${packages_bench[@]}" "${packages_clang[@]}" \
        "${packages_check[@]}" clang-tidy-19 python3-proselint
    try_step "static checks" static_checks || bad=1
    try_step "English of documents" check_english || bad=1
    step "configure clang" cmake --preset clang -B "$lint_dir" -DTUTTI_TESTS=ON -DTUTTI_APPS=ON -DTUTTI_SERVER=ON \
        -DTUTTI_BENCH=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
    try_step "clang-tidy" tidy "$@" || bad=1
    if ((bad)); then
        say "lint: something is to be mended, see above"
        exit 1
    fi
    say "lint: clean"
}
