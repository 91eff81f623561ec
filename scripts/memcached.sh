# shellcheck shell=bash
# ./dev memcached: memcached with its locks replaced by transactions (docs/memcached.md).

memcached_usage() {
    cat <<'EOF'
usage: ./dev memcached build [build]...
       ./dev memcached test [build]...
       ./dev memcached torture [minutes] [build]...
       ./dev memcached bench [options]

  build    fetches Debian's source of memcached 1.6.18, converts and compiles it: all builds, or these of
           apps/memcached/builds.txt; build/memcached/<build>/memcached
  test     memcached's own tests on these builds (default: all), which may fail only what the baseline fails, and
           answers of the server against a model while several clients send commands; histories of keys that clients
           share have to be linearizable, and those of a broken server must not be. <build>-asan is that build with
           AddressSanitizer, where it has locks; those with blocks run under memcheck, too
  torture  such histories while memory is short, slab pages move, the hash table grows and clients are killed; ten
           minutes of each build by default, of baseline and all
  bench    throughput, and processor time of a request, of each build in turns, and of the last one on the system's
           libitm; a table, and the chart of figure 1 (Vyas, Liu, Spear) in build/memcached
       --builds <a,b> --threads <a,b> --sets <a,b> --rounds <n> --seconds <n> --out <folder>
EOF
}

memcached_folder=build/memcached

memcached_programs() {
    step "packages" need "${packages_build[@]}" "${packages_apps[@]}" "${packages_memcached[@]}"
    step "build release" build_preset release "tutti_itm tutti-mc-load tutti-mc-check tutti-mc-linear" -DTUTTI_APPS=ON
    step "memcached" apps/memcached/build.sh "$memcached_folder" "$PWD/build/release/language/tutti-cc" "$@"
}

command_memcached() {
    local what=${1:---help}
    shift || true
    case $what in
        build)
            steps 3
            memcached_programs "$@"
            say "built in $memcached_folder"
            ;;
        test)
            (($# > 0)) || mapfile -t tested < <(grep -oE '^[a-z+-]+' apps/memcached/builds.txt | grep -vx broken)
            (($# > 0)) || set -- "${tested[@]}" baseline-asan copies-asan
            steps 3
            memcached_programs baseline broken "$@"
            exec apps/memcached/test.sh "$memcached_folder" build/release/bin "$@"
            ;;
        torture)
            local minutes=${1:-10}
            shift || true
            [[ $minutes =~ ^[0-9]+$ ]] || die "memcached torture takes whole minutes, not: $minutes"
            (($# > 0)) || set -- baseline all
            steps 3
            memcached_programs "$@"
            exec apps/memcached/torture.sh "$memcached_folder" build/release/bin "$((60 * minutes))" "$@"
            ;;
        bench)
            local python
            steps 4
            {
                step "packages for charts" need "${packages_charts[@]}"
                memcached_programs
            } >&2
            python=$(with_matplotlib) || die "no Python finds the package matplotlib"
            exec "$python" -B apps/memcached/bench.py --folder "$memcached_folder" \
                --load build/release/bin/tutti-mc-load "$@"
            ;;
        -h | --help | help) memcached_usage ;;
        *)
            memcached_usage >&2
            die "memcached does not know '$what'"
            ;;
    esac
}
