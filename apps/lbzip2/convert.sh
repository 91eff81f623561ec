#!/usr/bin/env bash
# convert.sh <folder>: replaces the locks of lbzip2's sources in <folder> by blocks, using our semantic patches.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
for patch in io scheduler; do
    spatch --very-quiet --no-show-diff --macro-file "$here/patches/macros.h" --sp-file "$here/patches/$patch.cocci" \
        --in-place src/process.c src/compress.c src/expand.c 2>"$patch.log" || {
        cat "$patch.log" >&2
        echo "convert.sh: the semantic patch $patch does not apply" >&2
        exit 1
    }
done

# Adds the closing brace of a block with several exits: Coccinelle would add it after each of them.
perl -0pi -e 's/TM_SCHED_REST\(\);(.*?\n)\}/TM_SCHED() {$1  }\n}/sg' src/compress.c src/expand.c

# Not a semantic patch, because Coccinelle 1.1 cannot add an attribute to a prototype. In GNU's style, the name of a
# defined function is at the start of a line.
names=$(sed '/^#/d' "$here/patches/safe.txt" | tr -s ' \n' '|')
perl -pi -e 's/^((?!return)(?:[a-z_]\w*[ *]+)+\**|)('"${names%|}"')(?=\s*\()/$1TM_SAFE $2/' \
    src/*.c src/*.h lib/xmalloc.c lib/xalloc.h
# decoder_init is called in blocks, and GCC 12 crashes on a transaction-safe xnmalloc.
sed -i -E 's/XNMALLOC\((\w+), (\w+)\)/(\2 *)xmalloc(\1 * sizeof(\2))/' src/decode.c
# The function that enters the monitor is gone. The function that leaves it wakes the waiting threads.
perl -pi -e 's/\bsched_unlock(?=\(void\))/sched_tell/' src/process.[ch]
perl -0pi -e 's/^void sched_lock\(void\);\n//m; s/^void (?=sched_tell)/void TM_SAFE /m;
    s/(\(\*(?:ready|finished)\)\(void\));/$1 TM_SAFE;/g' src/process.h
perl -0pi -e 's/void\nsched_lock\(void\)\n\{.*?\n\}\n//s; s/static void\n(?=TM_SAFE select_task)/static const struct task *\n/;
    s/^sched_tell\(void\)/TM_SAFE sched_tell(void)/m;
    s/^static pthread_mutex_t \w+ *= PTHREAD_MUTEX_INITIALIZER;\n//mg;
    s/^static pthread_cond_t +(\w+) *= PTHREAD_COND_INITIALIZER;/static tm_condition $1;/mg' src/process.c
