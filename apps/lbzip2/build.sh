#!/usr/bin/env bash
# build.sh <folder> <tutti-cc>: builds two versions of lbzip2 in <folder>: the original (baseline/src/lbzip2), and one
# with blocks in place of its locks (blocks/src/lbzip2). Unchanged parts are not built again. Exits with status 77 if
# the source is not available here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
shared=$root/apps/blocks
folder=$1
wrapper=$2
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
inputs=$(cat "$here"/patches/* "$here"/*.[ch] "$here"/*.sh "$shared"/blocks.* | sha256sum)

make_source() {
    "$here/../../scripts/debian_source.sh" lbzip2 2.5-2.3 "$folder/unpacked" || return
    cd "$folder/unpacked"
    # These definitions adapt gnulib of 2014 to a current C library, in place of Debian's patch.
    ./configure CPPFLAGS="-D_IO_ftrylockfile -D_IO_IN_BACKUP=0x100 -D_IO_ERR_SEEN=0x20" CFLAGS="-O2 -g -pthread" &&
        make -C lib
    cd ..
    mv unpacked source
}

make_baseline() {
    cp -a "$folder/source" "$folder/baseline"
    make -C "$folder/baseline/src" lbzip2
}

make_blocks() {
    cp -a "$folder/source" "$folder/blocks"
    "$here/convert.sh" "$folder/blocks"
    cd "$folder/blocks"
    # --no-libc: no block uses our C library, so that the program also runs on GCC's libitm.
    local flags="-O2 -g -pthread -I$here -I$root -include $here/tm.h"
    "$wrapper" --no-libc -O2 -g -pthread -Wall "-I$root" -c "$shared/blocks.c" -o blocks.o
    # shellcheck disable=SC2086  # a list of words
    "$wrapper" --no-libc $flags -Isrc -Ilib -DHAVE_CONFIG_H -c "$here/tm.c" -o tm.o
    make -C lib CC="$wrapper --no-libc" CFLAGS="$flags" -W xmalloc.c libgnu.a
    make -C src CC="$wrapper --no-libc" CFLAGS="$flags" LIBS="$PWD/tm.o $PWD/blocks.o" lbzip2
}

for part in source baseline blocks; do
    [[ ! -e $folder/$part || ($part == source) || $(cat "$folder/$part/inputs" 2>/dev/null) != "$inputs" ]] || continue
    [[ $part != source || ! -e $folder/source ]] || continue
    echo "making lbzip2: $part"
    rm -rf "${folder:?}/$part"
    status=0
    # A separate job, because in a list with || the shell would continue after a failure inside.
    ("make_$part") >"$folder/$part.log" 2>&1 &
    wait $! || status=$?
    if ((status == 77)); then
        cat "$folder/$part.log" >&2
        exit 77
    elif ((status != 0)); then
        grep -E 'error|undefined|convert.sh' "$folder/$part.log" | sort -u | head -n 20 >&2
        echo "build.sh: lbzip2 ($part) cannot be made, see $folder/$part.log" >&2
        exit 1
    fi
    echo "$inputs" >"$folder/$part/inputs"
done
