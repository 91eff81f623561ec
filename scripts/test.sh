# shellcheck shell=bash
# ./dev test: builds and tests every preset, even if an earlier one failed; then a table shows the results.
#
# shellcheck source=scripts/lint.sh
source scripts/lint.sh

passed=0
failed=0
closing_lines=()
failures=()

# record <name> <passed> <failed> <seconds> <closing line>
record() {
    passed=$((passed + $2))
    failed=$((failed + $3))
    closing_lines+=("$(printf '%-14s %7d passed %5d failed %6d s   %s' "$@")")
}

# check_step <title> <command>...: runs a step that counts as one test.
check_step() {
    if try_step "$@"; then
        record "$1" 1 0 "$step_seconds" ""
    else
        record "$1" 0 1 "$step_seconds" "see $step_log"
    fi
}

# failed_tests <log>: prints the output of the failed tests, and their names; the end of the log if no test failed.
failed_tests() {
    if ! grep -q '^The following tests FAILED:' "$1"; then
        last_lines "$1"
        return
    fi
    # Prints the name and the last lines of each failed test. The last lines describe the failure.
    awk 'function show() {
             if (failed) for (i = kept > 60 ? kept - 60 : 0; i < kept; ++i) print lines[i]
             failed = kept = 0
         }
         /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / { show(); failed = /\*\*\*/ && !/\*\*\*Skipped/; if (failed) print; next }
         /^ +Start +[0-9]+: /               { show(); next }
         /^[0-9]+% tests passed/            { show(); exit }
         failed                             { lines[kept++] = $0 }' "$1"
    sed -n '/^The following tests FAILED:/,$p' "$1"
}

# errors <build log>: prints the lines with errors, without the command lines of compilers.
errors() { grep -E '(^FAILED: |error: |undefined reference to |ninja: error)' "$1" | cut -c 1-300; }

# failed_build <log>: prints the end, and then the errors, which may be far above because of parallel jobs.
failed_build() {
    last_lines "$1"
    errors "$1" | head -n 40 || true
}

# Runs two cases for each processor: tests of servers, nodes and groups spend four fifths of their time waiting for
# sockets and timeouts.
run_ctest() {
    local preset=$1
    shift
    ctest --preset "$preset" -j $((2 * jobs)) "$@"
}

# test_preset <preset> [ctest arguments]
test_preset() {
    local preset=$1 build_seconds status=0 closing name total=0 bad=0 wanted=all
    local bench=OFF server=ON cluster=ON examples=ON folders=
    shift
    [[ $preset != release ]] || bench=ON # one preset is enough to check that it compiles
    # asan asserts the same invariants, except in the parts that sanitizers cannot build.
    if ((everything)) && [[ $preset == check ]]; then
        server=OFF cluster=OFF examples=OFF folders='language;stamp' wanted='tests/all tutti-stamp'
    fi
    if ! excerpt_of=failed_build try_step "$preset: build" build_preset "$preset" "$wanted" -DTUTTI_TESTS=ON \
        -DTUTTI_APPS=ON "-DTUTTI_SERVER=$server" "-DTUTTI_CLUSTER=$cluster" "-DTUTTI_BENCH=$bench" \
        "-DTUTTI_EXAMPLES=$examples" "-DTUTTI_TEST_FOLDERS=$folders"; then
        record "$preset" 0 1 "$step_seconds" "does not build; see $step_log"
        failures+=("$preset: build: $(errors "$step_log" | grep -m 1 -v '^FAILED: ' || true)")
        step_number=$((step_number + 1))
        return
    fi
    build_seconds=$step_seconds
    excerpt_of=failed_tests try_step "$preset: tests" run_ctest "$preset" "$@" || status=$?
    closing=$(grep -E '^[0-9]+% tests passed, ' "$step_log" | tail -n 1) || true
    if [[ $closing =~ ,\ ([0-9]+)\ tests\ failed\ out\ of\ ([0-9]+) ]]; then
        bad=${BASH_REMATCH[1]}
        total=${BASH_REMATCH[2]}
        say "    $closing"
        while read -r _ _ name _; do
            failures+=("$preset: $name")
        done < <(sed -n '/^The following tests FAILED:/,/^$/{/ - /p}' "$step_log")
    fi
    # ctest can fail without a failed test: it found no test, or a test program could not list its cases.
    if ((status != 0 && bad == 0)); then
        bad=1
        total=$((total + 1))
        closing="ctest failed; see $step_log"
    fi
    record "$preset" $((total - bad)) "$bad" $((build_seconds + step_seconds)) "$closing"
}

command_test() {
    local presets=() arguments=() label='' everything=0
    while (($# > 0)); do
        case $1 in
            --quick | --mutations) label=${1#--} ;;
            --preset)
                is_among "${2:-}" "${presets_test[@]}" || die "--preset needs one of: ${presets_test[*]}"
                presets+=("$2")
                shift
                ;;
            *) arguments+=("$1") ;;
        esac
        shift
    done
    if [[ -n $label ]]; then
        arguments+=(-L "^$label$")
        ((${#presets[@]} > 0)) || presets=(release)
    elif ((${#presets[@]} == 0)); then
        everything=1
        presets=("${presets_everything[@]}")
    fi
    # A filter may exclude all tests of a preset. That is an error only if it excludes all tests of all presets.
    ((${#arguments[@]} == 0)) || arguments+=(--no-tests=ignore)

    local preset packages=("${packages_build[@]}" "${packages_test[@]}" "${packages_bench[@]}")
    for preset in "${presets[@]}"; do
        # shellcheck disable=SC2207  # a list of words
        packages+=($(preset_packages "$preset"))
    done
    if ((everything)); then
        # shellcheck disable=SC2207  # a list of words
        packages+=("${packages_check[@]}" $(preset_packages clang) $(preset_packages aarch64))
        steps $((2 * ${#presets[@]} + 4))
    else
        steps $((2 * ${#presets[@]} + 1))
    fi

    if ! try_step "packages" need "${packages[@]}"; then
        say "0 passed, 1 failed"
        exit 1
    fi
    if ((everything)); then
        check_step "static checks" static_checks
    fi
    for preset in "${presets[@]}"; do
        test_preset "$preset" "${arguments[@]}"
    done
    if ((everything)); then
        # Checks that other compilers accept the code. clang compiles each file separately, which shows missing
        # includes.
        check_step "clang: build" build_preset clang all -DTUTTI_TESTS=OFF -DTUTTI_APPS=OFF -DTUTTI_SERVER=OFF \
            -DTUTTI_CLUSTER=OFF -DTUTTI_BENCH=OFF
        check_step "aarch64: build" build_preset aarch64 all -DTUTTI_BENCH=OFF
    fi

    say "" "" | sed 's/^ *$//'
    printf '%s\n' "${closing_lines[@]}"
    ((${#failures[@]} == 0)) || printf 'failed: %s\n' "${failures[@]}"
    say "took $SECONDS s; logs are in $log_dir"
    if ((passed + failed == 0)); then
        failed=1
        say "no test was run"
    fi
    say "$passed passed, $failed failed"
    ((failed == 0))
}
