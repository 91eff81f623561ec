#!/usr/bin/env bash
# convert.sh <build> <folder>: makes of memcached's sources in <folder> those of that build (builds.txt), by our semantic
# patches.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1
folder=$2
line=$(grep -E "^$build( |\$)" <<<"$(tr -s ' ' <"$here/builds.txt")") || {
    echo "convert.sh: there is no build '$build' in builds.txt" >&2
    exit 2
}
read -r _ patches _ <<<"$line"
[[ -n $patches ]] || exit 0

cd "$folder"
sources=(assoc.c bipbuffer.c cache.c crawler.c items.c logger.c memcached.c proto_bin.c proto_text.c slabs.c
    stats_prefix.c thread.c memcached.h)
for patch in ${patches//,/ }; do
    spatch --very-quiet --no-show-diff --macro-file "$here/patches/macros.h" --sp-file "$here/patches/$patch.cocci" \
        --in-place "${sources[@]}" 2>&1 | grep -v 'should .* be a metavariable' || true
done

# Declarations and definitions of the functions that blocks call (finding 5). Not by a semantic patch, because Coccinelle
# 1.1 adds no attribute to a prototype.
for group in cache slabs; do
    [[ ,$patches, == *,$group,* ]] || continue
    names=$(sed -n "s/^$group: //p" "$here/patches/safe.txt" | tr -s ' \n' '|')
    macro=TM_SAFE
    [[ $group != cache ]] || macro=TM_CALLED
    perl -pi -e 's/^(?!TM_SAFE|TM_CALLED|return|else)((?:[a-z_]\w*[ *]+)+\**)('"${names%|}"')(?=\s*\()/'$macro' $1$2/' \
        ./*.c ./*.h
done
# What hashes a key reads memory that does not change, as tm_same_key does.
sed -i 's/^\(typedef uint32_t (\*hash_func)(.*)\);/\1 TM_PURE;/' hash.h
# Coccinelle cannot follow the X macros between these two.
[[ ,$patches, != *,stats,* ]] || sed -i -e 's/pthread_mutex_lock(&threads\[ii\].stats.mutex);/TM_THREAD_STATS() {/' \
    -e 's/pthread_mutex_unlock(&threads\[ii\].stats.mutex);/}/' thread.c
