#!/usr/bin/env bash
# build.sh <folder> <tutti-cc>: builds two Debian programs in <folder>. Each is built unchanged (plain/<program>), and
# with critical sections that a semantic patch has turned into blocks (blocks/<program>). Exits with status 77, and the
# reason, if the system cannot do this.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
wrapper=$2
command -v spatch >/dev/null || {
    echo "there is no spatch (package coccinelle)"
    exit 77
}
mkdir -p "$1"/{plain,blocks,source}
folder=$(cd "$1" && pwd)

# build <package> <version> <program> <folder in the source> <files> [flag]...
build() {
    local package=$1 version=$2 program=$3 source=$folder/source/$1 converted=$folder/source/$1.blocks files file
    [[ -e $source ]] || "$here/../../../scripts/debian_source.sh" "$package" "$version" "$source"
    source+=/$4
    read -ra files <<<"$5"
    shift 5
    cd "$source"
    gcc -O2 -w -D_GNU_SOURCE "$@" "${files[@]}" -o "$folder/plain/$program"

    rm -rf "$converted"
    cp -r "$source" "$converted"
    cd "$converted"
    spatch --very-quiet --no-show-diff --sp-file "$here/$package.cocci" --in-place "${files[@]}" 2>patch.log || {
        cat patch.log >&2
        echo "build.sh: the semantic patch of $package does not apply" >&2
        exit 1
    }
    # As one unit, so that GCC sees the functions that blocks call, and makes clones of them.
    for file in *.h; do sed -i '1i #pragma once' "$file"; done
    printf '#include "%s"\n' "${files[@]}" >unit.c
    "$wrapper" -O2 -w -D_GNU_SOURCE -fopenmp -include "$here/blocks.h" "$@" unit.c -o "$folder/blocks/$program"
}

library="cdb_make.c cdb_make_add.c cdb_make_put.c cdb_hash.c cdb_unpack.c cdb_init.c cdb_find.c cdb_findnext.c"
build tinycdb 0.78 cdb . "cdb.c $library"
build cronolog 1.6.2+rpk-3 cronolog src "cronolog.c cronoutils.c" -DHAVE_LOCALTIME_R=1 -DBUFSIZE=4096 \
    '-DPACKAGE="cronolog"' '-DVERSION="1.6.2"'
