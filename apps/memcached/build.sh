#!/usr/bin/env bash
# build.sh <folder> <tutti-cc> [build]...: makes these builds of memcached (builds.txt; default: all of them) in
# <folder>/<build>. Each has memcached, and memcached-debug with assertions. Unchanged builds are not made again.
# <build>-asan is that build with AddressSanitizer, only for builds without blocks: GCC refuses -fsanitize=address with
# -fgnu-tm. Exits with status 77 if the source is not available here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
wrapper=$2
shift 2
known=$(grep -oE '^[a-z+-]+' "$here/builds.txt")
(($# > 0)) || mapfile -t known_list <<<"$known"
(($# > 0)) || set -- "${known_list[@]}"

"$here/fetch.sh" "$folder"
folder=$(cd "$folder" && pwd)
root=$(cd "$here/../.." && pwd)
blocks=$root/apps/blocks
inputs=$(cat "$here"/patches/* "$here"/*.h "$here"/tm.c "$blocks"/blocks.* "$here"/{build,convert}.sh "$here"/builds.txt | sha256sum)

make_build() {
    local build=${1%-asan} at=$folder/$1 definition compiler=gcc flags=-D_GNU_SOURCE shim=() optimize="-O2 -g"
    [[ $1 != *-asan ]] || optimize="-O1 -g -fsanitize=address -fno-omit-frame-pointer"
    rm -rf "$at"
    cp -a "$folder/source" "$at"
    "$here/convert.sh" "$build" "$at"
    cd "$at"
    if grep -q "^$build .*volatiles" "$here/builds.txt"; then
        [[ $1 != *-asan ]] || {
            echo "error: GCC compiles no blocks with AddressSanitizer; run $build on the runtime of the preset asan"
            return 1
        }
        definition=$(awk -v build="$build" '$1 == build { print $3 }' "$here/builds.txt")
        # The replacements in tm.h suffice. Without our C library, a program also runs on GCC's libitm, for comparison.
        compiler="$wrapper --no-libc"
        flags+="${definition:+ -D$definition} -I$here -I$root -include $here/tm.h"
        # shellcheck disable=SC2086  # a list of words
        $compiler $optimize -Wall $flags -DHAVE_CONFIG_H -I. -c "$here/tm.c" -o tm.o
        # shellcheck disable=SC2086
        $compiler $optimize -Wall "-I$root" -c "$blocks/blocks.c" -o blocks.o
        shim=(tm.o blocks.o)
        # Hash functions that must be inlined, which GCC refuses with -fgnu-tm. No block calls their insides.
        make CC=gcc CFLAGS="$optimize -pthread" CPPFLAGS="$flags -Wno-attributes" memcached-{hash,murmur3_hash}.o \
            memcached_debug-{hash,murmur3_hash}.o
    fi
    make -j"${TUTTI_JOBS:-2}" memcached memcached-debug CC="$compiler" CFLAGS="$optimize -pthread -Wall -Wno-clobbered" \
        CPPFLAGS="$flags" LDADD= LIBS="-levent ${shim[*]}"
    echo "$inputs" >"$at/inputs"
}

for build in "$@"; do
    grep -qxF -- "${build%-asan}" <<<"$known" || {
        echo "build.sh: there is no build '$build'; there are: ${known//$'\n'/ }" >&2
        exit 2
    }
    [[ ! -e $folder/$build/inputs || $(<"$folder/$build/inputs") != "$inputs" ]] || continue
    echo "building $build"
    # A separate job, because in a list with || the shell would continue after a failure inside.
    (make_build "$build") >"$folder/$build.log" 2>&1 &
    wait $! || {
        grep -E 'error|undefined|convert.sh' "$folder/$build.log" | sort -u | head -n 20 >&2
        echo "build.sh: $build cannot be built, see $folder/$build.log" >&2
        exit 1
    }
done
