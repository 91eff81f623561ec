#!/usr/bin/env bash
# convert.sh <build> <folder>: converts memcached's sources in <folder> to that build (builds.txt), using our semantic
# patches.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1
folder=$2
patches=$(awk -v build="$build" '$1 == build { print "=" $2 }' "$here/builds.txt")
[[ -n $patches ]] || {
    echo "convert.sh: there is no build '$build' in builds.txt" >&2
    exit 2
}
patches=${patches#=}
[[ -n $patches ]] || exit 0

cd "$folder"
sources=(assoc.c bipbuffer.c cache.c crawler.c items.c logger.c memcached.c proto_bin.c proto_text.c slabs.c
    stats_prefix.c thread.c memcached.h)
[[ ,$patches, != *,copies,* ]] || sed -i "/ntokens is overwritten here/r $here/item_answer.h" proto_text.c
if [[ ,$patches, == *,overwrite,* ]]; then
    sed -i "/wrapper around assoc_find which does/r $here/item_overwrite.h" items.c
    sed -i "/Fast FIFO queue/r $here/slabs_keep.h" slabs.c
    sed -i 's/^void  *item_remove(item \*it);/&\nbool item_overwrite(conn*, item*);\nvoid item_drop(item*);/' memcached.h
    sed -i -e 's/^void slabs_free(void.*;/&\nvoid slabs_give_back(void);/' \
        -e 's/^void slabs_give_back.*/&\nvoid slabs_keep(struct _stritem*, size_t, unsigned int);/' slabs.h
fi
# Code that a patch moves as a whole must not contain preprocessor lines. These lines mark dead items for a debugger.
[[ ,$patches, != *,mover_alone,* ]] || sed -i '/^#ifdef DEBUG_SLAB_MOVER/,/^#endif/d' slabs.c
for patch in ${patches//,/ }; do
    before=$(cat "${sources[@]}" | sha256sum)
    spatch --very-quiet --no-show-diff --macro-file "$here/patches/macros.h" --sp-file "$here/patches/$patch.cocci" \
        --in-place "${sources[@]}" 2>"$patch.log" || {
        cat "$patch.log" >&2
        echo "convert.sh: the semantic patch $patch does not apply" >&2
        exit 1
    }
    [[ $(cat "${sources[@]}" | sha256sum) != "$before" ]] || {
        echo "convert.sh: the semantic patch $patch finds nothing to change" >&2
        exit 1
    }
done

[[ ,$patches, == *,volatiles,* ]] || exit 0 # builds with locks

# Declarations and definitions of the functions that blocks call (finding 5). Not a semantic patch, because Coccinelle
# 1.1 cannot add an attribute to a prototype.
for group in cache slabs; do
    [[ ,$patches, == *,$group,* ]] || continue
    names=$(sed -n "s/^$group: //p" "$here/patches/safe.txt" | tr -s ' \n' '|')
    macro=TM_SAFE
    [[ $group != cache ]] || macro=TM_CALLED
    perl -pi -e 's/^(?!TM_SAFE|TM_CALLED|return|else)((?:[a-z_]\w*[ *]+)+\**)('"${names%|}"')(?=\s*\()/'$macro' $1$2/' \
        ./*.c ./*.h
done
sed -i 's/^extern struct settings settings;/&\n#include "tm_memcached.h"/' memcached.h
sed -i '/^static item\*\* primary_hashtable = 0;/c\
item** primary_hashtable = 0;\
extern item** const tm_primary_hashtable __asm__("primary_hashtable");\
extern const unsigned tm_hashpower __asm__("hashpower");' assoc.c
[[ ,$patches, != *,cache,* ]] || cat "$here/assoc_guess.h" >>assoc.c
# Other files use the functions of tm_memcached.h that have two versions, and the functions that these call.
[[ ,$patches, != *,mover,* ]] || sed -i -E \
    -e 's/^static (TM_(SAFE|CALLED) )?((void|void \*)\s*\*?(do_slabs_(alloc|free)|do_item_(un)?link_q|item_(un)?link_q)\()/\1\3/' \
    -e 's/^(TM_(SAFE|CALLED) )static (void \*?(do_slabs_(alloc|free)|do_item_(un)?link_q)\()/\1\3/' \
    -e 's/^(TM_(SAFE|CALLED) )(static )?(void \*?(slabs_(alloc|free)|item_(un)?link_q)\()/\4/' items.c slabs.c slabs.h
[[ ,$patches, != *,release,* ]] ||
    sed -i 's/^void  *item_remove(item \*it);/&\nenum store_item_type store_item_and_release(item*, int comm, conn*);/' memcached.h
# A hash function reads a key, which does not change, as tm_same_key does.
sed -i 's/^\(typedef uint32_t (\*hash_func)(.*)\);/\1 TM_PURE;/' hash.h
# Coccinelle cannot parse the X macros between these two lines.
[[ ,$patches, != *,stats,* ]] || sed -i -e '/pthread_mutex_\(un\)\?lock(&threads\[ii\].stats.mutex);/d' thread.c
