# shellcheck shell=bash
# ./dev bench: runs each of the programs of bench/, then makes tables and charts of their results.

bench_programs=(tutti-bench tutti-bench-plain tutti-bench-language tutti-bench-libc tutti-bench-libc-stock)

bench_usage() {
    cat <<'EOF'
usage: ./dev bench [family]... [options]
       ./dev bench policies|deadlines [options]
       ./dev bench growth [options]
       ./dev bench cluster [options]
       ./dev bench preempt [milliseconds]
       ./dev bench serving redis|durability [options]
       ./dev bench engines [rounds] [seconds]

  family                 sets, bank, costs, plain, alone, nesting, nesting-costs, containers, counter, libc, objects
                         (default: all)
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
  --guest <which>        in a guest that counts instructions, with the kernel's part: module, or scheduler
  --out <folder>         where tables, charts and figures go (default: build/bench/policies, build/bench/deadlines)

  growth                 how what an operation costs grows with reads, writes, blocks, threads, elements; 12 minutes
  --quick                less time for each point, no sizes above 1e5; 2 minutes
  --algorithms <a,b>     only these of TUTTI_ALGORITHM; default: the default one
  --curves <a,b>         only these curves, or families of curves
  --largest <n>          no larger sizes, such as 1e4
  --rounds <n>           times that each point is measured (default: 3; quick: 1)
  --milliseconds <n>     for each of them (default: 20; quick: 10)
  --limit <seconds>      a point that takes longer is stopped, and reported so (default: 10; quick: 2)
  --instructions         count the instructions of what grows faster than it should, by valgrind; 5 minutes more
  --out <folder>         where tables, chart and figures go (default: build/bench/growth)

  cluster                simulated clusters of 2 to 1,000 nodes, after figures 6.1 to 6.15 of HyflowCPP
  --quick                fewer points, less virtual time for each
  --calibrate            first run real nodes, take the costs from two of them, and show real beside simulated
  --figures <a,b>        only these, such as 6.1,scale
  --latency <ns>         between nodes; --processors <n> of each node; --seed <n>
  --rounds <n>           of real runs (default: 5)
  --out <folder>         where tables, charts and figures go (default: build/bench/cluster)

  preempt                how soon urgent work starts beside long transactions, by tick source; 20 seconds
  engines                blocks over etcd, PostgreSQL and groups beside clients by hand, and leaders killed; three minutes
  serving redis          the transaction server beside redis-server; two minutes; --help lists options
  serving durability     what its log costs, beside that of redis-server; a minute or two; --help lists options

bench/README.md says how to read the result.
EOF
}

# measure <folder> [arguments]: each program writes <folder>/<program>.json. Fails only if none of the programs has a
# matching benchmark.
measure() {
    local out=$1 program status found=0
    shift
    for program in "${bench_programs[@]}"; do
        status=0
        "build/release/bin/$program" "$@" --benchmark_out="$out/$program.json" >/dev/null || status=$?
        case $status in
            0) found=1 ;;
            3) rm -f "$out/$program.json" ;; # this program has nothing to measure
            *) return "$status" ;;
        esac
    done
    ((found))
}

# bench_apart <folder> <command> <kind> [options]: runs the Python program in <folder>, which measures other programs,
# `programs`, and writes <kind>.json.
bench_apart() {
    local folder=$1 command=$2 kind=$3 out=build/bench/$3 arguments=() program python
    shift 3
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
        step "packages" need "${packages_build[@]}" "${packages_apps[@]}" "${packages_bench[@]}" \
            "${packages_charts[@]}"
        for program in "${programs[@]}"; do
            step "build $program" build_preset release "$program" "${build_options[@]}"
        done
        python=$(with_matplotlib || echo python3)
        rm -rf "$out/unfinished"
        mkdir -p "$out/unfinished"
        step "measure" "$python" -B "$folder" "$command" --out "$out/unfinished" "${arguments[@]}"
    } >&2 # standard output is for the tables
    rm -f "$out"/*.svg "$out/report.txt"
    mv "$out/unfinished/$kind.json" "$out"
    rmdir "$out/unfinished"
    "$python" -B "$folder" report "$out/$kind.json"
    say "tables, charts and figures are in $out" >&2
}

bench_contention() {
    local programs=(tutti-stamp tutti-swarm) build_options=(-DTUTTI_APPS=ON)
    if is_among --guest "$@"; then packages_bench+=("${packages_kernel[@]}" "${packages_scheduler[@]}"); fi
    bench_apart bench/contention "$1" "$@"
}

bench_growth() {
    local programs=(tutti-bench-growth) build_options=(-DTUTTI_BENCH=ON)
    if is_among --instructions "$@"; then packages_bench+=(valgrind); fi
    bench_apart bench/growth measure growth "$@"
}

bench_cluster() {
    local programs=(tutti-bench-cluster) build_options=(-DTUTTI_BENCH=ON -DTUTTI_CLUSTER=ON -DTUTTI_APPS=ON)
    if is_among --calibrate "$@"; then programs+=(tutti-cluster); fi
    packages_bench+=("${packages_cluster[@]}")
    bench_apart bench/cluster measure cluster "$@"
}

bench_serving() {
    steps 2
    {
        step "packages" need "${packages_build[@]}" "${packages_bench[@]}" "${packages_server[@]}" \
            "${packages_redis[@]}"
        step "build release" build_preset release "tutti-command redis-comparison tutti-bench-mix" -DTUTTI_SERVER=ON \
            -DTUTTI_BENCH=ON
    } >&2 # standard output is for the tables
    exec python3 -B "bench/serving/$1.py" --programs build/release/bin "${@:2}"
}

# bench_engines [rounds] [seconds]
bench_engines() {
    local of
    steps 2
    step "packages" need "${packages_build[@]}" "${packages_server[@]}" "${packages_cluster[@]}" "${packages_engines[@]}" libgtest-dev \
        librapidcheck-dev
    step "build release" build_preset release "tutti-bench-engines tutti-command" -DTUTTI_TESTS=ON \
        -DTUTTI_CLUSTER=ON -DTUTTI_SERVER=ON
    export TUTTI_COMMAND=$PWD/build/release/bin/tutti
    for of in "etcd 1" "etcd 32" "postgres 1" "postgres 8" "tutti 1" "tutti3 1" "tutti3 32"; do
        # shellcheck disable=SC2086  # two words
        build/release/bin/tutti-bench-engines $of "$@"
    done
    build/release/bin/tutti-bench-engines fail-over
}

command_bench() {
    if [[ ${1:-} == serving ]] && is_among "${2:-}" redis durability; then
        bench_serving "${@:2}"
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
        " growth "*)
            bench_growth "${@:2}"
            return
            ;;
        " cluster "*)
            bench_cluster "${@:2}"
            return
            ;;
        " engines "*)
            bench_engines "${@:2}"
            return
            ;;
        " preempt "*)
            local build_options=(-DTUTTI_BENCH=ON)
            build_and_run tutti-bench-preempt "${packages_bench[@]}" libfmt-dev -- "${@:2}"
            ;;
    esac
    local out=build/bench list=0 arguments=() for_report=() program python growth=0
    while (($# > 0)); do
        case $1 in
            policies | deadlines | growth | cluster | preempt | engines) die "$1 is measured alone: ./dev bench $1" ;;
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

    # Figures of costs are only useful together with their growth.
    if ((!list && ${#arguments[@]} == 0)) || is_among costs "${arguments[@]}"; then growth=$((!list)); fi

    steps $((list ? 2 : 3 + growth))
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

    # A failed run keeps the figures of an earlier run; a successful one replaces all of them.
    rm -rf "$out/unfinished"
    mkdir -p "$out/unfinished"
    step "measure" measure "$out/unfinished" "${arguments[@]}" >&2
    python=$(with_matplotlib || echo python3)
    if ((growth)); then
        step "growth" "$python" -B bench/growth measure --quick --algorithms default --out "$out/unfinished" >&2
    fi
    rm -f "$out"/tutti-bench*.json "$out/growth.json" "$out"/*.svg "$out/report.txt"
    mv "$out/unfinished"/* "$out"
    rmdir "$out/unfinished"
    for program in "${bench_programs[@]}"; do
        [[ ! -e $out/$program.json ]] || for_report+=("$out/$program.json")
    done
    "$python" -B bench/report/report.py --out "$out" "${for_report[@]}"
    if ((growth)); then
        "$python" -B bench/growth report --summary "$out/growth.json" | tee -a "$out/report.txt"
    fi
    say "tables, charts and figures are in $out" >&2
}
