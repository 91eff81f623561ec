# shellcheck shell=bash
# ./dev bench: measures with each of the programs of bench/, then makes tables and charts of what they wrote.

bench_programs=(tutti-bench tutti-bench-plain tutti-bench-language)

bench_usage() {
    cat <<'EOF'
usage: ./dev bench [family]... [options]
       ./dev bench policies|deadlines [options]
       ./dev bench preempt [milliseconds]
       ./dev bench serving redis [options]

  family                 sets, bank, costs, plain, nesting, nesting-costs, containers, counter (default: all)
  --quick                fewer and shorter rounds, for a first look
  --workload <a,b>       only these workloads
  --engine <a,b>         only these engines, such as tutti,libitm
  --threads <a,b>        numbers of threads (default: 1,2,8)
  --round-ms <n>         length of a round (default: 60; quick: 20)
  --repetitions <n>      rounds of each case (default: 5; quick: 3)
  --list                 show what can be measured, as family/workload/engine
  --best                 report the best round of each case instead of the median
  --out <folder>         where tables, charts and figures go (default: build/bench)
  --benchmark_...        options of Google Benchmark

  policies               programs after STAMP under each contention manager; about 25 minutes
  deadlines              Swarm's frames and their deadlines, in each mode, and lengths of blocks; 8 minutes
  --quick                smaller, one round; policies: 1 and 8 threads
  --full                 programs of their usual sizes, otherwise of a third of that; policies: over an hour
  --rounds <n>           runs of each case (default: 3)
  --threads <a,b>        numbers of threads (default: 1,2,4,8,16; deadlines: 1,2,4)
  --policies <a,b>       only these policies
  --programs <a,b>       only these programs; deadlines: those whose blocks are timed
  --modes <a,b>          deadlines: only these modes of the snapshot
  --seconds <n>          deadlines: length of a run (default: 5)
  --limit <seconds>      a run that takes longer is stopped, and reported so (default: 20)
  --out <folder>         where tables, charts and figures go (default: build/bench/policies, build/bench/deadlines)

  preempt                how soon urgent work starts beside long transactions, by tick source; 20 seconds
  serving redis          the transaction server beside redis-server; two minutes; --help lists options

bench/README.md says how to read the result.
EOF
}

# measure <folder> [arguments]: each program writes <folder>/<program>.json. It is an error only if none of them has
# what was asked for.
measure() {
    local out=$1 program status found=0
    shift
    for program in "${bench_programs[@]}"; do
        status=0
        "build/release/bin/$program" "$@" --benchmark_out="$out/$program.json" >/dev/null || status=$?
        case $status in
            0) found=1 ;;
            3) rm -f "$out/$program.json" ;; # nothing to measure
            *) return "$status" ;;
        esac
    done
    ((found))
}

# bench_contention policies|deadlines [options]
bench_contention() {
    local kind=$1 out=build/bench/$1 arguments=() programs=(tutti-stamp tutti-swarm) program python
    shift
    while (($# > 0)); do
        case $1 in
            --out)
                out=${2:-}
                [[ -n $out ]] || die "--out needs a folder"
                shift
                ;;
            *) arguments+=("$1") ;;
        esac
        shift
    done

    steps $((2 + ${#programs[@]}))
    {
        step "packages" need "${packages_build[@]}" "${packages_apps[@]}" "${packages_charts[@]}"
        for program in "${programs[@]}"; do
            step "build $program" build_preset release "$program" -DTUTTI_APPS=ON
        done
        python=$(with_matplotlib || echo python3)
        rm -rf "$out/unfinished"
        mkdir -p "$out/unfinished"
        step "measure" "$python" -B bench/contention "$kind" --out "$out/unfinished" "${arguments[@]}"
    } >&2 # standard output is for the tables
    rm -f "$out"/*.svg "$out/report.txt"
    mv "$out/unfinished/$kind.json" "$out"
    rmdir "$out/unfinished"
    "$python" -B bench/contention report "$out/$kind.json"
    say "tables, charts and figures are in $out" >&2
}

bench_serving() {
    steps 2
    {
        step "packages" need "${packages_build[@]}" "${packages_bench[@]}" "${packages_server[@]}" \
            "${packages_redis[@]}"
        step "build release" build_preset release "tutti-command redis-comparison tutti-bench-mix" -DTUTTI_SERVER=ON \
            -DTUTTI_BENCH=ON
    } >&2 # standard output is for the tables
    exec python3 -B bench/serving/redis.py --programs build/release/bin "$@"
}

command_bench() {
    if [[ "${1:-} ${2:-}" == "serving redis" ]]; then
        shift 2
        bench_serving "$@"
    fi
    case " $* " in
        *" --help "* | *" -h "*)
            bench_usage
            return
            ;;
        " policies "* | " deadlines "*)
            bench_contention "$@"
            return
            ;;
        " preempt "*)
            local build_options=(-DTUTTI_BENCH=ON)
            build_and_run tutti-bench-preempt "${packages_bench[@]}" libfmt-dev -- "${@:2}"
            ;;
    esac
    local out=build/bench list=0 arguments=() for_report=() program
    while (($# > 0)); do
        case $1 in
            policies | deadlines | preempt) die "$1 is measured alone: ./dev bench $1" ;;
            --out)
                out=${2:-}
                [[ -n $out ]] || die "--out needs a folder"
                shift
                ;;
            --best) for_report+=(--best) ;;
            --list) list=1 ;;
            *) arguments+=("$1") ;;
        esac
        shift
    done

    steps $((list ? 2 : 3))
    {
        step "packages" need "${packages_build[@]}" "${packages_bench[@]}" "${packages_charts[@]}"
        step "build release" build_preset release benchmarks -DTUTTI_BENCH=ON
    } >&2 # standard output is for the tables
    if ((list)); then
        for program in "${bench_programs[@]}"; do
            "build/release/bin/$program" --list "${arguments[@]}"
        done
        return
    fi

    # A run that fails leaves the figures of an earlier one alone; one that succeeds leaves nothing of them.
    rm -rf "$out/unfinished"
    mkdir -p "$out/unfinished"
    step "measure" measure "$out/unfinished" "${arguments[@]}" >&2
    rm -f "$out"/tutti-bench*.json "$out"/*.svg "$out/report.txt"
    mv "$out/unfinished"/* "$out"
    rmdir "$out/unfinished"
    for program in "${bench_programs[@]}"; do
        [[ ! -e $out/$program.json ]] || for_report+=("$out/$program.json")
    done
    "$(with_matplotlib || echo python3)" -B bench/report/report.py --out "$out" "${for_report[@]}"
    say "tables, charts and figures are in $out" >&2
}
