# shellcheck shell=bash
# ./dev lbzip2: a second program with its locks replaced by transactions (docs/converting-locks.md).

lbzip2_usage() {
    cat <<'EOF'
usage: ./dev lbzip2 build
       ./dev lbzip2 test [rounds]

  build  fetches Debian's source of lbzip2 2.5, converts and compiles it: build/lbzip2/baseline has its locks,
         build/lbzip2/blocks has transactions
  test   both write the same, for files that are sound, cut and damaged, and one to nine threads
EOF
}

lbzip2_folder=build/lbzip2

lbzip2_programs() {
    step "packages" need "${packages_build[@]}" "${packages_memcached[@]}"
    step "build release" build_preset release tutti_itm
    step "lbzip2" apps/lbzip2/build.sh "$lbzip2_folder" "$PWD/build/release/language/tutti-cc"
}

command_lbzip2() {
    local what=${1:---help}
    shift || true
    case $what in
        build)
            steps 3
            lbzip2_programs
            say "built in $lbzip2_folder"
            ;;
        test)
            [[ ${1:-1} =~ ^[0-9]+$ ]] || die "lbzip2 test takes a number of rounds, not: $1"
            steps 3
            lbzip2_programs
            exec apps/lbzip2/test.sh "$lbzip2_folder" "${1:-1}"
            ;;
        -h | --help | help) lbzip2_usage ;;
        *)
            lbzip2_usage >&2
            die "lbzip2 does not know '$what'"
            ;;
    esac
}
